// The start: what is above is there already; the examples are read after the first paint, those of a small report before.

async function start() {
  watchTheme();
  watchTables();
  watchKeys();
  watchCharts();
  if (!isPlain("index")) await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  const index = await unpackedJson("index");
  groups = index.groups.map((info, place) => new Group(info, place));
  listen();
  listenToList();
  reset(0);
  const linked = await readAddress(location.hash.slice(1));
  await group().read();
  const chosen = state.row !== null;
  refresh({ keep: chosen, silent: !linked });
  if (chosen) openDetail();
  if (linked) byId("examples").scrollIntoView();
  byId("explorer").setAttribute("aria-busy", "false");
  addEventListener("hashchange", async () => {
    if (location.hash.slice(1) === address) return;
    if (await readAddress(location.hash.slice(1))) {
      refresh({ keep: state.row !== null });
      openDetail();
      byId("examples").scrollIntoView();
    }
  });
}

start();
