// What one line of the chat looks like.

import { $, button, element, photo } from "/demo/client.js";

const COLORS = ["#e8875b", "#5b8fe8", "#9b6fd0", "#3da58a", "#d0698f", "#b58b2a", "#4c9ec4", "#7a8a3a"];
const SAVED = { pending: "Saving the photo…", skipped: "This photo was not kept", failed: "This photo could not be kept", expired: "This photo was gone before it could be kept", erased: "This photo was erased" };

const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

function avatar(item) {
  const made = element("span", item.bot ? "CK" : [...item.name][0], "avatar", item.bot && "bot");
  made.setAttribute("aria-hidden", "true");
  if (!item.bot) {
    const sum = [...item.from].reduce((all, letter) => all * 31 + letter.codePointAt(0) >>> 0, 7);
    made.style.background = COLORS[sum % COLORS.length];
  }
  return made;
}

/** A photo; its frame has its size before it is there, so that nothing moves. */
function picture(item) {
  const frame = element("span", undefined, "photo");
  if (item.media !== "stored") {
    frame.append(element("span", SAVED[item.media] ?? "A photo", "wait"));
    return frame;
  }
  const shown = element("img");
  shown.alt = `Photo from ${item.name}`;
  const open = button(undefined, () => enlarge(shown), "open");
  open.setAttribute("aria-label", `Enlarge the photo from ${item.name}`);
  open.append(shown);
  photo(item.id).then((address) => { shown.src = address; }, (error) => {
    frame.replaceChildren(element("span", error.message, "wait"));
  });
  frame.append(open);
  return frame;
}

function enlarge(shown) {
  const large = $("large");
  large.querySelector("img").src = shown.src;
  large.querySelector("img").alt = shown.alt;
  large.showModal();
}

/** The text in short, for quotes. */
export function short(item) {
  if (!item) return "an earlier message";
  if (item.unsent) return "an unsent message";
  if (item.type === "image") return "Photo";
  return item.text ?? `(${item.type})`;
}

function quote(item) {
  const made = element("span", undefined, "quote");
  made.append(element("b", item.quoted?.name ?? ""), element("span", short(item.quoted)));
  return made;
}

function says(item) {
  if (item.type === "image") return picture(item);
  const made = element("span", undefined, "says");
  if (item.quotes) made.append(quote(item));
  made.append(element("span", item.text ?? `(${item.type})`, "text"));
  return made;
}

function menu(item, acts) {
  const made = element("details", undefined, "menu");
  const more = element("summary", "⋯");
  more.setAttribute("aria-label", `More for this message of ${item.name}`);
  more.title = item.mine ? "Quote or unsend" : "Quote";
  const row = element("span", undefined, "acts");
  const then = (act) => () => { made.open = false; act(item); };
  row.append(button("Quote", then(acts.quote), "quoting"));
  if (item.mine) row.append(button("Unsend", then(acts.unsend), "unsend"));
  made.append(more, row);
  return made;
}

/** A line of the chat: a day, somebody's coming or going, or a message. */
export function bubble(item, acts) {
  if (item.note) {
    const line = element("li", undefined, "note", item.unsent && "gone");
    line.append(element("span", item.note));
    return line;
  }
  const row = element("li", undefined, "row", item.mine && "mine", item.bot && "bot", item.follows && "follows");
  const stack = element("div", undefined, "stack");
  if (!item.mine) {
    row.append(avatar(item));
    if (!item.follows) stack.append(element("span", item.name, "who"));
  }
  const line = element("div", undefined, "line");
  const side = element("span", undefined, "side");
  side.append(menu(item, acts), element("time", item.edited ? `edited ${clock(item.at)}` : clock(item.at)));
  line.append(says(item), side);
  stack.append(line);
  row.append(stack);
  return row;
}
