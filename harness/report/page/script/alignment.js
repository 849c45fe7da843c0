// The words that a metric matched: a click on one shows which words of the other text it was matched with, and how
// similar they are. Where a metric moves the weight of words, lines show what goes where, as thick as what is moved.

const GREEDY = "each token by the cosine with its most similar token of the reference, pale to strong.";
const MOVED = "where the weight of words goes at the least cost; several may go to one. Lines as thick as what is moved, words by their cosine, pale to strong.";

const MANY = 40; // lines: beyond it they are pale until a word is chosen
const alignerOf = () => group().aligners[state.m]; // the metric that matched the words, where there is one

function alignmentOf(run, row) {
  const rows = group().alignments[state.m]?.[run];
  return rows ? rows[row] : undefined;
}

const unalignedReason = () => alignerOf()?.unaligned || group().unaligned;

function alignmentLegend(legend) {
  const { aligners } = group();
  if (!aligners.length) return;
  aligners.forEach((aligner, place) => {
    if (aligners.length < 2) return legend.append(isolated(aligner.title), ": ");
    const button = element("button", { type: "button", "aria-pressed": String(place === state.m) }, isolated(aligner.title));
    button.addEventListener("click", () => { state.m = place; mark("alignment"); });
    return legend.append(button, " ");
  });
  legend.append(alignerOf().moves ? MOVED : GREEDY);
}

const warmth = (percent) => percent >= 90 ? "s4" : percent >= 75 ? "s3" : percent >= 60 ? "s2" : "s1";
const cosine = (percent) => (percent / 100).toFixed(2);

// What the word at a place of one side was matched with: [[place on the other side, cosine in percent, per mille]].
function partners(matches, side, place) {
  if (!matches.moves) {
    const [, , match, percent] = matches[side][place];
    return match < 0 ? [] : [[match, percent, null]];
  }
  const [own, other] = side === "output" ? [0, 1] : [1, 0];
  return matches.moves.filter((move) => move[own] === place).map((move) => [move[other], move[3], move[2]]);
}

const otherSide = (side) => side === "output" ? "matched" : "output";

// The words of one side of `texts`; lists as alignments.py has them.
function alignedText(matches, texts, side) {
  const block = element("div", { class: "text aligned", dir: "auto", "data-side": side });
  const spans = matches[side].map(([start, end, , percent], place) => {
    const names = partners(matches, side, place).map(([match, similar]) => {
      const [from, to] = matches[otherSide(side)][match];
      return `${texts[otherSide(side)].slice(from, to)} \u00b7 ${cosine(similar)}`;
    });
    const title = names.join(", ") || `a special token \u00b7 ${cosine(percent)}`;
    return { start, end, kind: warmth(percent), title, place, tabindex: "0", role: "button" };
  });
  return marked(block, texts[side], spans);
}

function alignmentView(run, row, output) {
  const matches = alignmentOf(run, row), of = group();
  const texts = { output, matched: of.references[row][matches.reference] };
  const view = element("div", { class: matches.moves ? "alignment moves" : "alignment" });
  const blocks = { output: alignedText(matches, texts, "output"), matched: alignedText(matches, texts, "matched") };
  const hint = element("p", { class: "hint", "aria-live": "polite" }, "Choose a word to see its match.");
  view.append(blocks.output, element("p", { class: "hint between" }, `reference ${matches.reference + 1}`), blocks.matched, hint);
  const wordAt = (side, place) => blocks[side].querySelector(`[data-place="${place}"]`);
  const lines = matches.moves ? moveLines(view, matches.moves, wordAt) : () => {};
  const show = (word) => {
    const { side } = word.closest(".aligned").dataset, other = otherSide(side), place = Number(word.dataset.place);
    const [start, end] = matches[side][place];
    for (const old of view.querySelectorAll(".chosen, .match")) old.classList.remove("chosen", "match");
    word.classList.add("chosen");
    lines(side, place);
    hint.replaceChildren(isolated(texts[side].slice(start, end)));
    const partnersHere = partners(matches, side, place);
    if (!partnersHere.length) hint.append(" is most similar to a special token.");
    partnersHere.forEach(([match, percent, share], i) => {
      wordAt(other, match).classList.add("match");
      const [from, to] = matches[other][match];
      const much = share === null ? "" : `${(share / 10).toFixed(1)}\u202f% of the weight, `;
      hint.append(i ? "; " : " \u2192 ", isolated(texts[other].slice(from, to)), `, ${much}cosine ${cosine(percent)}`);
    });
  };
  view.addEventListener("click", (event) => {
    const word = event.target.closest("[data-place]");
    if (word) show(word);
  });
  view.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    const word = event.target.closest("[data-place]");
    if (word) { show(word); event.preventDefault(); event.stopPropagation(); }
  });
  return view;
}

// A line for each move from a word of the output to one of the reference; the function returned brings out those of a word.
function moveLines(view, moves, wordAt) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("aria-hidden", "true");
  const most = Math.max(...moves.map((move) => move[2]));
  const lines = moves.map((move) => {
    const line = document.createElementNS(drawing.namespaceURI, "path");
    line.setAttribute("stroke-width", (0.75 + 4.25 * move[2] / most).toFixed(2));
    return drawing.appendChild(line);
  });
  view.prepend(drawing);
  view.classList.toggle("many", moves.length > MANY);
  const draw = () => {
    const { left, top } = view.getBoundingClientRect();
    moves.forEach(([own, other], i) => {
      const from = [...wordAt("output", own).getClientRects()].pop(), [to] = wordAt("matched", other).getClientRects();
      if (!from || !to) return;
      const x = from.left + from.width / 2 - left, y = from.bottom - top, u = to.left + to.width / 2 - left, v = to.top - top;
      lines[i].setAttribute("d", `M${x} ${y}C${x} ${(y + v) / 2} ${u} ${(y + v) / 2} ${u} ${v}`);
    });
  };
  new ResizeObserver(draw).observe(view); // which also calls it once, when the view is first laid out
  return (side, place) => {
    view.classList.add("choosing");
    moves.forEach((move, i) => lines[i].classList.toggle("on", move[side === "output" ? 0 : 1] === place));
  };
}
