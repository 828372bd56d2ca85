// What lies behind the chat: how questions are answered, who is there, what is stored, and the way
// of every event.

import { $, api, button, element, fill, state, t, words } from "/demo/client.js";
import { act, suggest } from "/demo/chat.js";

const STAGES = ["ingress", "members", "assistant", "backup"];
const EVENTS_SHOWN = 8;
/** Texts to try in the group of the first start, by the mode in effect. */
const TRIES = {
  keyword: ["營業時間", "hours", "wifi", "rules", "dashboard"],
  fuzzy: ["opning huors", "adress?", "營業的時間", "rules"],
  semantic: ["What time do you open?", "How do I get online?", "Where can I find you?", "怎麼上網？"],
};

/** Shows everything beside the chat; `last` is the newest stored message. */
export async function show(last) {
  const channel = `/channels/${state.groupId}`;
  answers(state.assistant);
  showUsage(state.usage);
  const { members } = await api(`${channel}/members?limit=100`);
  showMembers(members);
  $("stored").textContent = last ? JSON.stringify(last, null, 1) : t("nothing");
  $("curl").textContent = `curl -w '\\n' -H 'Authorization: Bearer ${state.key}' \\\n  '${location.origin}/api${channel}/backup/messages?limit=3'`;
}

function answers({ plan, mode, effectiveMode, rules }) {
  for (const choice of document.getElementsByName("plan")) choice.checked = choice.value === plan;
  for (const choice of document.getElementsByName("mode")) {
    choice.checked = choice.value === mode;
    choice.disabled = choice.value === "semantic" && plan !== "pro" && !choice.checked;
  }
  $("needs").hidden = plan === "pro";
  $("needs").textContent = t(mode === effectiveMode ? "needs-pro" : "needs-pro-now");
  $("means").textContent = t(`mode-${effectiveMode}-means`);
  suggest(tries(effectiveMode, rules));
  fill($("rules"), rules.map(({ id, keywords, answer }) => ({ key: id, keywords, answer })), (rule) => {
    const item = element("li");
    item.append(words("b", rule.keywords.join(" · ")), words("span", rule.answer));
    return item;
  });
}

function tries(mode, rules) {
  if (state.groupId === state.groups[0].id) return TRIES[mode];
  return rules.slice(0, 4).map((rule) => mode === "keyword" ? rule.keywords[0] : rule.question);
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
    .map(([person, left]) => ({ key: person.id, name: person.name, role: "", left, fresh: left }));
  const order = (item) => (item.owner ? 0 : item.left ? 2 : 1);
  const all = [...items, ...others].sort((one, two) => order(one) - order(two));
  fill($("members"), all, (item) => {
    const row = element("li", undefined, item.left && "left");
    const role = item.role ? t(`role-${item.role}`) : t("inside");
    const about = item.fresh ? t("not-yet") : item.left ? t("left") : role;
    row.append(words("span", item.name), element("small", about));
    if (item.left) row.append(button(t("join"), () => act({ kind: "join", userId: item.key })));
    else if (!item.owner) row.append(button(t("remove"), () => act({ kind: "leave", userId: item.key })));
    return row;
  });
}

function showUsage({ used, quota, percentage, messages }) {
  $("bar").firstElementChild.style.width = `${percentage}%`;
  $("bar").classList.toggle("full", percentage >= 80);
  const count = new Intl.NumberFormat(document.documentElement.lang).format(messages);
  $("used").textContent = t("storage-used", { count, used: size(used), quota: size(quota) });
}

function size(bytes) {
  const units = ["B", "kB", "MB", "GB"];
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
  const change = (name) => {
    for (const choice of document.getElementsByName(name)) {
      choice.onchange = () => act({ kind: name, [name]: choice.value }).then(again);
    }
  };
  change("plan");
  change("mode");
  $("redeliver").onclick = () => act({ kind: "redeliver" });
}
