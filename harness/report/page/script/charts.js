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

async function drawChart(node) {
  const [embed, { figures, light, dark }] = await loaded();
  const theme = isDark() ? "dark" : "light";
  if (node.dataset.theme === theme) return;
  node.dataset.theme = theme;
  const { name, legend, panels } = figures[node.dataset.figure];
  const options = {
    ast: true, renderer: "svg", defaultStyle: false, config: { ...(theme === "dark" ? dark : light), font: getComputedStyle(document.body).fontFamily }, mode: "vega-lite",
    tooltip: { disableDefaultStyle: true, theme: "page" }, downloadFileName: name,
  };
  const actions = { export: true, source: false, compiled: false, editor: false };
  const key = legend ? element("div", { class: "key" }) : null;
  const grid = element("div", { class: "panels" }, ...panels.map((panel) => element("div", { class: "panel" + (panel.width === "container" ? " fluid" : "") })));
  node.replaceChildren(...(key ? [key] : []), grid);
  if (key) await embed(key, legend, { ...options, actions: false });
  for (const [i, panel] of panels.entries()) await embed(grid.children[i], structuredClone(panel), { ...options, actions });
  node.setAttribute("data-drawn", theme);
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
}

const redrawCharts = () => { for (const node of inView) drawChart(node); };

