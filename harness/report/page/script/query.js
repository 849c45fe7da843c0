// Which rows are shown, and in which order.

// [name, what it says] of all orders.
function sorts() {
  const of = group(), two = state.a !== state.b && state.s;
  return [
    ...(two ? [["wins", "biggest wins of A"], ["losses", "biggest losses of A"], ["gap", "biggest differences"]] : []),
    ...(state.s ? of.runs.map((run, i) => [`score ${i}`, `${plain(of.about(state.s).title)} of ${plain(run.label)}`]) : []),
    ["source", "length of source"],
    ["references", "length of reference"],
    ...of.runs.map((run, i) => [`output ${i}`, `length of ${plain(run.label)}`]),
    ["id", "id"],
    ["data", "order of the data"],
  ];
}

// The numbers that an order goes by, largest first; null for those that go by place or id.
function sortValues() {
  const of = group(), [kind, run] = state.sort.split(" ");
  switch (kind) {
    case "wins": return of.gain(state.s, state.a, state.b);
    case "losses": return of.gain(state.s, state.b, state.a);
    case "gap": return of.difference(state.s, state.a, state.b).map(Math.abs);
    case "score": return of.column(state.s, Number(run));
    case "source": return of.lengths((row) => of.sources[row]);
    case "references": return of.lengths((row) => of.references[row][0]);
    case "output": return of.lengths((row) => of.outputs[run][row]);
    default: return null;
  }
}

// The numbers that rows show and bounds are of: those they are ordered by, or A minus B in the orders by difference.
const shownValues = (values) => byDifference() ? group().difference(state.s, state.a, state.b) : values;
const byDifference = () => ["wins", "losses", "gap"].includes(state.sort);

const MOST_VALUES = 200;

// What rows can be chosen by: {name, label, values, names, of: place of its value or -1 for each row}. Made once, or once
// for a choice of runs and score.
function facets() {
  const of = group();
  of.facets ||= [
    ...of.fields.map((name) => byValue("field " + name, name, of.metadata[name])),
    byLength("source", "length of source", (row) => of.sources[row]),
    byLength("references", "length of reference", (row) => of.references[row][0]),
    failures(of),
    ...(of.repeats ? [byValue("repeat", "repeat", of.repeats.map((repeat) => String(repeat + 1)))] : []),
  ].filter(Boolean);
  const choice = [state.a, state.b, state.s].join(" ");
  if (of.choice !== choice) {
    of.choice = choice;
    of.chosenFacets = [...outcomes(of), byLength("output", "length of output A", (row) => of.outputs[state.a][row])].filter(Boolean);
  }
  return [...of.chosenFacets, ...of.facets];
}

function outcomes(of) {
  if (state.a === state.b || !state.s) return [];
  const values = [`A (${plain(of.runs[state.a].label)}) better`, "same", `B (${plain(of.runs[state.b].label)}) better`, "not comparable"];
  const gain = of.gain(state.s, state.a, state.b);
  const places = Int32Array.from(gain, (value) => Number.isNaN(value) ? 3 : value > 0 ? 0 : value < 0 ? 2 : 1);
  return [{ name: "outcome", label: "who is better", values, names: ["a", "same", "b", "missing"], of: places }];
}

function failures(of) {
  if (!of.errors.some((errors) => Object.keys(errors).length)) return null;
  const places = new Int32Array(of.rows).fill(1);
  for (const errors of of.errors) for (const row of Object.keys(errors)) places[row] = 0;
  return { name: "failed", label: "failures", values: ["a system failed", "none failed"], names: ["yes", "no"], of: places };
}

function byValue(name, label, column) {
  const numbers = column.filter((value) => typeof value === "number");
  const different = new Set(column.filter((value) => value !== null));
  if (numbers.length === column.length && different.size > 12) return binned(name, label, Float64Array.from(column));
  if (different.size < 1 || different.size > MOST_VALUES || different.size === column.length) return null;
  const values = [...different].sort((x, y) => typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : 1);
  if (column.includes(null)) values.push(null);
  const place = new Map(values.map((value, i) => [value, i]));
  const names = values.map((value) => value === null ? "(none)" : String(value));
  return { name, label, values: names, names, of: Int32Array.from(column, (value) => place.get(value)) };
}

const byLength = (name, label, of) => binned(name, label, group().lengths(of), " characters");

// Four parts of about the same number of rows.
function binned(name, label, column, unit = "") {
  const known = Float64Array.from(column).filter((value) => !Number.isNaN(value)).sort();
  if (known.length < 8 || known[0] === known[known.length - 1]) return null;
  const bounds = [...new Set([0.25, 0.5, 0.75].map((share) => known[Math.floor(share * (known.length - 1))]))];
  const shown = (value) => Number.isInteger(value) ? grouped(value) : value.toPrecision(3);
  const values = [`up to ${shown(bounds[0])}`];
  for (let i = 1; i < bounds.length; i++) values.push(`over ${shown(bounds[i - 1])}, up to ${shown(bounds[i])}`);
  values.push(`over ${shown(bounds[bounds.length - 1])}`);
  const places = Int32Array.from(column, (value) => {
    if (Number.isNaN(value)) return -1;
    const place = bounds.findIndex((bound) => value <= bound);
    return place < 0 ? bounds.length : place;
  });
  return { name, label, values: values.map((value) => value + unit), names: values.map((_, i) => String(i + 1)), of: places };
}

let searched = { group: null, q: "", rows: null };

// Rows that hold the words looked for; a longer search looks only where the shorter one found something.
function matching(of, q) {
  const wanted = q.toLowerCase();
  const before = searched.group === of && searched.q !== "" && wanted.startsWith(searched.q) ? searched.rows : null;
  const rows = [];
  if (before) { for (const row of before) if (of.text(row).includes(wanted)) rows.push(row); }
  else for (let row = 0; row < of.rows; row++) if (of.text(row).includes(wanted)) rows.push(row);
  searched = { group: of, q: wanted, rows };
  return rows;
}

// The rows to show, in order, and the numbers that they show.
function query() {
  const of = group();
  let rows = state.q ? matching(of, state.q) : Array.from({ length: of.rows }, (_, row) => row);
  const known = new Map(facets().map((facet) => [facet.name, facet]));
  const chosen = new Map();
  for (const { field, value } of state.f) {
    const facet = known.get(field), place = facet ? facet.names.indexOf(value) : -1;
    if (place < 0) continue;
    if (!chosen.has(facet)) chosen.set(facet, new Set());
    chosen.get(facet).add(place);
  }
  for (const [facet, places] of chosen) rows = rows.filter((row) => places.has(facet.of[row]));
  const values = sortValues(), shown = shownValues(values), from = bound("from"), to = bound("to");
  if (values) {
    const digits = valueDigits(), read = (row) => Number(shown[row].toFixed(digits)); // 4.998 is read as 5.00
    if (from !== null) rows = rows.filter((row) => read(row) >= from);
    if (to !== null) rows = rows.filter((row) => read(row) <= to);
    rows = rows.slice();
    const sign = state.up ? 1 : -1;
    rows.sort((x, y) => {
      const a = values[x], b = values[y];
      if (a === b) return x - y;
      if (Number.isNaN(a)) return Number.isNaN(b) ? x - y : 1;
      return Number.isNaN(b) ? -1 : sign * (a - b);
    });
  } else {
    rows = rows.slice();
    if (state.sort === "id") rows.sort((x, y) => of.ids[x] < of.ids[y] ? -1 : of.ids[x] > of.ids[y] ? 1 : x - y);
    if (state.up) rows.reverse();
  }
  return { rows, shown };
}

function bound(end) {
  const value = Number(state[end].replace(",", ".").replace("\u2212", "-"));
  return state[end].trim() === "" || Number.isNaN(value) ? null : value;
}

