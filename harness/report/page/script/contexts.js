// What a system retrieved, and which of it has the words of the output.

const HUES = 6;
const hue = (i) => "c" + (i % HUES + 1);
const lowered = (text) => tokens(cut(text, MARKED)).filter((token) => token.word).map((token) => token.text.toLowerCase());

// Each word of the output goes to the context that has it; where several do, to the one with most of the output's words.
function supportSpans(text, contexts) {
  const own = tokens(text), words = new Set(lowered(text));
  const sets = contexts.map(([, passage]) => new Set(passage === null ? [] : lowered(passage)));
  const shares = sets.map((set) => [...words].filter((word) => set.has(word)).length);
  const order = [...sets.keys()].sort((i, j) => shares[j] - shares[i] || i - j);
  const contextOf = (token) => order.find((i) => sets[i].has(token.text.toLowerCase()));
  const spans = joined(text, own, (token) => {
    const i = token.word ? contextOf(token) : undefined;
    return i === undefined ? null : "of-" + i;
  });
  return spans.map((span) => {
    const i = Number(span.kind.slice(3));
    return { ...span, kind: hue(i), title: `context ${i + 1}` };
  });
}

function contextsOf(run, row) {
  const contexts = group().contexts[run]?.[row];
  if (!contexts) return null;
  const made = element("section", { class: "contexts", "aria-label": "Contexts" });
  made.append(element("h4", {}, contexts.length ? "Contexts" : "No contexts"));
  const list = element("ol", {});
  contexts.forEach(([id, text, score, relevant], i) => {
    const number = element("span", { class: "number-of m" + (state.v === "contexts" ? " " + hue(i) : "") }, String(i + 1));
    const head = element("p", { class: "about" }, number);
    if (id !== null) head.append(" ", isolated(cut(id, 200)));
    if (score !== null) head.append(" ", element("small", {}, rounded(score, 2)));
    if (relevant !== null) head.append(" ", element("small", { class: "tag " + (relevant ? "relevant" : "irrelevant") }, relevant ? "relevant" : "not relevant"));
    list.append(element("li", {}, head, text === null ? element("p", { class: "hint" }, "no text, an id alone") : textBlock(text, null, SHOWN_SOURCE)));
  });
  made.append(list);
  return made;
}
