// The keyboard.

const typing = (node) => node && (node.matches("input, textarea") || node.isContentEditable);

function quick(sort) {
  if (!sorts().some(([name]) => name === sort)) return;
  Object.assign(state, { sort, up: false, from: "", to: "" });
  refresh();
  if (result.rows.length) choose(result.rows[0]);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = document.activeElement, { key } = event;
  if (byId("help").open || !groups.length || !group().ready) return;
  if (key === "Escape") {
    if (typing(at) || (at && at.matches("select"))) byId("list").focus();
    else closeDetail(true);
    return;
  }
  if (typing(at)) {
    if (at === byId("q") && (key === "Enter" || key === "ArrowDown")) { byId("list").focus(); if (state.row === null) move(1); event.preventDefault(); }
    return;
  }
  const inSelect = at && at.matches("select");
  const inExplorer = at === byId("list");
  const act = {
    "/": () => { byId("q").focus(); byId("q").select(); },
    "?": () => byId("help").showModal(),
    j: () => move(1),
    k: () => move(-1),
    w: () => quick("wins"),
    l: () => quick("losses"),
    ...(inExplorer ? {
      ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(10), PageUp: () => move(-10),
      Home: () => move(-Infinity), End: () => move(Infinity),
      Enter: () => { if (state.row === null) move(1); openDetail(); byId("detail").focus({ preventScroll: true }); },
    } : {}),
    ...Object.fromEntries(VIEWS.map((view, i) => [String(i + 1), () => { if (state.row !== null && (view !== "contexts" || group().contextual)) mark(view); }])),
  }[key];
  if (!act || inSelect) return;
  event.preventDefault();
  act();
  if (["j", "k", "w", "l"].includes(key)) byId("explorer").scrollIntoView({ block: "nearest" });
}

function watchKeys() {
  document.addEventListener("keydown", onKey);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
}

