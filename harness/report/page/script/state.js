// What is looked at, and its address: everything in it can be sent to a colleague as a link.

const VIEWS = ["ngrams", "reference", "other", "alignment", "plain", "contexts"];
const state = { d: 0, s: null, a: 0, b: 0, sort: "wins", up: false, q: "", f: [], from: "", to: "", row: null, v: "ngrams", m: 0 };
let groups = [];
const group = () => groups[state.d];

const firstSort = ({ pair, score }) => score ? (pair[0] === pair[1] ? "score 0" : "wins") : "data";

function reset(d) {
  const { pair, score } = groups[d];
  const rest = { up: false, q: "", f: [], from: "", to: "", row: null, m: 0 };
  Object.assign(state, { d, s: score, a: pair[0], b: pair[1], sort: firstSort(groups[d]), ...rest });
}

function written() {
  const of = group(), parameters = new URLSearchParams();
  if (groups.length > 1) parameters.set("data", of.dataset);
  if (state.s !== of.score) parameters.set("score", state.s);
  if (state.a !== of.pair[0]) parameters.set("a", of.runs[state.a].label);
  if (state.b !== of.pair[1]) parameters.set("b", of.runs[state.b].label);
  if (state.sort !== firstSort(of)) parameters.set("sort", state.sort);
  if (state.up) parameters.set("up", "1");
  if (state.q) parameters.set("q", state.q);
  for (const { field, value } of state.f) parameters.append("only", field.replace(/[%=]/g, encodeURIComponent) + "=" + value);
  for (const end of ["from", "to"]) if (state[end] !== "") parameters.set(end, state[end]);
  if (state.v !== "ngrams") parameters.set("mark", state.v);
  if (state.m) parameters.set("matched", of.aligners[state.m].title);
  if (state.row !== null) {
    parameters.set("example", of.ids[state.row]);
    if (of.repeats && of.repeats[state.row]) parameters.set("repeat", of.repeats[state.row]);
  }
  return parameters.toString();
}

// Reads an address; false where it is none of ours (such as that of a section).
async function readAddress(text) {
  const parameters = new URLSearchParams(text);
  const known = ["data", "score", "a", "b", "sort", "up", "q", "only", "from", "to", "mark", "example"];
  if (!known.some((name) => parameters.has(name))) return false;
  const d = groups.findIndex(({ dataset }) => dataset === parameters.get("data"));
  reset(Math.max(d, 0));
  const of = group();
  await of.read();
  if (of.score_places.has(parameters.get("score"))) state.s = parameters.get("score");
  for (const name of ["a", "b"]) {
    const run = of.runs.findIndex(({ label }) => label === parameters.get(name));
    if (run >= 0) state[name] = run;
  }
  if (sorts().some(([name]) => name === parameters.get("sort"))) state.sort = parameters.get("sort");
  state.up = parameters.get("up") === "1";
  state.q = parameters.get("q") || "";
  for (const only of parameters.getAll("only")) {
    const sign = only.indexOf("=");
    state.f.push({ field: only.slice(0, sign).replace(/%25|%3D/g, decodeURIComponent), value: only.slice(sign + 1) });
  }
  for (const end of ["from", "to"]) state[end] = parameters.get(end) || "";
  if (VIEWS.includes(parameters.get("mark"))) state.v = parameters.get("mark");
  state.m = Math.max(of.aligners.findIndex(({ title }) => title === parameters.get("matched")), 0);
  if (parameters.has("example")) {
    const repeat = Number(parameters.get("repeat") || 0);
    const row = of.ids.findIndex((id, i) => id === parameters.get("example") && (!of.repeats || of.repeats[i] === repeat));
    state.row = row >= 0 ? row : null;
  }
  return true;
}

let address = "";
function remember() {
  address = written();
  history.replaceState(history.state, "", address ? "#" + address : location.pathname + location.search);
}

