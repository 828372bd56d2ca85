// The chat: whose phone it is, what stands in it, and what its person does.

import { $, api, button, choose, element, fill, perform, readState, state, t, zone } from "/demo/client.js";
import { bubble, short } from "/demo/bubble.js";

const PAGE = 50;
/** How near to the end a reader is at the end, in pixels. */
const NEAR = 40;
let pages = 1;
let follows = true;
let newest;
/** The message that is replied to or edited. */
let about = null;

const list = $("messages");
const me = () => $("person").value;
const language = document.documentElement.lang;

/** Does what a person does in LINE, and says what came of it. */
export async function act(action) {
  tell("…");
  try {
    const { done, status, sent } = await perform(action);
    const set = ["plan-set", "mode-set", "nothing-sent"].includes(done);
    tell(t(`done-${done}`), set || sent ? "" : t("not-sent"));
    if (sent) $("delivery").textContent = status ? t("status", { status }) : t("not-answered");
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

function options(select, items, chosen) {
  const print = JSON.stringify(items);
  // One that is open stays open.
  if (select.print === print) { select.value = chosen; return; }
  select.print = print;
  select.replaceChildren(...items.map(({ id, name }) => {
    const option = element("option", name);
    option.value = id;
    return option;
  }));
  select.value = chosen;
}

/** Reads who is in the group, and whose phone this is. */
export async function people() {
  const chosen = me();
  await readState();
  options($("groups"), state.groups, state.groupId);
  $("count").textContent = `(${state.people.length})`;
  const named = state.people.map(({ id, name }) =>
    ({ id, name: id === state.ownerId ? t("owner", { name }) : name }));
  const stays = state.people.some((person) => person.id === chosen);
  options($("person"), named, stays ? chosen : state.ownerId);
  const owner = state.people.find((person) => person.id === state.ownerId);
  const mine = me() === state.ownerId;
  $("leave").disabled = mine;
  $("stays").hidden = !mine;
  $("stays").textContent = t("owner-stays", { name: owner?.name ?? "" });
  const next = state.outside[0];
  $("join").disabled = !next;
  $("join").textContent = next ? t("join-next", { name: next.name }) : t("everybody-in");
}

/** Opens another group. */
export async function open(group) {
  choose(group);
  pages = 1;
  newest = undefined;
  regard(null);
  list.replaceChildren();
  follows = true;
  await people();
}

const day = (at) => new Date(at).toLocaleDateString(language, { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: zone() });

function of(message) {
  const name = message.isBot ? state.botName : message.sender?.displayName ?? t("somebody");
  return {
    key: message.id, id: message.id, at: Date.parse(message.timestamp), name,
    from: message.sender?.userId ?? "", bot: message.isBot,
    mine: !message.isBot && message.sender?.userId === me(),
    type: message.type, text: message.content, media: message.mediaStatus,
    file: message.fileName, bytes: message.fileSize, title: message.title, address: message.address,
    duration: message.duration, quotes: message.quotedMessageId,
    unsent: Boolean(message.unsentAt), edited: Boolean(message.editedAt),
  };
}

/** Messages and comings and goings in order, with days between them. */
function lines(messages) {
  const items = messages.map(of);
  const byId = new Map(items.map((item) => [item.id, item]));
  const quotes = items.map((item) => {
    const from = item.quotes && byId.get(item.quotes);
    const { name, text, type, unsent, file, title } = from || {};
    const quoted = from ? { name, text, type, unsent, file, title } : null;
    const shown = item.quotes ? { ...item, quoted } : item;
    if (!item.unsent) return shown;
    return { ...shown, note: item.mine ? t("unsent-you") : t("day-unsent", { name: item.name }) };
  });
  const since = items.length ? Math.min(...items.map((item) => item.at)) : 0;
  const moves = state.notes.filter((note) => note.at >= since).map((note, number) => ({
    key: `note-${note.at}-${number}`, at: note.at,
    note: t(note.kind === "memberLeft" ? "left-note" : "joined-note", { name: note.names }),
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

/** Goes to the newest message again, if the reader was there. */
export function stay() {
  if (follows) toEnd();
}

/** Shows the messages as they are stored now; the newest stored message. */
export async function show() {
  const group = state.groupId;
  const { messages, more } = await read();
  if (group !== state.groupId) return undefined;
  const items = lines(messages);
  const earlier = more ? [{ key: "earlier" }] : [];
  fill(list, [...earlier, ...items], (item) =>
    item.key === "earlier" ? earlierMessages() : bubble(item, { reply, edit, unsend }));
  $("empty").hidden = items.length > 0;
  const last = items.at(-1)?.key;
  if (follows) toEnd();
  else if (last !== newest && newest) $("pill").hidden = false;
  newest = last;
  return messages.at(-1);
}

function earlierMessages() {
  const row = element("li", undefined, "note");
  row.append(button(t("earlier"), async () => {
    const height = list.scrollHeight;
    pages += 1;
    follows = false;
    await show().catch((error) => tell(error.message, "", true));
    list.scrollTop += list.scrollHeight - height;
  }));
  return row;
}

/** Makes a message the one that the next text replies to or replaces. */
function regard(item, editing = false) {
  about = item ? { id: item.id, editing } : null;
  $("quoted").hidden = !item;
  const [kind, text] = $("quoted").children;
  kind.textContent = editing ? t("editing") : t("replying");
  text.textContent = item ? `${item.name}: ${short(item)}` : "";
  text.dir = "auto";
  if (!item) return;
  if (editing) $("text").value = item.text;
  $("text").focus();
}

const reply = (item) => regard(item);
const edit = (item) => regard(item, true);
const unsend = (item) => act({ kind: "unsend", messageId: item.id });

function send(text) {
  const { id, editing } = about ?? {};
  regard(null);
  if (editing) { act({ kind: "edit", messageId: id, text }); return; }
  follows = true;
  act({ kind: "say", userId: me(), text, quoted: id });
}

/** Shows texts to send with one press. */
export function suggest(texts) {
  fill($("try"), texts.map((text) => ({ key: text })), ({ key }) => {
    const made = button(key, () => send(key));
    made.lang = "";
    return made;
  });
}

function mention() {
  const other = state.people.find((person) => person.id !== me());
  $("text").value = `${$("text").value}@${other?.name ?? state.botName} `;
  $("text").focus();
}

/** Makes the chat's buttons do what they say; `again` shows everything anew, `follow` the console. */
export function start(again, follow) {
  $("say").onsubmit = (event) => {
    event.preventDefault();
    const text = $("text").value;
    if (!text.trim()) return;
    $("text").value = "";
    send(text);
  };
  const attach = (id, action) => {
    $(id).onclick = () => { $("attach").open = false; action(); };
  };
  const post = (action) => () => { follows = true; act({ ...action(), userId: me() }); };
  attach("image", post(() => ({ kind: "image" })));
  attach("sticker", post(() => ({ kind: "sticker", word: t("sticker-word") })));
  attach("place", post(() => ({ kind: "place" })));
  attach("mention", mention);
  $("join").onclick = () => act({ kind: "join" });
  $("leave").onclick = () => act({ kind: "leave", userId: me() }).then(() => follow());
  $("person").onchange = () => people().then(() => follow()).then(again);
  $("groups").onchange = () =>
    open($("groups").value).then(() => follow({ open: true })).then(again);
  $("unquote").onclick = () => { if (about?.editing) $("text").value = ""; regard(null); };
  $("pill").onclick = toEnd;
  $("large").onclick = () => $("large").close();
  let height = list.clientHeight;
  list.onscroll = () => {
    // Not a reader's scrolling: the list has another size, and goes to its end below.
    if (list.clientHeight !== height) return;
    follows = atEnd();
    if (follows) $("pill").hidden = true;
  };
  // A keyboard or another line of buttons makes the list smaller.
  new ResizeObserver(() => { height = list.clientHeight; if (follows) toEnd(); }).observe(list);
  document.addEventListener("click", (event) => {
    for (const open of document.querySelectorAll("#messages details[open], #attach[open], #languages[open]")) {
      if (!open.contains(event.target)) open.open = false;
    }
  });
}

