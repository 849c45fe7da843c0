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

// One picture at a time, chosen above.
function showFigure(place, focus = false) {
  document.querySelectorAll("#tabs button").forEach((tab, i) => {
    tab.setAttribute("aria-selected", String(i === place));
    tab.tabIndex = i === place ? 0 : -1;
    if (i === place && focus) tab.focus();
  });
  document.querySelectorAll("figure").forEach((figure, i) => { figure.hidden = i !== place; });
}

function watchTabs() {
  const figures = [...document.querySelectorAll("figure")];
  if (figures.length < 2) return;
  byId("tabs").append(...figures.map((figure, i) => {
    const tab = element("button", { type: "button", role: "tab", id: "tab-" + i, "aria-controls": figure.id }, isolated(figure.dataset.tab));
    figure.setAttribute("role", "tabpanel");
    figure.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => { showFigure(i); drawChart(figure.querySelector(".chart")); });
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = (i + by + figures.length) % figures.length;
      showFigure(next, true);
      drawChart(figures[next].querySelector(".chart"));
      event.preventDefault();
    });
    return tab;
  }));
  showFigure(0);
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

