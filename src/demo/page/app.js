// The demo page: shows what chatkeep stores as soon as it does, and passes on what people do.

import { $, state } from "/demo/client.js";
import * as chat from "/demo/chat.js";
import * as behind from "/demo/behind.js";

let running = false;
let again = false;
let waiting = null;

async function refresh() {
  if (running) { again = true; return; }
  running = true;
  try {
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
    if (lost) chat.tell("The demo is back");
    lost = false;
  };
  source.onerror = () => {
    if (!lost) chat.tell("The demo does not run; this page goes on when it does", "", true);
    lost = true;
  };
}

for (const tab of document.querySelectorAll("nav button")) {
  tab.onclick = () => {
    document.body.dataset.view = tab.value;
    for (const other of document.querySelectorAll("nav button")) {
      other.setAttribute("aria-pressed", String(other === tab));
    }
  };
}

chat.start(later);
behind.start(later);
chat.people().then(() => { watch(); return refresh(); }).catch((error) => {
  chat.tell(state ? error.message : "The demo does not run", "", true);
  $("empty").hidden = false;
});
