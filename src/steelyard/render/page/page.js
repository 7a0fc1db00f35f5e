"use strict";
// Theme, definitions that Escape closes, and tables that sort. The page reads well without any of it.
(() => {
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  let theme = "auto";
  const show = () => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
    document.dispatchEvent(new Event("themechange"));
  };
  try { theme = themes.includes(localStorage.getItem("steelyard-theme")) ? localStorage.getItem("steelyard-theme") : "auto"; } catch (e) { /* a page from disk may have no storage */ }
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("steelyard-theme", theme); } catch (e) { /* as above */ }
    show();
  });
  show();

  const open = (term, yes) => { if (term) term.classList.toggle("closed", !yes); };
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") document.querySelectorAll(".term").forEach(term => open(term, false));
  });
  for (const term of document.querySelectorAll(".term")) {
    const fresh = () => {
      open(term, true);
      const tip = term.querySelector("[role=tooltip]"), at = term.getBoundingClientRect();
      const wide = document.documentElement.clientWidth, tall = document.documentElement.clientHeight;
      tip.style.left = Math.max(8, Math.min(at.left, wide - tip.offsetWidth - 8)) + "px";
      const below = at.bottom + 6, above = at.top - tip.offsetHeight - 6;
      tip.style.top = (below + tip.offsetHeight > tall && above > 0 ? above : below) + "px";
    };
    term.addEventListener("pointerenter", fresh);
    term.addEventListener("focusin", fresh);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      if (head.querySelector(".unseen")) return;
      const press = document.createElement("button");
      press.type = "button";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => sort(table, heads, place));
    });
  }
  function sort(table, heads, place) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const number = rows.some(row => row.cells[place].dataset.v !== undefined);
    const before = heads[place].getAttribute("aria-sort");
    const up = before ? before === "descending" : !number;
    const key = row => {
      const cell = row.cells[place];
      if (!number) return cell.textContent;
      return cell.dataset.v ? Number(cell.dataset.v) : NaN;
    };
    const words = new Intl.Collator(undefined, { numeric: true });
    const keyed = rows.map(row => [key(row), row]);
    keyed.sort(([a], [b]) => {
      if (!number) return up ? words.compare(a, b) : words.compare(b, a);
      if (a !== a || b !== b) return (a !== a) - (b !== b);  // undefined comes last
      return up ? a - b : b - a;
    });
    body.append(...keyed.map(([, row]) => row));
    heads.forEach(head => head.removeAttribute("aria-sort"));
    heads[place].setAttribute("aria-sort", up ? "ascending" : "descending");
  }
})();
