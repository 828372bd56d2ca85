"use strict";
// The demo page: reads chatkeep's REST API with the demo's key, and asks the demo to do what a
// person would do in LINE. Shows live what comes of it.

const $ = (id) => document.getElementById(id);
const STAGES = ["ingress", "members", "assistant", "backup"];
const EVENTS_SHOWN = 12;
let state;
let refreshing = false;
let again = false;
let waiting = null;

async function json(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const api = (path) => json(`/api${path}`, { headers: { authorization: `Bearer ${state.key}` } });

async function act(action) {
  $("status").textContent = "sending…";
  try {
    const done = await json("/demo/act", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(action),
    });
    $("status").textContent = done.says;
    await people();
  } catch (error) {
    $("status").textContent = error.message;
  }
  later();
}

function element(name, text, ...classes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.classList.add(...classes.filter(Boolean));
  return made;
}

function describe(message) {
  if (message.unsentAt) return "took a message back";
  if (message.content) return message.content;
  if (message.type === "image") return `🖼 picture (${message.mediaStatus})`;
  return `(${message.type})`;
}

function show(message) {
  const item = element("li", undefined, message.isBot && "bot", message.unsentAt && "gone");
  const name = message.sender?.displayName ?? "somebody";
  const time = new Date(message.timestamp).toLocaleTimeString();
  item.append(element("span", `${name} · ${time}`, "who"));
  const says = element("span", describe(message), "says");
  if (!message.isBot && !message.unsentAt) {
    const unsend = element("button", "unsend");
    unsend.type = "button";
    unsend.onclick = () => act({ kind: "unsend", messageId: message.id });
    says.append(unsend);
  }
  item.append(says);
  return item;
}

async function people() {
  state = await json("/demo/state");
  $("group").textContent = `${state.groupName} (${state.groupId})`;
  const chosen = $("person").value;
  $("person").replaceChildren(...state.people.map((person) => {
    const option = element("option", person.name);
    option.value = person.id;
    return option;
  }));
  if (state.people.some((person) => person.id === chosen)) $("person").value = chosen;
}

async function refresh() {
  if (refreshing) { again = true; return; }
  refreshing = true;
  try {
    const channel = `/channels/${state.groupId}`;
    const [page, usage, listed] = await Promise.all([
      api(`${channel}/backup/messages?limit=60`), api("/usage"), api(`${channel}/members`),
    ]);
    const list = $("messages");
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    list.replaceChildren(...page.messages.slice().reverse().map(show));
    if (atEnd) list.scrollTop = list.scrollHeight;
    $("stored").textContent = page.messages[0] ? JSON.stringify(page.messages[0], null, 1) : "nothing yet";
    $("bar").firstElementChild.style.width = `${usage.percentage}%`;
    const mine = usage.channels[state.groupId];
    $("usage").querySelector("p").textContent =
      `${usage.totalBytes.toLocaleString()} of ${usage.quota.toLocaleString()} bytes (${usage.percentage} %) · ` +
      `${usage.status} · ${mine ? mine.messageCount : 0} messages`;
    $("members").replaceChildren(...listed.members.map((member) =>
      element("li", `${member.displayName || member.userId} · ${member.role}`, member.status === "left" && "left")));
  } catch (error) {
    $("status").textContent = error.message;
  } finally {
    refreshing = false;
    if (again) { again = false; later(); }
  }
}

// Many notices come at once; one refresh a moment later shows them all.
function later() {
  waiting ??= setTimeout(() => { waiting = null; refresh(); }, 80);
}

function notice({ stage, event, outcome }) {
  const short = event.split(":").pop();
  const column = STAGES.indexOf(stage);
  if (column < 0) { later(); return; }
  const body = $("stages").tBodies[0];
  let row = [...body.rows].find((known) => known.dataset.event === short);
  if (!row) {
    row = body.insertRow(0);
    row.dataset.event = short;
    row.insertCell().textContent = `…${short.slice(-8)}`;
    STAGES.forEach(() => row.insertCell());
    while (body.rows.length > EVENTS_SHOWN) body.deleteRow(-1);
  }
  const cell = row.cells[column + 1];
  cell.textContent = outcome;
  cell.className = outcome === "done" || outcome === "published" ? "ok" : "bad";
  later();
}

function watch() {
  const source = new EventSource("/demo/events");
  source.onmessage = (message) => notice(JSON.parse(message.data));
  source.onopen = () => { if (state) later(); };
}

$("say").onsubmit = (event) => {
  event.preventDefault();
  const text = $("text").value;
  if (!text.trim()) return;
  $("text").value = "";
  act({ kind: "say", userId: $("person").value, text });
};
$("image").onclick = () => act({ kind: "image", userId: $("person").value });
$("join").onclick = () => act({ kind: "join" });
$("leave").onclick = () => act({ kind: "leave", userId: $("person").value });
$("redeliver").onclick = () => act({ kind: "redeliver" });

people().then(() => { watch(); return refresh(); }).catch((error) => { $("status").textContent = error.message; });
