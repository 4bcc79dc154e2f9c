// Makes the columns of tables sortable. Without this script the tables are whole, only not sortable.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const original = [...body.rows];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (before === "descending") {
        body.append(...original);
        return;
      }
      const direction = before === "ascending" ? -1 : 1;
      heading.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      const numeric = heading.classList.contains("number");
      const value = (row) => (numeric ? parseFloat(row.cells[column].dataset.value) : row.cells[column].textContent);
      const missing = (key) => (numeric ? Number.isNaN(key) : key === "\u2013");
      const rows = [...original].sort((first, second) => {
        const a = value(first);
        const b = value(second);
        // What is missing stays at the end, whichever way one sorts.
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return direction * (numeric ? a - b : a.localeCompare(b));
      });
      body.append(...rows);
    });
  });
}
