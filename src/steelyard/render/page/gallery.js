// Images: a threshold that moves counts, curve, confusion matrix and marks together; legends that hide a kind of mark;
// images by kind of error; a swipe between two models. Without it the page shows the default threshold, and both models.
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // legends
  for (const gallery of all(".gallery")) {
    for (const entry of all(".key .entry", gallery)) {
      const press = make("button", { type: "button", class: "entry", "aria-pressed": "true" }, ...entry.childNodes);
      press.addEventListener("click", () => {
        const shown = press.getAttribute("aria-pressed") !== "true";
        press.setAttribute("aria-pressed", String(shown));
        gallery.classList.toggle("no-" + entry.dataset.state, !shown);
      });
      entry.replaceWith(press);
    }
  }

  // the swipe
  for (const figure of all(".swipe")) {
    const [first, second] = all(".side", figure);
    if (!second) continue;
    const names = [first.dataset.model, second.dataset.model];
    const range = make("input", { type: "range", min: "0", max: "100", value: "50", "aria-label": `Swipe between ${names[0]} and ${names[1]}` });
    const line = make("span", { class: "divide", "aria-hidden": "true" });
    const drawings = [first, second].map(side => side.querySelector("svg"));
    const stack = make("div", { class: "stack" }, make("div", { class: "layer" }, drawings[0]));
    const over = make("div", { class: "layer over" }, drawings[1]);
    stack.append(over, line);
    const texts = [first, second].map(side => side.querySelector("p"));
    figure.querySelector(".sides").replaceChildren(stack, range, make("div", { class: "names" }, ...texts));
    figure.classList.add("live");
    range.addEventListener("input", () => {
      over.style.clipPath = `inset(0 0 0 ${range.value}%)`;
      line.style.left = range.value + "%";
      range.setAttribute("aria-valuetext", `${range.value} % ${names[0]}, ${100 - range.value} % ${names[1]}`);
    });
    range.dispatchEvent(new Event("input"));
  }

  // the threshold
  const source = document.getElementById("sweep-data"), gallery = document.querySelector(".gallery[data-threshold]");
  const data = source ? JSON.parse(source.textContent) : null;
  let step = data ? data.start : 0;

  const cells = new Map();  // of the chart of the confusion matrix, in all its widths
  const key = (row, column) => row + "\0" + column;
  for (const shape of all("#figure-confusion [data-row]")) {
    const name = key(shape.dataset.row, shape.dataset.column);
    if (!cells.has(name)) cells.set(name, { row: shape.dataset.row, column: shape.dataset.column, shapes: [], texts: [] });
    cells.get(name)[shape.tagName === "text" ? "texts" : "shapes"].push(shape);
  }
  const code = name => { const at = data.classes.indexOf(name); return at < 0 ? data.classes.length : at; };

  function mark() {
    const score = data.scores[step];
    for (const element of all("#images .mark[data-s]")) {
      const below = Number(element.dataset.s) < score;
      if (element.dataset.r === "p") element.classList.toggle("below", below);
      else if (!element.classList.contains("nc")) { element.classList.toggle("fn", below); element.classList.toggle("gt", !below); }
    }
    for (const shot of all("#images .shot")) {
      const count = kind => all(".mark." + kind + ":not(.below)", shot).length;
      const text = `${count("tp")} TP, ${count("fp")} FP, ${count("fn")} FN`;
      shot.querySelector(".count").textContent = text;
      shot.querySelector("svg").setAttribute("aria-label", shot.querySelector("figcaption").firstChild.textContent + ": " + text);
    }
  }

  function confuse() {
    if (!data.cells.length || !cells.size) return;
    const counts = new Map(), size = data.classes.length + 1, row = data.cells[step];
    for (let i = 0; i < row.length; i += 3) counts.set(row[i] * size + row[i + 1], row[i + 2]);
    const sums = new Map();
    for (const cell of cells.values()) {
      cell.count = counts.get(code(cell.row) * size + code(cell.column)) || 0;
      sums.set(cell.row, (sums.get(cell.row) || 0) + cell.count);
    }
    for (const cell of cells.values()) {
      const share = sums.get(cell.row) ? cell.count / sums.get(cell.row) : 0;
      for (const shape of cell.shapes) {
        shape.setAttribute("fill-opacity", (0.04 + 0.91 * share).toFixed(2));
        const title = shape.querySelector("title");
        if (title) title.textContent = `true: ${cell.row}\npredicted: ${cell.column}\n${cell.count} (${Number((100 * share).toPrecision(3))} %)`;
        label(cell, shape);
      }
      for (const text of cell.texts) {
        text.textContent = cell.count ? String(cell.count) : "";
        text.setAttribute("class", share > 0.7 ? "f-paper" : "f-ink");
      }
    }
  }

  function label(cell, shape) {
    const press = cell.row !== cell.column || cell.count;
    shape.setAttribute("role", "button");
    shape.setAttribute("tabindex", press && cell.count ? "0" : "-1");
    shape.setAttribute("aria-label", `true ${cell.row}, predicted ${cell.column}: ${cell.count}. Show images.`);
  }

  // images of a cell or of a kind of error
  let wanted = null;
  const note = gallery && gallery.querySelector(".filter");
  function holds(tags) {
    if (wanted.error) return tags.includes("error:" + wanted.error);
    return tags.some(tag => {
      if (!tag.startsWith(wanted.cell + ":")) return false;
      const [from, to] = tag.slice(wanted.cell.length + 1).split("-").map(Number);
      return step >= from && step <= to;
    });
  }
  function filter() {
    if (!gallery) return;
    let count = 0;
    for (const shot of all(".shot", gallery)) {
      let some = false;
      for (const element of all(".mark", shot)) {
        const hit = Boolean(wanted) && !element.classList.contains("below") && holds((element.dataset.t || "").split("|"));
        element.classList.toggle("wanted", hit);
        some = some || hit;
      }
      shot.hidden = Boolean(wanted) && !some;
      if (!shot.hidden) count++;
    }
    const more = gallery.querySelector(".more");
    gallery.classList.toggle("filtered", Boolean(wanted));
    if (more && wanted) { more.open = true; more.hidden = !all(".more .shot", gallery).some(shot => !shot.hidden); }
    else if (more) more.hidden = false;
    note.hidden = !wanted;
    note.querySelector("output").textContent = wanted ? `${wanted.text}: ${count} ${count === 1 ? "image" : "images"} of the gallery.` : "";
    for (const shape of all("[data-row], [data-name]")) shape.classList.toggle("picked", Boolean(wanted) && wanted.shapes.includes(shape));
  }
  function show(next) {
    wanted = next;
    filter();
    if (!next) return;
    document.getElementById("images").scrollIntoView();
    note.querySelector("button").focus({ preventScroll: true });
  }
  const pressed = (shape, go) => {
    shape.classList.add("press");
    shape.addEventListener("click", go);
    shape.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      go();
    });
  };
  let back = null;
  if (gallery && data) {
    note.querySelector("button").addEventListener("click", () => { show(null); if (back) back.focus(); back = null; });
    for (const cell of cells.values()) {
      for (const shape of cell.shapes) pressed(shape, () => {
        back = shape;
        const words = cell.row === cell.column ? `${cell.row} found` : `True ${cell.row}, predicted ${cell.column}`;
        show({ cell: `cell:${code(cell.row)}>${code(cell.column)}`, text: words, shapes: cell.shapes });
      });
    }
    const bars = all("#figure-errors [data-name]");
    for (const bar of bars) {
      bar.setAttribute("role", "button");
      bar.setAttribute("tabindex", "0");
      bar.setAttribute("aria-label", bar.querySelector("title").textContent + ". Show images.");
      pressed(bar, () => {
        back = bar;
        show({ error: bar.dataset.name, text: bar.dataset.name, shapes: bars.filter(one => one.dataset.name === bar.dataset.name) });
      });
    }

    const range = document.getElementById("threshold"), panel = document.querySelector(".sweep");
    const part = name => panel.querySelector(`[data-of="${name}"]`), point = part("point");
    const figure = document.getElementById("figure-confusion");
    const said = figure && data.cells.length ? figure.appendChild(make("p", { class: "legend" })) : null;
    range.closest(".control").hidden = false;
    const move = () => {
      step = Number(range.value);
      const [tp, fp, fn] = data.counts[step], rate = (a, b) => b ? (a / b).toFixed(3) : "–";
      const values = { score: String(data.scores[step]), TP: tp, FP: fp, FN: fn, precision: rate(tp, tp + fp), recall: rate(tp, tp + fn), F1: rate(2 * tp, 2 * tp + fp + fn) };
      for (const [name, value] of Object.entries(values)) part(name).textContent = value;
      range.setAttribute("aria-valuetext", values.score);
      panel.querySelector("output").textContent = `Score from ${values.score}: ${tp} true positives, ${fp} false positives, ${fn} missed, precision ${values.precision}, recall ${values.recall}.`;
      point.toggleAttribute("hidden", !(tp + fp));
      if (tp + fp && tp + fn) { point.setAttribute("cx", 28 + 200 * tp / (tp + fn)); point.setAttribute("cy", 8 + 200 * (1 - tp / (tp + fp))); }
      if (said) said.textContent = step === data.start ? "" : `The chart now shows score ${values.score}.`;
      mark();
      confuse();
      if (wanted) filter();
    };
    range.addEventListener("input", move);
    if (step !== Number(range.value)) range.value = String(step);
    confuse();
  }
})();
