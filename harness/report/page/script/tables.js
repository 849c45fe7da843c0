// Score tables: a click on a head sorts by its column, a second one turns the order round.

function sortTable(head) {
  const table = head.closest("table"), place = head.cellIndex;
  const before = head.getAttribute("aria-sort"), text = place === 0;
  const lower = head.querySelector(".lower") !== null;
  const first = text || lower ? "ascending" : "descending";
  const order = before === "none" ? first : before === "ascending" ? "descending" : "ascending";
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("part")).sort((x, y) => {
      if (text) return sign * x.cells[0].textContent.localeCompare(y.cells[0].textContent);
      const [a, b] = [x, y].map((row) => row.cells[place].dataset.value);
      if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
      return sign * (Number(a) - Number(b));
    });
    body.append(...rows);
  }
}

// What is to be pasted elsewhere; where the browser forbids it, the text is selected.
async function copyPaper(button) {
  const quote = button.closest(".paper").querySelector("blockquote");
  try { await navigator.clipboard.writeText(quote.textContent); button.textContent = "Copied"; }
  catch { getSelection().selectAllChildren(quote); button.textContent = "Selected"; }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function watchTables() {
  for (const button of document.querySelectorAll("table.sortable thead button")) {
    button.addEventListener("click", () => sortTable(button.closest("th")));
  }
  for (const button of document.querySelectorAll(".paper .copy")) button.addEventListener("click", () => copyPaper(button));
  for (const box of document.querySelectorAll(".show-more")) {
    box.addEventListener("change", () => box.closest(".dataset").classList.toggle("with-more", box.checked));
  }
}

