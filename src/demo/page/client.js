// Talks to chatkeep's REST API with the demo's key, and to the demo itself.

export const $ = (id) => document.getElementById(id);

/** The demo's state, as last read: group, key, people. */
export let state;

async function json(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Error(told.error ?? `${path} was answered with ${answer.status}`);
  }
  return answer.json();
}

const headers = () => ({ authorization: `Bearer ${state.key}` });

/** Reads the state. */
export async function readState() {
  state = await json("/demo/state");
  return state;
}

/** Reads from the REST API. */
export const api = (path) => json(`/api${path}`, { headers: headers() });

/** Writes to the REST API. */
export const write = (method, path, body) => json(`/api${path}`, {
  method,
  headers: { ...headers(), "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** Asks the demo to do what a person would do in LINE. */
export const perform = (action) => json("/demo/act", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(action),
});

const photos = new Map();

/** The address of a stored photo; a photo is read once. */
export function photo(id) {
  if (!photos.has(id)) {
    const path = `/api/channels/${state.groupId}/backup/media/${id}`;
    const read = fetch(path, { headers: headers() }).then(async (answer) => {
      if (!answer.ok) throw new Error(`the photo was answered with ${answer.status}`);
      return URL.createObjectURL(await answer.blob());
    });
    read.catch(() => photos.delete(id));
    photos.set(id, read);
  }
  return photos.get(id);
}

/** Makes an element with a text and classes. */
export function element(name, text, ...classes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.classList.add(...classes.filter(Boolean));
  return made;
}

/** Makes a button that does something. */
export function button(text, action, ...classes) {
  const made = element("button", text, ...classes);
  made.type = "button";
  made.onclick = action;
  return made;
}

/**
 * Shows items as children of a list: what did not change stays as it is. An item has a `key`, and
 * whatever else its `make` uses.
 */
export function fill(list, items, make) {
  const known = new Map([...list.children].map((node) => [node.dataset.key, node]));
  let place = list.firstElementChild;
  for (const item of items) {
    const print = JSON.stringify(item);
    let node = known.get(item.key);
    if (node?.print !== print) {
      const made = make(item);
      made.dataset.key = item.key;
      made.print = print;
      if (node === place) place = place?.nextElementSibling ?? null;
      node?.remove();
      node = made;
    }
    known.delete(item.key);
    if (node === place) place = place.nextElementSibling;
    else list.insertBefore(node, place);
  }
  for (const node of known.values()) node.remove();
}
