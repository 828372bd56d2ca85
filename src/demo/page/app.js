// The demo page: shows what chatkeep stores as soon as it does, passes on what people do, and keeps
// the console beside it at the same group and person.

import { $, lookAs, readTexts, state, t } from "/demo/client.js";
import * as chat from "/demo/chat.js";
import * as behind from "/demo/behind.js";

let running = false;
let again = false;
let waiting = null;

async function refresh() {
  if (running) { again = true; return; }
  running = true;
  try {
    await chat.people();
    await behind.show(await chat.show());
  } catch (error) {
    chat.tell(error.message, "", true);
  } finally {
    running = false;
    if (again) { again = false; later(); }
  }
}

// Many notices come at once; one refresh a moment later shows them all.
function later() {
  waiting ??= setTimeout(() => { waiting = null; refresh(); }, 80);
}

function watch() {
  const source = new EventSource("/demo/events");
  let lost = false;
  source.onmessage = (message) => { behind.notice(JSON.parse(message.data)); later(); };
  source.onopen = () => {
    // The demo was started again: its state may be another one.
    if (lost) chat.people().then(later, () => {});
    if (lost) chat.tell(t("connected-again"));
    lost = false;
  };
  source.onerror = () => {
    if (!lost) chat.tell(t("off"), "", true);
    lost = true;
  };
}

const frame = $("console");
const pathOf = (group) => `/c/${encodeURIComponent(group)}`;
let looks = null;

/** Lets the console show this group as the chosen person sees it. */
async function follow({ open = false } = {}) {
  const person = $("person").value;
  if (looks !== person) {
    const answer = await lookAs(person);
    if (answer.type !== "opaqueredirect" && !answer.ok) return;
    looks = person;
    if (!open && frame.src) { frame.contentWindow.location.reload(); return; }
  }
  if (open || !frame.src) {
    const there = frame.contentWindow?.location;
    // Without an entry of its own in the history, so that "back" leaves the page.
    if (frame.src && there) there.replace(pathOf(state.groupId));
    else frame.src = pathOf(state.groupId);
  }
}

// Who goes to another group in the console goes there in the chat, too.
frame.addEventListener("load", () => {
  const path = frame.contentWindow?.location.pathname ?? "";
  const group = decodeURIComponent(path.match(/^\/c\/([^/]+)/)?.[1] ?? "");
  if (group && group !== state.groupId && state.groups.some((one) => one.id === group)) {
    chat.open(group).then(() => follow()).then(later);
  }
});

for (const tab of document.querySelectorAll("#views button")) {
  tab.onclick = () => {
    document.body.dataset.view = tab.value;
    for (const other of document.querySelectorAll("#views button")) {
      other.setAttribute("aria-pressed", String(other === tab));
    }
    if (tab.value === "chat") chat.stay();
  };
}

async function begin() {
  await readTexts();
  chat.start(later, follow);
  behind.start(later);
  await chat.people();
  watch();
  await refresh();
  await follow({ open: true });
}

begin().catch((error) => {
  chat.tell(state ? error.message : t("off"), "", true);
  $("empty").hidden = false;
});
