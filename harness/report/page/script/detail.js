// One example: source, references, and the outputs side by side.

const VIEW_NAMES = {
  ngrams: ["n-grams", "Shared with any reference: the longer the n-gram, the stronger the mark; letter case and punctuation aside."],
  reference: ["vs reference", "Underlined: not in the reference. Struck out: missing from the output."],
  other: ["A vs B", "Underlined: words that the other output does not have; those of other systems are compared with A."],
  alignment: ["alignment", ""],
  plain: ["plain", ""],
  contexts: ["contexts", "Coloured: words of the context with that colour; of several that have a word, of the one that shares most words with the output."],
};
let against = { row: null, reference: 0 };

function showDetail() {
  const detail = byId("detail"), of = group(), row = state.row;
  if (row === null) {
    closeDetail();
    detail.replaceChildren(element("p", { class: "waiting" }, result.rows.length ? "Choose an example (j, k)." : "No example fits."));
    return;
  }
  if (against.row !== row) against = { row, reference: nearestReference(row) };
  detail.replaceChildren(heading(row), facts(row), toolbar(), sourceOf(row), referencesOf(row), outputsOf(row));
  detail.scrollTop = 0;
  detail.setAttribute("aria-label", "Example " + plain(of.ids[row]));
  showHits(detail);
}

function heading(row) {
  const of = group(), place = result.rows.indexOf(row);
  const button = (text, label, act) => {
    const made = element("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  const back = button("\u2039 List", "Back to the list", () => history.state?.reading ? history.back() : closeDetail(true));
  back.classList.add("back");
  const link = button("Copy link", "Copy a link to this example", async () => {
    remember();
    try { await navigator.clipboard.writeText(location.href); link.textContent = "Copied"; }
    catch { link.textContent = "See the address"; }
    setTimeout(() => { link.textContent = "Copy link"; }, 1500);
  });
  const title = element("h3", {}, isolated(of.ids[row]));
  const where = place < 0 ? "not in the list" : `${grouped(place + 1)} of ${grouped(result.rows.length)}`;
  const tools = element("span", { class: "tools" }, element("span", { class: "where" }, where),
    button("\u2191", "Previous example (k)", () => move(-1)), button("\u2193", "Next example (j)", () => move(1)), link);
  return element("header", { class: "heading" }, back, title, tools);
}

function facts(row) {
  const of = group(), made = element("dl", { class: "facts" });
  for (const field of of.fields) {
    const value = of.metadata[field][row];
    if (value === null) continue;
    made.append(element("div", {}, element("dt", {}, isolated(field)), element("dd", {}, isolated(cut(String(value), 200)))));
  }
  if (of.repeats) {
    const shown = element("dd", {});
    of.ids.forEach((id, other) => {
      if (id !== of.ids[row]) return;
      const repeat = element("button", { type: "button", class: "link", "aria-pressed": String(other === row) }, String(of.repeats[other] + 1));
      repeat.addEventListener("click", () => choose(other));
      shown.append(repeat, " ");
    });
    made.append(element("div", {}, element("dt", {}, "repeat"), shown));
  }
  return made;
}

function toolbar() {
  const made = element("div", { class: "marking", role: "group", "aria-label": "How outputs are marked" });
  VIEWS.forEach((view, i) => {
    if (view === "other" && state.a === state.b || view === "contexts" && !group().contextual) return;
    const button = element("button", { type: "button", "aria-pressed": String(view === state.v), title: `Key ${i + 1}` }, VIEW_NAMES[view][0]);
    button.addEventListener("click", () => mark(view));
    made.append(button);
  });
  const legend = element("p", { class: "legend" });
  if (state.v === "ngrams") {
    for (let n = 1; n <= ORDERS; n++) legend.append(element("span", { class: "m n" + n }, n === ORDERS ? `${n}+` : String(n)), " ");
  }
  if (state.v !== "alignment") legend.append(VIEW_NAMES[state.v][1]);
  else alignmentLegend(legend);
  return element("div", { class: "toolbar" }, made, legend);
}

function mark(view) {
  state.v = view;
  const focused = document.activeElement && document.activeElement.closest(".marking");
  showDetail();
  if (focused) byId("detail").querySelector(".marking [aria-pressed=true]").focus();
  remember();
}

function sourceOf(row) {
  const source = group().sources[row];
  if (source === null) return "";
  return element("section", { class: "part source", "aria-label": "Source" }, element("h4", {}, "Source"), textBlock(source, null, SHOWN_SOURCE));
}

// The reference that shares most with output A.
function nearestReference(row) {
  const of = group(), output = of.outputs[state.a][row];
  if (output === null || of.references[row].length < 2) return 0;
  const own = new Set(tokens(cut(output, SHOWN)).map((token) => token.text.toLowerCase()));
  const shares = of.references[row].map((reference) => {
    const theirs = tokens(cut(reference, SHOWN));
    return theirs.filter((token) => own.has(token.text.toLowerCase())).length / Math.max(theirs.length, 1);
  });
  return shares.indexOf(Math.max(...shares));
}

function referencesOf(row) {
  const references = group().references[row];
  const made = element("section", { class: "part references", "aria-label": "References" });
  made.append(element("h4", {}, references.length > 1 ? "References" : "Reference"));
  if (!references.length) made.append(element("p", { class: "hint" }, "none"));
  references.forEach((reference, i) => {
    const used = state.v === "reference" && references.length > 1;
    const item = element("div", { class: "reference" + (used && i === against.reference ? " used" : "") });
    if (references.length > 1) {
      const number = element(used ? "button" : "span", { class: "number-of", type: used ? "button" : null, "aria-pressed": used ? String(i === against.reference) : null, title: used ? "Compare with this reference" : null }, String(i + 1));
      if (used) number.addEventListener("click", () => { against = { row, reference: i }; const top = byId("detail").scrollTop; showDetail(); byId("detail").scrollTop = top; });
      item.append(number);
    }
    item.append(reference === "" ? element("p", { class: "hint" }, "(empty)") : textBlock(reference, null));
    made.append(item);
  });
  return made;
}

function outputsOf(row) {
  const of = group(), made = element("section", { class: "outputs", "aria-label": "Outputs" });
  const order = [...new Set([state.a, state.b, ...of.runs.keys()])];
  for (const run of order) made.append(card(run, row));
  return made;
}

function card(run, row) {
  const of = group(), letter = state.a === state.b ? "" : run === state.a ? "A" : run === state.b ? "B" : "";
  const head = element("header", {}, letter ? element("span", { class: "letter " + letter.toLowerCase() }, letter) : null, isolated(of.runs[run].label, { class: "system" }));
  if (of.baseline === run) head.append(" ", element("small", { class: "tag" }, "baseline"));
  const made = element("article", { class: "card", "aria-label": "Output of " + plain(of.runs[run].label) }, head);
  const error = of.errors[run][row], output = of.outputs[run][row];
  if (error !== undefined || output === null) {
    made.append(element("p", { class: "failed" }, element("strong", {}, "failed"), " ", isolated(cut(error || "no output", SHOWN))));
    return made;
  }
  made.append(scoresOf(run, row));
  if (output.trim() === "") made.append(element("p", { class: "hint" }, output === "" ? "(empty)" : "(white space only)"));
  else made.append(outputText(run, row, output));
  made.append(contextsOf(run, row) ?? "");
  return made;
}

function scoresOf(run, row) {
  const of = group(), made = element("dl", { class: "scores-of" });
  for (const { name, title, digits } of of.scores) {
    if (name.includes(".") && name !== state.s) continue;
    const value = of.scoreOf(name, run, row);
    if (Number.isNaN(value)) continue;
    made.append(element("div", { class: name === state.s ? "main" : null }, element("dt", {}, isolated(title)), element("dd", {}, rounded(value, digits))));
  }
  return made;
}

function outputText(run, row, output) {
  const of = group(), references = of.references[row];
  switch (state.v) {
    case "ngrams": return textBlock(output, (text) => gramSpans(text, references));
    case "reference": {
      const reference = references[against.reference];
      return reference === undefined ? textBlock(output, null) : textBlock(output, (text) => differingSpans(text, cut(reference, text.length < output.length ? text.length * 2 : MARKED), true));
    }
    case "other": {
      const other = of.outputs[run === state.a ? state.b : state.a][row];
      return other === null ? textBlock(output, null) : textBlock(output, (text) => differingSpans(text, cut(other, MARKED), false));
    }
    case "alignment": {
      if (alignmentOf(run, row)) return alignmentView(run, row, output);
      const made = element("div", {}, textBlock(output, null));
      made.append(element("p", { class: "hint" }, unalignedReason() || "The page holds alignments of the biggest wins and losses only, and this example is not among them."));
      return made;
    }
    case "contexts": return textBlock(output, (text) => supportSpans(text, of.contexts[run]?.[row] ?? []));
    default: return textBlock(output, null);
  }
}

const narrow = matchMedia("(max-width: 48rem)");

// On a phone the example covers the list; on a laptop it stands beside it.
function openDetail() {
  if (state.row === null) return;
  const first = !document.body.classList.contains("reading");
  document.body.classList.add("reading");
  if (!narrow.matches) return;
  if (first) history.pushState({ reading: true }, ""); // so that the browser's own way back closes it
  byId("detail").focus({ preventScroll: true });
}

function closeDetail(focus = false) {
  document.body.classList.remove("reading");
  if (focus) byId("list").focus({ preventScroll: true });
}

addEventListener("popstate", () => { if (document.body.classList.contains("reading")) closeDetail(true); });

