// The words that a metric matched: a click on one shows which word of the other text it was matched with, and how
// similar the two are.

function alignmentOf(run, row) {
  const rows = group().alignments[run];
  return rows ? rows[row] : undefined;
}

const warmth = (percent) => percent >= 90 ? "s4" : percent >= 75 ? "s3" : percent >= 60 ? "s2" : "s1";

// The words of one side; `list` as alignments.py has it: [from, to, match, cosine in percent].
function alignedText(text, list, other, otherText, side) {
  const block = element("div", { class: "text aligned", dir: "auto", "data-side": side });
  const spans = list.map(([start, end, match, percent], place) => {
    const with_ = match < 0 ? "a special token" : otherText.slice(other[match][0], other[match][1]);
    const title = `${with_} \u00b7 ${(percent / 100).toFixed(2)}`;
    return { start, end, kind: warmth(percent), title, place, tabindex: "0", role: "button" };
  });
  return marked(block, text, spans);
}

function alignmentView(run, row, output) {
  const matches = alignmentOf(run, row), of = group();
  const reference = of.references[row][matches.reference];
  const view = element("div", { class: "alignment" });
  const ours = alignedText(output, matches.output, matches.matched, reference, "output");
  const theirs = alignedText(reference, matches.matched, matches.output, output, "matched");
  const hint = element("p", { class: "hint", "aria-live": "polite" }, "Choose a word to see its match.");
  view.append(ours, element("p", { class: "hint" }, `reference ${matches.reference + 1}`), theirs, hint);
  const show = (word) => {
    const own = word.closest(".aligned"), side = own.dataset.side;
    const [start, end, match, percent] = matches[side][Number(word.dataset.place)];
    for (const old of view.querySelectorAll(".chosen, .match")) old.classList.remove("chosen", "match");
    word.classList.add("chosen");
    const text = (side === "output" ? output : reference).slice(start, end);
    if (match < 0) return hint.replaceChildren(isolated(text), " is most similar to a special token.");
    const partner = (own === ours ? theirs : ours).querySelector(`[data-place="${match}"]`);
    partner.classList.add("match");
    const [from, to] = matches[side === "output" ? "matched" : "output"][match];
    const name = (side === "output" ? reference : output).slice(from, to);
    return hint.replaceChildren(isolated(text), " \u2192 ", isolated(name), `, cosine ${(percent / 100).toFixed(2)}`);
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

