// The list: only the rows in view are in the document, however many there are.

const ROW = 64;
const EXTRA = 6;

function showList() {
  const list = byId("list"), rows = byId("rows");
  rows.style.height = result.rows.length * ROW + "px";
  const place = result.rows.indexOf(state.row);
  if (place < 0) list.scrollTop = 0;
  else intoView(place);
  drawRows(true);
}

function intoView(place) {
  const list = byId("list"), top = place * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
}

let drawn = [0, 0];

function drawRows(anew = false) {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - EXTRA);
  const last = Math.min(result.rows.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + EXTRA);
  if (!anew && first === drawn[0] && last === drawn[1]) return;
  drawn = [first, last];
  const made = [];
  for (let place = first; place < last; place++) made.push(listRow(place));
  if (!result.rows.length) made.push(element("p", { class: "waiting" }, "No example fits."));
  byId("rows").replaceChildren(...made);
  const chosen = result.rows.indexOf(state.row);
  if (chosen >= first && chosen < last) list.setAttribute("aria-activedescendant", "row-" + chosen);
  else list.removeAttribute("aria-activedescendant");
}

function listRow(place) {
  const of = group(), row = result.rows[place];
  const item = element("div", {
    id: "row-" + place, class: "item", role: "option", "aria-selected": String(row === state.row),
    "aria-setsize": result.rows.length, "aria-posinset": place + 1, "data-row": row,
  });
  item.style.top = place * ROW + "px";
  const name = isolated(cut(of.ids[row], 80), { class: "id" });
  if (of.repeats) name.append(` \u00b7 ${of.repeats[row] + 1}`);
  const head = element("div", { class: "head" }, name, figuresOf(row));
  item.append(head, snippet(row));
  return item;
}

// What the list is sorted by, and the difference where that is something else.
function figuresOf(row) {
  const of = group(), made = element("span", { class: "figures-of" });
  const failed = of.errors.filter((errors) => row in errors).length;
  if (failed) made.append(element("span", { class: "tag bad" }, failed > 1 ? `${failed} failed` : "failed"));
  if (result.shown && !byDifference()) made.append(element("span", { class: "value" }, rounded(result.shown[row], valueDigits())));
  if (state.s && state.a !== state.b) {
    const value = of.scoreOf(state.s, state.a, row) - of.scoreOf(state.s, state.b, row);
    const better = (of.about(state.s).lower ? -value : value) > 0;
    const kind = Number.isNaN(value) || value === 0 ? "even" : better ? "better" : "worse";
    made.append(element("span", { class: "difference " + kind }, signed(value, of.about(state.s).digits)));
  }
  return made;
}

function choose(row, open = false) {
  state.row = row;
  const place = result.rows.indexOf(row);
  if (place >= 0) intoView(place);
  drawRows(true);
  showDetail();
  if (open) openDetail();
  remember();
}

function move(by) {
  if (!result.rows.length) return;
  const place = result.rows.indexOf(state.row);
  const next = place < 0 && by !== Infinity ? 0 : Math.min(Math.max(place + by, 0), result.rows.length - 1);
  choose(result.rows[next]);
}

function listenToList() {
  const list = byId("list");
  let waiting = false;
  list.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawRows(); });
  });
  new ResizeObserver(() => drawRows()).observe(list);
  list.addEventListener("click", (event) => {
    const item = event.target.closest(".item");
    if (item) choose(Number(item.dataset.row), true);
  });
}

