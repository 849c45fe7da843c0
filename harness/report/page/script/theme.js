// Light, dark, or as the system has it; remembered by the browser where it may.

const THEMES = ["auto", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let printing = false; // paper is white
const isDark = () => {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
};

function remembered(value) {
  try {
    if (value === undefined) return localStorage.getItem("harness-theme") || "auto";
    localStorage.setItem("harness-theme", value);
  } catch { /* not every browser keeps things for files */ }
  return value || "auto";
}

function useTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const colours = { auto: "as the system has them", light: "light", dark: "dark" }[theme];
  byId("theme").textContent = "\u25d0 " + theme[0].toUpperCase() + theme.slice(1);
  byId("theme").setAttribute("aria-label", "Colours: " + colours);
  redrawCharts();
}

function watchTheme() {
  let theme = THEMES.includes(remembered()) ? remembered() : "auto";
  useTheme(theme);
  byId("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remembered(theme);
    useTheme(theme);
  });
  systemDark.addEventListener("change", redrawCharts);
  const print = (now) => {
    printing = now;
    document.documentElement.toggleAttribute("data-printing", now);
    (now ? printCharts : redrawCharts)();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
}

