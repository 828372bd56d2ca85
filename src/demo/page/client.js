// Talks to chatkeep's REST API with the demo's key, and to the demo itself; and the page's texts.

export const $ = (id) => document.getElementById(id);

/** The demo's state of the open group, as last read: key, people, how the bot answers. */
export let state;

let texts = {};
/** The open group; the first one until another is chosen. */
let group = null;

/** The text of a key in the page's language, with its variables. */
export function t(key, values = {}) {
  return (texts[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

/** Reads the page's texts. */
export async function readTexts() {
  texts = await json("/demo/texts");
}

async function json(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Error(told.error ?? `${path}: ${answer.status}`);
  }
  return answer.json();
}

const headers = () => ({ authorization: `Bearer ${state.key}` });

/** Opens another group. */
export function choose(id) {
  group = id;
}

/** Reads the state. */
export async function readState() {
  const wanted = group;
  const read = await json(`/demo/state${wanted ? `?group=${encodeURIComponent(wanted)}` : ""}`);
  // Another group was chosen meanwhile: its own state comes.
  if (wanted === group || !state) state = read;
  return state;
}

/** The zone in which the group's days begin; the browser's where the group has none. */
export const zone = () => state.timeZone ?? undefined;

/** Reads from the REST API. */
export const api = (path) => json(`/api${path}`, { headers: headers() });

/** Asks the demo to do what a person would do in LINE. */
export const perform = (action) => json("/demo/act", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ group: state.groupId, ...action }),
});

/** Signs the console in as that person. */
export const lookAs = (user) => fetch("/demo/look-as", {
  method: "POST", redirect: "manual", body: new URLSearchParams({ user, next: "/console" }),
});

const photos = new Map();

/** The address of a stored photo; a photo is read once. */
export function photo(id) {
  if (!photos.has(id)) {
    const path = `/api/channels/${state.groupId}/backup/media/${id}`;
    const read = fetch(path, { headers: headers() }).then(async (answer) => {
      if (!answer.ok) throw new Error(t("media-failed"));
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

/** Makes an element with what people wrote or are called, in whatever script. */
export function words(name, text, ...classes) {
  const made = element(name, text, ...classes);
  made.dir = "auto";
  made.lang = "";
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
