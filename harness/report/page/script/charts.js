// Charts are drawn when they come into view: the library is unpacked once, with the first of them.

let library = null, charts = null;

async function loaded() {
  library ||= unpackedText("library").then((source) => {
    document.head.append(element("script", {}, source)); // the policy knows it by its hash
    return globalThis.vegaEmbed;
  });
  charts ||= unpackedJson("charts");
  return [await library, await charts];
}

const GAP = 28;

// How many panels stand side by side: as many as fit, rows evenly filled, none alone in the last row. Rather than that,
// panels are narrower (matrices smaller), or the last is as wide as its row; three stand below each other. theme.py has
// the rule for files.
function across(panels, width) {
  const count = panels.length;
  const least = Math.max(...panels.map(({ usermeta }) => usermeta.least)), { beside } = panels[0].usermeta;
  const fits = (size) => Math.max(1, Math.min(count, Math.floor((width - beside + GAP) / (size + GAP))));
  const { row } = panels[0].usermeta;
  if (row) { // as many as belong together, or an even part of them
    for (let columns = row; columns > 1; columns--) if (row % columns === 0 && columns <= fits(0.6 * least)) return columns;
    return 1;
  }
  const alone = (columns) => columns > 1 && count % columns === 1;
  const even = Math.ceil(count / Math.ceil(count / fits(least)));
  if (!alone(even)) return even;
  for (let columns = even + 1; columns <= fits(0.75 * least); columns++) if (!alone(columns)) return columns;
  for (let columns = even - 1; columns > 1; columns--) if (!alone(columns)) return columns;
  return count === 3 ? 1 : even;
}

// The first panel of a row has the labels of all.
function layOut(grid, beside, columns) {
  if (grid.children.length === 1) return;
  const others = columns > 1 ? ` repeat(${columns - 1}, minmax(0, 1fr))` : "";
  const first = `minmax(0, calc(${beside}px + (100% - ${beside + (columns - 1) * GAP}px) / ${columns}))`;
  grid.style.gridTemplateColumns = beside ? first + others : `repeat(${columns}, minmax(0, 1fr))`;
  if (columns > 1 && grid.children.length % columns === 1) grid.lastElementChild.style.gridColumn = "1 / -1";
}

const CHARACTER = 6.05; // about its width, as theme.py has it

// Labels beside a panel leave most of it to what they label: they are cut in the middle, unless two would be the same.
function shortened(names, limit) {
  const shown = names.map((name) => {
    const letters = [...name], head = limit >> 1;
    return letters.length <= limit ? name : `${letters.slice(0, head).join("")}…${letters.slice(head + 1 - limit).join("")}`;
  });
  return new Set(shown).size === names.length ? shown : names;
}

// The panels for a window of this width.
function narrowed(panels, width) {
  const { beside } = panels[0].usermeta, limit = Math.floor(0.42 * width / CHARACTER);
  if (beside <= limit * CHARACTER + 12) return panels;
  return panels.map((panel) => {
    const copy = structuredClone(panel);
    for (const { encoding } of [copy, ...(copy.layer ?? [])]) {
      if (encoding?.y?.type !== "nominal") continue;
      const names = encoding.y.scale?.domain ?? [], shown = shortened(names, limit);
      const text = Object.fromEntries(names.map((name, i) => [name, shown[i]]));
      encoding.y.axis = { ...encoding.y.axis, labelExpr: `${JSON.stringify(text)}[datum.label]` };
      copy.usermeta.beside = Math.max(...shown.map((label) => label.length)) * CHARACTER + 12;
    }
    return copy;
  });
}

const SLANTED = { labelAngle: -40, labelAlign: "right", labelExpr: "replace(datum.label, '\\n', ' ')" };

// A panel as it stands in its row: with labels only in the first place, and those below it slanted where they do not fit.
function placed(panel, first, width) {
  const copy = structuredClone(panel), { beside, below } = copy.usermeta;
  for (const { encoding } of [copy, ...(copy.layer ?? [])]) {
    const { x, y } = encoding ?? {};
    if (!first && beside && y?.type === "nominal") y.axis = { ...y.axis, labels: false };
    if (!below || x?.type !== "nominal" || ![0, SLANTED.labelAngle].includes(x.axis?.labelAngle)) continue;
    x.axis = { ...x.axis, ...(below > width - 50 ? SLANTED : { labelAngle: 0, labelAlign: "center" }) };
  }
  return copy;
}

async function drawChart(node) {
  const [embed, { figures, light, dark }] = await loaded();
  const theme = isDark() ? "dark" : "light", look = printing ? "print" : theme;
  if (node.dataset.look === look || !node.clientWidth) return; // drawn, or of another tab by now
  node.dataset.look = look;
  node.removeAttribute("data-drawn");
  const { name, legends } = figures[node.dataset.figure];
  const panels = narrowed(figures[node.dataset.figure].panels, node.clientWidth);
  const options = {
    ast: true, renderer: "svg", defaultStyle: false, config: { ...(theme === "dark" ? dark : light), font: getComputedStyle(document.body).fontFamily }, mode: "vega-lite",
    tooltip: { disableDefaultStyle: true, theme: "page" }, downloadFileName: name,
  };
  const actions = { export: true, source: false, compiled: false, editor: false };
  const columns = across(panels, node.clientWidth);
  node.dataset.columns = columns;
  const legend = legends[node.clientWidth > 1040 ? 0 : legends.length - 1];
  const key = legend ? element("div", { class: "key" }) : null;
  const grid = element("div", { class: "panels" }, ...panels.map((panel) => element("div", { class: "panel" + (panel.width === "container" ? " fluid" : "") })));
  layOut(grid, panels[0].usermeta.beside, columns);
  node.replaceChildren(...(key ? [key] : []), grid);
  if (key) await embed(key, legend, { ...options, actions: false });
  for (const [i, panel] of panels.entries()) {
    if (node.dataset.look !== look) return; // chosen anew meanwhile
    await embed(grid.children[i], placed(panel, i % columns === 0, grid.children[i].clientWidth), { ...options, actions });
    const drawn = grid.children[i].querySelector("svg.marks"); // a matrix shrinks where it is too wide, but stays legible
    drawn?.style.setProperty("--drawn", `${drawn.getAttribute("width")}px`);
  }
  if (node.dataset.look === look) node.setAttribute("data-drawn", theme);
}

const inView = new Set();

// The pictures of one kind at a time, chosen above.
function showFigures(kind, focus = false) {
  for (const tab of document.querySelectorAll("#tabs button")) {
    const chosen = tab.dataset.tab === kind;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) tab.focus();
  }
  for (const figure of document.querySelectorAll("figure")) figure.hidden = figure.dataset.tab !== kind;
}

function watchTabs() {
  const kinds = [...new Set([...document.querySelectorAll("figure")].map((figure) => figure.dataset.tab))];
  if (kinds.length < 2) return;
  const choose = (kind, focus) => {
    showFigures(kind, focus);
    drawChart(document.querySelector("figure:not([hidden]) .chart"));
  };
  byId("tabs").append(...kinds.map((kind, i) => {
    const tab = element("button", { type: "button", role: "tab", "data-tab": kind, "aria-controls": "figures" }, isolated(kind));
    tab.addEventListener("click", () => choose(kind));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      choose(kinds[(i + by + kinds.length) % kinds.length], true);
      event.preventDefault();
    });
    return tab;
  }));
  showFigures(kinds[0]);
}

function watchCharts() {
  watchTabs();
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) { inView.add(target); drawChart(target); }
      else inView.delete(target);
    }
  }, { rootMargin: "200px" });
  for (const node of document.querySelectorAll(".chart")) seen.observe(node);
  if (document.querySelector(".chart")) (globalThis.requestIdleCallback ?? setTimeout)(loaded); // for printCharts
}

// In a window of another width other panels may stand side by side.
let resized = 0;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(async () => {
    for (const node of inView) {
      if (!node.dataset.columns) continue;
      const [, { figures }] = await loaded();
      if (String(across(narrowed(figures[node.dataset.figure].panels, node.clientWidth), node.clientWidth)) === node.dataset.columns) continue;
      delete node.dataset.look;
      drawChart(node);
    }
  }, 200);
});

const redrawCharts = () => { for (const node of inView) drawChart(node); };

// All figures, as wide as paper. Paper waits for promises alone, so the library must be there by now.
const printCharts = () => { for (const node of document.querySelectorAll(".chart")) drawChart(node); };

