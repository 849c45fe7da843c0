// Score tables: a click on a head sorts by its column, a second one turns the order round.

function sortTable(head) {
  const table = head.closest("table"), place = head.cellIndex, body = table.tBodies[0];
  const before = head.getAttribute("aria-sort"), text = place === 0;
  const lower = head.querySelector(".lower") !== null;
  const first = text || lower ? "ascending" : "descending";
  const order = before === "none" ? first : before === "ascending" ? "descending" : "ascending";
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...body.rows].sort((x, y) => {
    if (text) return sign * x.cells[0].textContent.localeCompare(y.cells[0].textContent);
    const [a, b] = [x, y].map((row) => row.cells[place].dataset.value);
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
    return sign * (Number(a) - Number(b));
  });
  body.append(...rows);
}

function watchTables() {
  for (const button of document.querySelectorAll("table.sortable thead button")) {
    button.addEventListener("click", () => sortTable(button.closest("th")));
  }
  for (const box of document.querySelectorAll(".show-more")) {
    box.addEventListener("change", () => box.closest(".dataset").classList.toggle("with-more", box.checked));
  }
}

