// Watches the folder: asks for a small state, and exchanges what has changed in the page. Without it, reload the page.
(() => {
  const main = document.querySelector("main[data-version]"), news = document.getElementById("news");
  if (!main || !news) return;
  const every = 1000 * Number(main.dataset.every || 5);
  let version = main.dataset.version, busy = false;
  const runs = root => new Map([...root.querySelectorAll("tr[data-run]")].map(row => [row.dataset.run, row.dataset.name]));
  const keyOf = e => e && e !== document.body ? [e.tagName, e.id, e.getAttribute("name"), e.getAttribute("value"), e.getAttribute("href")].join("|") : "";
  function exchange(page) {
    const old = runs(document), ticks = new Map([...document.querySelectorAll("input[name=run]")].map(e => [e.value, e.checked]));
    const key = keyOf(document.activeElement), before = Number(main.dataset.count || 0);
    const next = page.querySelector("main");
    const parts = ["top", "list", "foreign", "bar"].map(id => [document.getElementById(id), page.getElementById(id)]);
    if (parts.every(([a, b]) => !a === !b)) parts.forEach(([a, b]) => a && a.replaceWith(b));
    else main.replaceChildren(...next.childNodes);
    document.querySelector("h1").textContent = page.querySelector("h1").textContent;
    document.title = page.title;
    for (const box of document.querySelectorAll("input[name=run]")) if (ticks.has(box.value)) box.checked = ticks.get(box.value);
    if (key && keyOf(document.activeElement) !== key)
      for (const e of main.querySelectorAll("a, button, input, select, [tabindex]")) if (keyOf(e) === key) { e.focus({preventScroll: true}); break; }
    Object.assign(main.dataset, {version: next.dataset.version, count: next.dataset.count});
    const added = [...runs(document)].filter(([id]) => !old.has(id)), more = Number(next.dataset.count) - before;
    for (const [id] of added) main.querySelector(`tr[data-run="${id}"]`).classList.add("new");
    const count = more > 0 ? `${more} new ${more === 1 ? "result" : "results"}` : "The results have changed";
    news.textContent = count + (more > 0 && added.length ? `: ${added.slice(0, 3).map(([, name]) => name).join(", ")}${added.length > 3 ? ", ..." : ""}` : "") + ".";
  }
  async function look() {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const state = await (await fetch(main.dataset.state, {cache: "no-store"})).json();
      if (state.version !== version) {
        const answer = await fetch(location.href, {cache: "no-store"});
        if (answer.ok) {
          exchange(new DOMParser().parseFromString(await answer.text(), "text/html"));
          version = main.dataset.version;
        }
      }
    } catch { /* the server has stopped: ask again later */ }
    busy = false;
  }
  setInterval(look, every);
  document.addEventListener("visibilitychange", look);
})();
