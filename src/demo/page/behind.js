// What lies behind the chat: how questions are answered, who is there, what is stored, and the way
// of every event.

import { $, api, button, element, fill, perform, state, write } from "/demo/client.js";
import { act, suggest, tell } from "/demo/chat.js";

const STAGES = ["ingress", "members", "assistant", "backup"];
const EVENTS_SHOWN = 8;
const MODES = {
  keyword: { says: "A message that contains a keyword is answered.", tries: ["營業時間", "hours", "wifi", "rules"] },
  fuzzy: { says: "Typing mistakes and a different order of words are understood, too.", tries: ["opning huors", "adress?", "營業的時間", "rules"] },
  semantic: { says: "Other words that mean the same are understood, too.", tries: ["What time do you open?", "How do I get online?", "Where can I find you?", "地点"] },
};

/** Shows everything beside the chat; `last` is the newest stored message. */
export async function show(last) {
  const channel = `/channels/${state.groupId}`;
  const [me, usage, members, settings, rules] = await Promise.all([
    api("/me"), api("/usage"), api(`${channel}/members?limit=100`), api(`${channel}/assistant/config`),
    api(`${channel}/assistant/qa`),
  ]);
  answers(me.plan, settings.assistant.qa, rules.items);
  showMembers(members.members);
  showUsage(usage);
  $("stored").textContent = last ? JSON.stringify(last, null, 1) : "nothing yet";
  $("curl").textContent = `curl -w '\\n' -H 'Authorization: Bearer ${state.key}' \\\n  '${location.origin}/api${channel}/backup/messages?limit=3'`;
}

function answers(plan, qa, rules) {
  for (const choice of document.getElementsByName("plan")) choice.checked = choice.value === plan;
  for (const choice of document.getElementsByName("mode")) {
    choice.checked = choice.value === qa.mode;
    choice.disabled = choice.value === "semantic" && plan !== "pro" && !choice.checked;
  }
  const mode = MODES[qa.effectiveMode];
  $("needs").hidden = plan === "pro";
  $("needs").textContent = qa.mode === qa.effectiveMode
    ? "Semantic answers come with the plan Pro."
    : "Semantic answers come with the plan Pro: on this plan the bot answers as in fuzzy.";
  $("means").textContent = mode.says;
  suggest(mode.tries);
  fill($("rules"), rules.map(({ id, keywords, question, answer }) => ({ key: id, keywords, question, answer })), (rule) => {
    const item = element("li");
    item.append(element("b", rule.keywords.join(" · ")), element("span", rule.answer));
    return item;
  });
}

function showMembers(members) {
  const inside = new Set(state.people.map((person) => person.id));
  const items = members.map((member) => ({
    key: member.userId, name: member.displayName || member.userId, role: member.role,
    left: !inside.has(member.userId), owner: member.userId === state.ownerId,
  }));
  const seen = new Set(items.map((item) => item.key));
  const others = [...state.people.map((p) => [p, false]), ...state.outside.map((p) => [p, true])]
    .filter(([person]) => !seen.has(person.id))
    .map(([person, left]) => ({ key: person.id, name: person.name, role: left ? "" : "joined just now", left, fresh: left }));
  const order = (item) => (item.owner ? 0 : item.left ? 2 : 1);
  const all = [...items, ...others].sort((one, two) => order(one) - order(two));
  fill($("members"), all, (item) => {
    const row = element("li", undefined, item.left && "left");
    const about = item.fresh ? "not in the group yet" : item.left ? "left" : item.role;
    row.append(element("span", item.name), element("small", about));
    if (item.left) row.append(button("Join", () => act({ kind: "join", userId: item.key })));
    else if (!item.owner) row.append(button("Remove", () => act({ kind: "leave", userId: item.key })));
    else row.append(element("small", "you, signed in: stays", "you"));
    return row;
  });
}

function showUsage(usage) {
  $("bar").firstElementChild.style.width = `${usage.percentage}%`;
  const mine = usage.channels[state.groupId];
  $("used").textContent = `${mine?.messageCount ?? 0} messages · ${size(usage.totalBytes)} of ${size(usage.quota)} · ${usage.status}`;
}

function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let unit = 0;
  let shown = bytes;
  while (shown >= 1024 && unit < units.length - 1) { shown /= 1024; unit += 1; }
  return `${shown >= 100 || unit === 0 ? Math.round(shown) : shown.toFixed(1)} ${units[unit]}`;
}

/** Shows how far an event came. */
export function notice({ stage, event, outcome }) {
  const column = STAGES.indexOf(stage);
  if (column < 0) return;
  const short = event.split(":").pop();
  const body = $("stages").tBodies[0];
  let row = [...body.rows].find((known) => known.dataset.event === short);
  if (!row) {
    row = body.insertRow(0);
    row.dataset.event = short;
    row.insertCell().textContent = `…${short.slice(-6)}`;
    STAGES.forEach(() => row.insertCell());
    while (body.rows.length > EVENTS_SHOWN) body.deleteRow(-1);
  }
  const cell = row.cells[column + 1];
  cell.textContent = outcome;
  cell.className = outcome === "done" || outcome === "published" ? "ok" : "bad";
  $("quiet").hidden = true;
}

/** Makes the switches do what they say; `again` shows everything anew. */
export function start(again) {
  const change = (name, set) => {
    for (const choice of document.getElementsByName(name)) {
      choice.onchange = () => set(choice.value).then(again, (error) => { tell(error.message, "", true); again(); });
    }
  };
  change("plan", (plan) => perform({ kind: "plan", plan }));
  change("mode", (mode) => write("PUT", `/channels/${state.groupId}/assistant/config`, { assistant: { qa: { mode } } }));
  $("redeliver").onclick = () => act({ kind: "redeliver" });
}
