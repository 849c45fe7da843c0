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
  const found = await embed(node, structuredClone(figures[node.dataset.figure]), {
    ast: true, renderer: "svg", defaultStyle: false, config: theme === "dark" ? dark : light, mode: "vega-lite",
    actions: { export: true, source: false, compiled: false, editor: false }, downloadFileName: "figure",
    tooltip: { disableDefaultStyle: true, theme: "page" },
  });
  node.setAttribute("data-drawn", "");
  return found;
}

const inView = new Set();

function watchCharts() {
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) { inView.add(target); drawChart(target); }
      else inView.delete(target);
    }
  }, { rootMargin: "200px" });
  for (const node of document.querySelectorAll(".chart")) seen.observe(node);
}

const redrawCharts = () => { for (const node of inView) drawChart(node); };

