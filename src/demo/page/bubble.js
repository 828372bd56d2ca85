// What one line of the chat looks like.

import { $, button, element, photo, t, words, zone } from "/demo/client.js";

const COLORS = ["#a8481c", "#2f5fb3", "#7646b0", "#1f7a62", "#a83e68", "#7d5c0c", "#256f93", "#54631f"];

const clock = (at) => new Date(at).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", timeZone: zone() });

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
    frame.append(element("span", item.media ? t(`media-${item.media}`) : t("photo"), "wait"));
    return frame;
  }
  const shown = element("img");
  shown.alt = t("photo-of", { name: item.name });
  const open = button(undefined, () => enlarge(shown), "open");
  open.setAttribute("aria-label", t("enlarge", { name: item.name }));
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

function kind(item) {
  if (item.type === "image") return t("photo");
  if (item.type === "sticker") return t("sticker");
  if (item.type === "video") return t("video");
  if (item.type === "audio") return t("sound");
  if (item.type === "file") return item.file ?? t("file");
  if (item.type === "location") return item.title ?? t("location");
  return item.type;
}

/** The text in short, for quotes. */
export function short(item) {
  if (!item) return t("earlier-quote");
  if (item.unsent) return t("unsent-quote");
  return item.text ?? kind(item);
}

function quote(item) {
  const made = element("span", undefined, "quote");
  made.append(words("b", item.quoted?.name ?? ""), words("span", short(item.quoted)));
  return made;
}

/** A file, a sound, a place or a sticker: a sign, a line, and a smaller one. */
function card(sign, line, more) {
  const made = element("span", undefined, "card");
  const mark = element("span", sign, "sign");
  mark.setAttribute("aria-hidden", "true");
  const about = element("span", undefined, "about");
  about.append(words("b", line));
  if (more) about.append(words("small", more));
  made.append(mark, about);
  return made;
}

const minutes = (milliseconds) => {
  const seconds = Math.round((milliseconds ?? 0) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

function content(item) {
  if (item.type === "sticker") return card("🙂", kind(item));
  if (item.type === "location") return card("📍", kind(item), item.address);
  if (item.type === "file") return card("📄", kind(item));
  if (item.type === "audio" || item.type === "video") return card("🎙", kind(item), minutes(item.duration));
  return words("span", item.text ?? kind(item), "text");
}

function says(item) {
  if (item.type === "image") return picture(item);
  const made = element("span", undefined, "says");
  if (item.quotes) made.append(quote(item));
  made.append(content(item));
  return made;
}

function menu(item, acts) {
  const made = element("details", undefined, "menu");
  const more = element("summary", "⋯");
  more.setAttribute("aria-label", t("more", { name: item.name }));
  const row = element("span", undefined, "acts");
  const then = (act) => () => { made.open = false; act(item); };
  row.append(button(t("reply"), then(acts.reply), "quoting"));
  if (item.mine && item.type === "text") row.append(button(t("edit"), then(acts.edit), "editing"));
  if (item.mine) row.append(button(t("unsend"), then(acts.unsend), "unsend"));
  made.append(more, row);
  return made;
}

/** A line of the chat: a day, somebody's coming or going, or a message. */
export function bubble(item, acts) {
  if (item.note) {
    const line = element("li", undefined, "note", item.unsent && "gone");
    line.append(words("span", item.note));
    return line;
  }
  const row = element("li", undefined, "row", item.mine && "mine", item.bot && "bot", item.follows && "follows");
  const stack = element("div", undefined, "stack");
  if (!item.mine) {
    row.append(avatar(item));
    if (!item.follows) stack.append(words("span", item.name, "who"));
  }
  const line = element("div", undefined, "line");
  const side = element("span", undefined, "side");
  const time = clock(item.at);
  side.append(menu(item, acts), element("time", item.edited ? t("edited", { time }) : time));
  line.append(says(item), side);
  stack.append(line);
  row.append(stack);
  return row;
}
