// The chat: whose phone it is, what stands in it, and what its person does.

import { $, api, button, element, fill, perform, readState, state } from "/demo/client.js";
import { bubble, short } from "/demo/bubble.js";

const PAGE = 50;
/** How near to the end a reader is at the end, in pixels. */
const NEAR = 40;
let pages = 1;
let follows = true;
let newest;
let quoted = null;

const list = $("messages");
const me = () => $("person").value;

/** Does what a person does in LINE, and says what came of it. */
export async function act(action) {
  tell("…");
  try {
    const done = await perform(action);
    tell(done.says, done.detail);
    await people();
  } catch (error) {
    tell(error.message, "", true);
  }
}

/** Says something beside the message field. */
export function tell(says, detail = "", refused = false) {
  $("status").replaceChildren(element("span", says), element("small", detail));
  $("status").classList.toggle("refused", refused);
}

/** Reads who is in the group, and whose phone this is. */
export async function people() {
  const chosen = me();
  await readState();
  $("group").textContent = state.groupName;
  $("count").textContent = `(${state.people.length})`;
  $("person").replaceChildren(...state.people.map((person) => {
    const option = element("option", person.name + (person.id === state.ownerId ? " (owner)" : ""));
    option.value = person.id;
    return option;
  }));
  const stays = state.people.some((person) => person.id === chosen);
  $("person").value = stays ? chosen : state.ownerId;
  const owner = me() === state.ownerId;
  $("leave").disabled = owner;
  $("leave").title = owner
    ? "The owner is signed in on this page and cannot leave. Take the phone of somebody else."
    : "";
  $("stays").hidden = !owner;
  const next = state.outside[0];
  $("join").disabled = !next;
  $("join").textContent = next ? `${next.name} joins` : "Nobody is left to join";
  $("join").title = next ? "Somebody who is new or who left joins the group" : "Everybody is in the group already";
}

const day = (at) => new Date(at).toLocaleDateString([], { weekday: "short", day: "numeric", month: "short", year: "numeric" });

function of(message) {
  const name = message.isBot ? state.botName : message.sender?.displayName ?? "Somebody";
  return {
    key: message.id, id: message.id, at: Date.parse(message.timestamp), name,
    from: message.sender?.userId ?? "", bot: message.isBot,
    mine: !message.isBot && message.sender?.userId === me(),
    type: message.type, text: message.content, media: message.mediaStatus,
    quotes: message.quotedMessageId, unsent: Boolean(message.unsentAt), edited: Boolean(message.editedAt),
  };
}

/** Messages and comings and goings in order, with days between them. */
function lines(messages) {
  const items = messages.map(of);
  const byId = new Map(items.map((item) => [item.id, item]));
  const quotes = items.map((item) => {
    const from = item.quotes && byId.get(item.quotes);
    const { name, text, type, unsent } = from || {};
    const shown = item.quotes ? { ...item, quoted: from ? { name, text, type, unsent } : null } : item;
    return item.unsent ? { ...shown, note: `${item.mine ? "You" : item.name} unsent a message` } : shown;
  });
  const since = items.length ? Math.min(...items.map((item) => item.at)) : 0;
  const moves = state.notes.filter((note) => note.at >= since).map((note, number) => ({
    key: `note-${note.at}-${number}`, at: note.at,
    note: `${note.names} ${note.kind === "memberLeft" ? "left" : "joined"} the group`,
  }));
  const all = [...quotes, ...moves].sort((one, two) => one.at - two.at);
  const shown = [];
  for (const item of all) {
    const before = shown.at(-1);
    if (!before || day(before.at) !== day(item.at)) {
      shown.push({ key: `day-${day(item.at)}`, at: item.at, note: day(item.at) });
    }
    const last = shown.at(-1);
    const same = !item.note && !last.note && last.from === item.from && last.bot === item.bot;
    shown.push(same ? { ...item, follows: true } : item);
  }
  return shown;
}

async function read() {
  const messages = [];
  let cursor = null;
  for (let page = 0; page < pages && (page === 0 || cursor); page += 1) {
    const at = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const part = await api(`/channels/${state.groupId}/backup/messages?limit=${PAGE}${at}`);
    messages.push(...part.messages);
    cursor = part.nextCursor;
  }
  return { messages: messages.reverse(), more: Boolean(cursor) };
}

const atEnd = () => list.scrollHeight - list.scrollTop - list.clientHeight < NEAR;

function toEnd() {
  follows = true;
  list.scrollTop = list.scrollHeight;
  $("pill").hidden = true;
}

/** Shows the messages as they are stored now; the newest stored message. */
export async function show() {
  const { messages, more } = await read();
  const items = lines(messages);
  const earlier = more ? [{ key: "earlier" }] : [];
  fill(list, [...earlier, ...items], (item) =>
    item.key === "earlier" ? earlierMessages() : bubble(item, { quote, unsend }));
  $("empty").hidden = items.length > 0;
  const last = items.at(-1)?.key;
  if (follows) toEnd();
  else if (last !== newest && newest) $("pill").hidden = false;
  newest = last;
  return messages.at(-1);
}

function earlierMessages() {
  const row = element("li", undefined, "note");
  row.append(button("Earlier messages", () => { pages += 1; show().catch((error) => tell(error.message, "", true)); }));
  return row;
}

function quote(item) {
  quoted = item?.id ?? null;
  $("quoted").hidden = !item;
  $("quoted").querySelector("span").textContent = item ? `${item.name}: ${short(item)}` : "";
  if (item) $("text").focus();
}

const unsend = (item) => act({ kind: "unsend", messageId: item.id });

function send(text) {
  follows = true;
  act({ kind: "say", userId: me(), text, quoted });
  quote(null);
}

/** Shows texts to send with one press. */
export function suggest(texts) {
  fill($("try"), texts.map((text) => ({ key: text })), ({ key }) => button(key, () => send(key)));
}

/** Makes the chat's buttons do what they say; `again` shows everything anew. */
export function start(again) {
  $("say").onsubmit = (event) => {
    event.preventDefault();
    const text = $("text").value;
    if (!text.trim()) return;
    $("text").value = "";
    send(text);
  };
  $("image").onclick = () => { follows = true; act({ kind: "image", userId: me() }); };
  $("join").onclick = () => act({ kind: "join" });
  $("leave").onclick = () => act({ kind: "leave", userId: me() });
  $("person").onchange = () => people().then(again);
  $("unquote").onclick = () => quote(null);
  $("pill").onclick = toEnd;
  $("large").onclick = () => $("large").close();
  list.onscroll = () => { follows = atEnd(); if (follows) $("pill").hidden = true; };
  // A keyboard or another line of buttons makes the list smaller.
  new ResizeObserver(() => { if (follows) toEnd(); }).observe(list);
  document.addEventListener("click", (event) => {
    for (const open of list.querySelectorAll("details[open]")) {
      if (!open.contains(event.target)) open.open = false;
    }
  });
}
