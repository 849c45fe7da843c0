// Texts with some of their characters marked.

const SHOWN = 4000, SHOWN_SOURCE = 420, MARKED = 20000;

// The text with spans [{start, end, kind, title?, place?}] as elements; spans are in order and do not overlap.
function marked(node, text, spans) {
  let place = 0;
  for (const span of spans) {
    if (span.start > place) put(node, text.slice(place, span.start));
    const tag = span.kind === "gone" ? "del" : span.kind === "new" ? "ins" : "span";
    const made = element(tag, { class: "m " + span.kind, title: span.title, "data-place": span.place, tabindex: span.tabindex, role: span.role });
    node.append(put(made, span.text ?? text.slice(span.start, span.end)));
    place = span.end;
  }
  return put(node, text.slice(place));
}

// Neighbouring tokens of one kind become one span.
function joined(text, list, kindOf) {
  const spans = [];
  list.forEach((token, i) => {
    const kind = kindOf(token, i);
    const last = spans[spans.length - 1];
    if (!kind) return;
    if (last && last.kind === kind && last.token === i - 1) { last.end = token.end; last.token = i; }
    else spans.push({ start: token.start, end: token.end, kind, token: i });
  });
  return spans;
}

// n-grams that a reference has: the longer, the stronger.
function gramSpans(text, references) {
  const own = tokens(text);
  const levels = matchedGrams(own, references.map((reference) => tokens(cut(reference, MARKED))));
  return joined(text, own, (_, i) => levels[i] ? "n" + levels[i] : null);
}

// Words of the output that the other text has not; where asked for, also what is missing, in its place.
function differingSpans(text, other, withMissing) {
  const own = tokens(text), theirs = tokens(other), { a, steps } = compared(own, theirs);
  if (!withMissing || !steps) return joined(text, own, (_, i) => a[i] ? null : withMissing ? "new" : "unlike");
  const spans = [];
  let at = 0;
  for (const [kind, i] of steps) {
    const last = spans[spans.length - 1];
    if (kind === 2) {
      const token = theirs[i];
      if (last && last.kind === "gone" && last.token === i - 1) { last.upTo = token.end; last.token = i; last.text = other.slice(last.from, token.end); }
      else spans.push({ start: at, end: at, kind: "gone", token: i, from: token.start, upTo: token.end, text: other.slice(token.start, token.end) });
    } else {
      if (kind === 0) {
        if (last && last.kind === "new" && last.own === i - 1) { last.end = own[i].end; last.own = i; }
        else spans.push({ start: own[i].start, end: own[i].end, kind: "new", own: i });
      }
      at = own[i].end;
    }
  }
  return spans;
}

// What was searched for, wherever it stands in a node; the texts themselves stay as they are.
function showHits(node) {
  if (!globalThis.CSS?.highlights) return;
  const wanted = state.q.toLowerCase(), ranges = [];
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (wanted && texts.nextNode()) {
    const at = texts.currentNode, text = at.data.toLowerCase();
    if (text.length !== at.data.length) continue;
    for (let i = text.indexOf(wanted); i >= 0 && ranges.length < 1000; i = text.indexOf(wanted, i + wanted.length)) {
      ranges.push(new StaticRange({ startContainer: at, startOffset: i, endContainer: at, endOffset: i + wanted.length }));
    }
  }
  CSS.highlights.set("hit", new Highlight(...ranges));
}

// The part of an example's texts that the list shows: where the search found something, else the beginning.
function snippet(row) {
  const of = group(), texts = [of.sources[row], ...of.references[row], of.outputs[state.a][row], ...of.outputs.map((outputs) => outputs[row])].filter(Boolean);
  const wanted = state.q.toLowerCase(), clean = (text) => text.replace(/\s+/gu, " ");
  for (const text of wanted ? texts : []) {
    const at = text.toLowerCase().indexOf(wanted);
    if (at < 0) continue;
    const start = at < 24 ? 0 : at - 16;
    const made = isolated((start ? "\u2026" : "") + clean(text.slice(start, at)), { class: "snippet" });
    put(made.appendChild(element("mark", {})), clean(text.slice(at, at + wanted.length)));
    return put(made, clean(cut(text.slice(at + wanted.length), 160)));
  }
  return isolated(clean(cut(texts[0] || "", 160)), { class: "snippet" });
}

// The first words of a text, as far as the first place where the search found something.
function beginning(text, limit) {
  const at = state.q ? text.slice(0, MARKED).toLowerCase().indexOf(state.q.toLowerCase()) : -1;
  const shown = cut(text, Math.max(limit, at < 0 ? 0 : at + state.q.length + 100));
  const space = shown.lastIndexOf(" ");
  return space > shown.length - 40 ? shown.slice(0, space) : shown;
}

// A text of any length: cut with a button for the rest; spansOf(text) marks what is shown, up to a bound.
function textBlock(text, spansOf, limit = SHOWN) {
  const block = element("div", { class: "text", dir: "auto" });
  const draw = (shown) => {
    const head = cut(shown, MARKED);
    block.replaceChildren();
    marked(block, head, spansOf ? spansOf(head) : []);
    if (head.length < shown.length) put(block, shown.slice(head.length));
    if (shown.length < text.length) {
      const more = element("button", { type: "button", class: "link" }, `show all ${grouped(text.length)} characters`);
      more.addEventListener("click", () => draw(text));
      block.append(element("span", { class: "cut" }, " \u2026 "), more);
    } else if (spansOf && head.length < shown.length) {
      block.append(element("p", { class: "hint" }, `Marks end after ${grouped(MARKED)} characters.`));
    }
  };
  draw(text.length > limit * 1.25 ? beginning(text, limit) : text);
  return block;
}

