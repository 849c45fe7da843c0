// The form above the list: what it offers follows from the state, and what is chosen goes into the state.

let result = { rows: [], shown: null };

function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value, false, String(value) === String(chosen))));
}

function offer() {
  const of = group();
  byId("dataset-choice").hidden = groups.length < 2;
  options(byId("dataset"), groups.map(({ dataset }, i) => [i, plain(dataset)]), state.d);
  options(byId("score"), of.scores.map(({ name, title }) => [name, plain(title)]), state.s);
  const runs = of.runs.map((run, i) => [i, plain(run.label)]);
  for (const side of ["a", "b"]) {
    options(byId(side), runs, state[side]);
    byId(side).parentNode.hidden = runs.length < 2;
  }
  if (!sorts().some(([name]) => name === state.sort)) state.sort = sorts()[0][0];
  options(byId("sort"), sorts(), state.sort);
  byId("turn").textContent = state.up ? "\u2191" : "\u2193";
  byId("turn").setAttribute("aria-pressed", String(state.up));
  options(byId("field"), [["", "all examples"], ...facets().map(({ name, label }) => [name, plain(label)])], "");
  byId("value-choice").hidden = true;
  if (document.activeElement !== byId("q")) byId("q").value = state.q;
  for (const end of ["from", "to"]) if (document.activeElement !== byId(end)) byId(end).value = state[end];
  chips();
}

function chips() {
  const known = new Map(facets().map((facet) => [facet.name, facet]));
  byId("chips").replaceChildren(...state.f.map(({ field, value }, i) => {
    const facet = known.get(field), place = facet ? facet.names.indexOf(value) : -1;
    const label = `${facet ? facet.label : field}: ${place < 0 ? value : facet.values[place]}`;
    const chip = element("button", { type: "button", class: "chip", title: "Remove this filter" }, isolated(label), " \u00d7");
    chip.addEventListener("click", () => { state.f.splice(i, 1); refresh(); });
    return chip;
  }));
}

function count() {
  const of = group(), all = of.rows, { rows } = result;
  const less = of.of > of.rows ? ` (of ${grouped(of.of)}: the biggest differences and an even share of the rest)` : "";
  byId("count").textContent = (rows.length === all ? `${grouped(all)} shown` : `${grouped(rows.length)} of ${grouped(all)}`) + less;
  const known = result.shown ? Float64Array.from(rows, (row) => result.shown[row]).filter((value) => !Number.isNaN(value)).sort() : [];
  for (const [end, place, none] of [["from", 0, "min"], ["to", known.length - 1, "max"]]) {
    byId(end).disabled = !result.shown;
    byId(end).placeholder = known.length ? rounded(known[place], valueDigits()) : none;
  }
}

// Digits of what is sorted by.
const valueDigits = () => /^(wins|losses|gap|score)/.test(state.sort) ? group().about(state.s).digits : 0;

// After every change: the list anew, and the example if it is still there, else the first.
function refresh({ keep = false, silent = false } = {}) {
  if (!group().ready) return; // what was chosen meanwhile is shown when the data is there
  offer();
  result = query();
  count();
  if (!keep && !result.rows.includes(state.row)) state.row = narrow.matches ? null : result.rows[0] ?? null;
  showList();
  showDetail();
  if (!silent) remember();
}

function listen() {
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => {
    const open = byId("controls").classList.toggle("open");
    byId("more").setAttribute("aria-expanded", String(open));
  });
  byId("q").addEventListener("input", () => { state.q = byId("q").value; refresh(); });
  byId("dataset").addEventListener("change", async () => {
    reset(Number(byId("dataset").value));
    byId("explorer").setAttribute("aria-busy", "true");
    await group().read();
    refresh();
    byId("explorer").setAttribute("aria-busy", "false");
  });
  byId("score").addEventListener("change", () => { state.s = byId("score").value; refresh({ keep: true }); });
  for (const side of ["a", "b"]) {
    byId(side).addEventListener("change", () => {
      const other = side === "a" ? "b" : "a", before = state[side];
      state[side] = Number(byId(side).value);
      if (state[other] === state[side]) state[other] = before;
      refresh({ keep: true });
    });
  }
  byId("sort").addEventListener("change", () => {
    Object.assign(state, { sort: byId("sort").value, up: ["id", "data"].includes(byId("sort").value) ? false : state.up, from: "", to: "" });
    refresh();
  });
  byId("turn").addEventListener("click", () => { state.up = !state.up; refresh(); });
  for (const end of ["from", "to"]) byId(end).addEventListener("input", () => { state[end] = byId(end).value; refresh(); });
  byId("field").addEventListener("change", () => {
    const facet = facets().find(({ name }) => name === byId("field").value);
    byId("value-choice").hidden = !facet;
    if (!facet) return;
    const counts = new Array(facet.values.length).fill(0);
    for (const place of facet.of) if (place >= 0) counts[place]++;
    const values = facet.values.map((value, i) => [facet.names[i], `${plain(value)} (${grouped(counts[i])})`]);
    options(byId("value"), [["", "choose \u2026"], ...values], "");
    byId("value").focus();
  });
  byId("value").addEventListener("change", () => {
    const filter = { field: byId("field").value, value: byId("value").value };
    if (filter.value === "") return;
    if (!state.f.some(({ field, value }) => field === filter.field && value === filter.value)) state.f.push(filter);
    refresh();
  });
}

