// Text of users and models: always text nodes, in a direction of their own, unseen characters made visible.

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const UNSEEN_NAMES = {
  0xad: "SHY", 0x61c: "ALM", 0x180e: "MVS", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM",
  0x2028: "LS", 0x2029: "PS", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2060: "WJ",
  0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};
// the rule of text.py
const UNSEEN = new RegExp(
  "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2064" +
  "\\u2066-\\u206f\\ufeff\\u{e0000}-\\u{e007f}]|(?<=[\\x00-\\x7f])[\\u200c\\u200d]", "gu");

// Appends a text to a node.
function put(node, text) {
  let place = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > place) node.append(text.slice(place, match.index));
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    const name = UNSEEN_NAMES[match[0].codePointAt(0)] || code;
    node.append(element("span", { class: "unseen", title: "U+" + code }, name));
    place = match.index + match[0].length;
  }
  if (place < text.length) node.append(text.slice(place));
  return node;
}

const isolated = (text, attributes) => put(element("bdi", attributes), text);

// For places that take no elements, such as options of a select.
const plain = (text) => text.replace(UNSEEN, "\ufffd");

const CHARACTERS = new RegExp(
  "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]" +
  "|[\\p{L}\\p{N}\\p{M}]+(?:['\u2019][\\p{L}\\p{M}]+)*|\\s+|[^\\s]", "gu");
const SPACE = /^\s/u, WORD = /^[\p{L}\p{N}]/u;

// Words and signs of a text without the spaces: [{start, end, text, word}].
function tokens(text) {
  const list = [];
  for (const match of text.matchAll(CHARACTERS)) {
    if (SPACE.test(match[0])) continue;
    list.push({ start: match.index, end: match.index + match[0].length, text: match[0], word: WORD.test(match[0]) });
  }
  return list;
}

// A cut that does not split a pair of surrogates.
function cut(text, length) {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}

const grouped = (number) => number.toLocaleString("en");
const rounded = (value, digits) => Number.isNaN(value) ? "n/a" : (Number(value.toFixed(digits)) || 0).toFixed(digits).replace("-", "\u2212");
const signed = (value, digits) => Number.isNaN(value) ? "n/a" : (value > 0 ? "+" : "") + rounded(value, digits);

