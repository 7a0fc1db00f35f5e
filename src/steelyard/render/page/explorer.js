// The explorer: typed columns that lie compressed in the page, filtered and sorted as arrays, of which only the rows in
// sight are elements. Texts are places in a list of names, so that a search looks at each name once.
(() => {
  const HEIGHT = 32, TALLEST = 8e6, CHOICES = 100, BINS = 60, SERIES = 8;
  const words = new Intl.Collator(undefined, { numeric: true });

  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element && name !== "role") element[name] = value; else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  async function unpack(text) {
    let bytes;
    if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(text);
    else {
      const raw = atob(text);
      bytes = new Uint8Array(raw.length);
      for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    const size = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    let at = 4 + size;
    const all = new Uint8Array(buffer);
    for (const column of head.columns) {
      const width = Number(column.type[1]), rows = head.rows;
      const planes = all.subarray(at, at + width * rows);
      at += width * rows;
      column.values = together(planes, width, rows, column.type);
      column.number = !column.names;
      column.whole = column.number && column.type[0] === "u";
      column.offset = column.offset || 0;
    }
    return head;
  }

  function together(planes, width, rows, type) {
    if (width === 1) return planes;
    const bytes = new Uint8Array(width * rows);
    for (let w = 0; w < width; w++) {
      const start = w * rows;
      for (let i = 0, j = w; i < rows; i++, j += width) bytes[j] = planes[start + i];
    }
    const kinds = { u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
    return new kinds[type](bytes.buffer);
  }

  // Keys of 32 bits whose order is the column's; undefined is last whichever way.
  function keys(column, rows, up) {
    const out = new Uint32Array(rows), values = column.values;
    if (column.names) {
      if (!column.ranks) {
        const order = column.names.map((_, i) => i).sort((a, b) => words.compare(column.names[a], column.names[b]));
        column.ranks = new Uint32Array(order.length);
        order.forEach((name, rank) => { column.ranks[name] = rank; });
      }
      for (let i = 0; i < rows; i++) out[i] = column.ranks[values[i]];
    } else if (column.type[0] === "u") {
      for (let i = 0; i < rows; i++) out[i] = values[i];
    } else {
      const single = new Float32Array(1), bits = new Uint32Array(single.buffer);
      for (let i = 0; i < rows; i++) {
        if (values[i] !== values[i]) { out[i] = 0xffffffff; continue; }
        single[0] = values[i];
        const b = bits[0];
        let k = b & 0x80000000 ? ~b >>> 0 : (b | 0x80000000) >>> 0;
        if (!up) k = ~k >>> 0;
        out[i] = k === 0xffffffff ? 0xfffffffe : k;
      }
      return out;
    }
    if (!up) for (let i = 0; i < rows; i++) out[i] = ~out[i] >>> 0;
    return out;
  }

  function sorted(key, rows) {  // by radix, stable
    let from = new Uint32Array(rows), to = new Uint32Array(rows);
    for (let i = 0; i < rows; i++) from[i] = i;
    for (const shift of [0, 16]) {
      const counts = new Uint32Array(65537);
      for (let i = 0; i < rows; i++) counts[((key[i] >>> shift) & 0xffff) + 1]++;
      if (counts.some(c => c === rows)) continue;
      for (let i = 0; i < 65536; i++) counts[i + 1] += counts[i];
      for (let i = 0; i < rows; i++) { const row = from[i]; to[counts[(key[row] >>> shift) & 0xffff]++] = row; }
      [from, to] = [to, from];
    }
    return from;
  }

  const shown = (column, row) => {
    const value = column.values[row];
    if (column.names) return column.names[value];
    if (column.whole) return String(value + column.offset);
    if (value !== value) return "–";
    if (!isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    const text = size >= 10000 ? value.toFixed(0) : size >= 1e-4 || value === 0 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
    return text.replace("-", "−");
  };

  function explore(place, data) {
    const rows = data.rows, columns = data.columns;
    const numbers = columns.filter(c => c.number);
    const state = { text: "", choices: new Map(), column: numbers.find(c => c.name === data.x) || numbers[0], low: null, high: null, by: null, up: true };
    let order = null, view = new Uint32Array(rows), count = 0, active = 0;

    // the bar of filters
    const search = make("input", { type: "search", placeholder: "any text" });
    const bar = make("div", { className: "bar", role: "search" }, make("label", {}, "Find", search));
    if (!columns.some(c => c.names)) bar.firstChild.hidden = true;
    for (const column of columns) {
      if (!column.names || column.names.length > CHOICES || column.names.length < 2 || column.names.length * 2 > rows) continue;
      const select = make("select", {}, make("option", { value: "" }, "all"));
      column.names.map((name, i) => [name, i]).sort(([a], [b]) => words.compare(a, b))
        .forEach(([name, i]) => select.append(make("option", { value: String(i) }, name)));
      select.addEventListener("change", () => {
        if (select.value === "") state.choices.delete(column); else state.choices.set(column, Number(select.value));
        filter();
      });
      bar.append(make("label", {}, column.name, select));
    }
    const pick = make("select", {}, ...numbers.map((c, i) => make("option", { value: String(i) }, c.name)));
    const low = make("input", { type: "number", step: "any", placeholder: "least" });
    const high = make("input", { type: "number", step: "any", placeholder: "most" });
    if (state.column) {
      pick.value = String(numbers.indexOf(state.column));
      bar.append(make("label", {}, "Number", pick), make("label", {}, "from", low), make("label", {}, "to", high));
    }
    const reset = make("button", { type: "button", className: "plain" }, "Reset");
    const save = make("button", { type: "button", className: "plain" }, "Save as CSV");
    const said = make("output", { "aria-live": "polite" });
    bar.append(reset, save, said);

    const canvas = make("canvas", { role: "img" });
    const head = make("div", { className: "row head", role: "row" });
    const space = make("div", { className: "space", role: "presentation" });
    const body = make("div", { className: "body", role: "rowgroup", tabIndex: 0 }, space);
    const grid = make("div", { className: "grid", role: "grid", "aria-rowcount": String(rows + 1), "aria-colcount": String(columns.length) },
      make("div", { role: "rowgroup" }, head), body);
    grid.setAttribute("aria-label", data.title);
    const note = rows < data.of ? make("p", { className: "legend" }, `The first ${rows.toLocaleString("en")} of ${data.of.toLocaleString("en")} rows.`) : "";
    place.replaceChildren(make("h3", {}, data.title), bar, ...(state.column ? [canvas] : []), grid, note);

    const widths = columns.map(c => {
      const longest = c.names ? c.names.slice(0, 500).reduce((n, name) => Math.max(n, name.length), 0) : 7;
      return Math.min(30, Math.max(longest, c.name.length + 2, 6));
    });
    const least = widths.map(w => w * 0.54 + 1.9);
    const template = widths.map((w, i) => `minmax(${least[i]}rem, ${w}fr)`).join(" ");
    head.style.gridTemplateColumns = template;
    head.style.minWidth = body.style.minWidth = least.reduce((a, b) => a + b, 0) + "rem";
    const heads = columns.map((column, i) => {
      const press = make("button", { type: "button" }, column.name);
      const cell = make("div", { role: "columnheader", className: column.number ? "n" : "", title: column.name }, press);
      cell.setAttribute("aria-colindex", String(i + 1));
      press.addEventListener("click", () => {
        state.up = state.by === column ? !state.up : !column.number;
        state.by = column;
        order = sorted(keys(column, rows, state.up), rows);
        heads.forEach(h => h.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", state.up ? "ascending" : "descending");
        filter();
      });
      head.append(cell);
      return cell;
    });

    function filter() {
      const tests = [];
      for (const [column, code] of state.choices) {
        const allow = new Uint8Array(column.names.length);
        allow[code] = 1;
        tests.push([column.values, allow]);
      }
      const wanted = state.text.toLowerCase();
      let any = null;
      if (wanted) {
        any = columns.filter(c => c.names).map(column => {
          const allow = new Uint8Array(column.names.length);
          let some = false;
          column.names.forEach((name, i) => { if (name.toLowerCase().includes(wanted)) { allow[i] = 1; some = true; } });
          return some ? [column.values, allow] : null;
        }).filter(Boolean);
      }
      const c = state.column, least = state.low === null || !c ? -Infinity : state.low - c.offset, most = state.high === null || !c ? Infinity : state.high - c.offset;
      const ranged = c && (state.low !== null || state.high !== null) ? c.values : null;
      count = 0;
      next: for (let i = 0; i < rows; i++) {
        const row = order ? order[i] : i;
        if (ranged && !(ranged[row] >= least && ranged[row] <= most)) continue;
        for (let t = 0; t < tests.length; t++) if (!tests[t][1][tests[t][0][row]]) continue next;
        if (any) {
          let passes = false;
          for (let t = 0; t < any.length && !passes; t++) passes = any[t][1][any[t][0][row]] === 1;
          if (!passes) continue;
        }
        view[count++] = row;
      }
      active = 0;
      body.scrollTop = 0;
      said.textContent = count === rows ? `${rows.toLocaleString("en")} rows` : `${count.toLocaleString("en")} of ${rows.toLocaleString("en")} rows`;
      grid.setAttribute("aria-rowcount", String(count + 1));
      lay();
      paint();
    }

    // Only rows in sight are elements. A list taller than a browser allows is scrolled in proportion.
    const lines = [];
    const full = () => Math.min(TALLEST, Math.max(1, count) * HEIGHT);
    const first = () => {
      const seen = body.clientHeight, reach = full() - seen;
      const least = body.scrollTop, all = count * HEIGHT - seen;
      return reach <= 0 ? 0 : full() === count * HEIGHT ? Math.floor(least / HEIGHT) : Math.floor(Math.min(1, least / reach) * all / HEIGHT);
    };
    function lay() {
      space.style.height = full() + "px";
      body.style.height = Math.min(11, Math.max(1, count)) * HEIGHT + "px";
      const start = Math.max(0, Math.min(first(), count - 1)), need = Math.min(count - start, Math.ceil(body.clientHeight / HEIGHT) + 1);
      while (lines.length < need) {
        const line = make("div", { className: "row", role: "row" }, ...columns.map((c, i) => {
          const cell = make("div", { role: "gridcell", className: c.number ? "n" : "" });
          cell.setAttribute("aria-colindex", String(i + 1));
          return cell;
        }));
        line.style.gridTemplateColumns = template;
        line.id = `${place.dataset.listing}-line-${lines.length}`;
        space.append(line);
        lines.push(line);
      }
      const proportional = full() !== count * HEIGHT;
      lines.forEach((line, i) => {
        line.hidden = i >= need;
        line.style.display = i >= need ? "none" : "";
        if (i >= need) return;
        const at = start + i, row = view[at];
        line.style.top = (proportional ? body.scrollTop + i * HEIGHT : at * HEIGHT) + "px";
        line.setAttribute("aria-rowindex", String(at + 2));
        line.setAttribute("aria-selected", String(at === active));
        if (at === active) body.setAttribute("aria-activedescendant", line.id);
        columns.forEach((column, j) => {
          const cell = line.children[j], text = shown(column, row);
          if (cell.textContent !== text) { cell.textContent = text; cell.title = column.names && text.length > 24 ? text : ""; }
        });
      });
    }
    function go(to) {
      active = Math.max(0, Math.min(count - 1, to));
      const seen = Math.max(1, Math.floor(body.clientHeight / HEIGHT)), start = first();
      if (active < start || active >= start + seen) {
        const top = active < start ? active : active - seen + 1;
        const reach = full() - body.clientHeight, all = count * HEIGHT - body.clientHeight;
        body.scrollTop = full() === count * HEIGHT ? top * HEIGHT : top * HEIGHT / all * reach;
      }
      lay();
    }
    body.addEventListener("scroll", () => requestAnimationFrame(lay));
    body.addEventListener("keydown", event => {
      const page = Math.max(1, Math.floor(body.clientHeight / HEIGHT) - 1);
      const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: count - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    });

    // the picture: how the rows in the filter are spread over the chosen number
    const colour = columns.find(c => c.name === data.colour && c.names && c.names.length <= SERIES) || null;
    let span = [0, 1];
    function extent(column) {
      if (column.span) return column.span;
      let least = Infinity, most = -Infinity;
      const values = column.values;
      for (let i = 0; i < rows; i++) { const v = values[i]; if (v < least && v > -Infinity) least = v; if (v > most && v < Infinity) most = v; }
      if (least > most) [least, most] = [0, 1];
      column.span = [least + column.offset, most + column.offset];
      return column.span;
    }
    function paint() {
      if (!state.column) return;
      const column = state.column, kinds = colour ? colour.names.length : 1;
      span = extent(column);
      const [least, most] = span, width = (most - least) / BINS || 1;
      const bins = new Uint32Array(BINS * kinds), values = column.values, off = column.offset;
      for (let i = 0; i < count; i++) {
        const row = view[i], v = values[row] + off;
        if (v !== v || v < least || v > most) continue;
        bins[Math.min(BINS - 1, Math.floor((v - least) / width)) * kinds + (colour ? colour.values[row] : 0)]++;
      }
      const css = getComputedStyle(canvas), scale = devicePixelRatio || 1;
      const w = canvas.clientWidth, h = canvas.clientHeight;
      canvas.width = w * scale;
      canvas.height = h * scale;
      const pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      pen.font = "11px system-ui, sans-serif";
      let tallest = 1;
      for (let b = 0; b < BINS; b++) { let sum = 0; for (let k = 0; k < kinds; k++) sum += bins[b * kinds + k]; tallest = Math.max(tallest, sum); }
      const bottom = h - 20, upper = colour ? 20 : 8, step = w / BINS;
      for (let b = 0; b < BINS; b++) {
        let y = bottom;
        for (let k = 0; k < kinds; k++) {
          const tall = (bottom - upper) * bins[b * kinds + k] / tallest;
          pen.fillStyle = css.getPropertyValue(`--c${k + 1}`);
          pen.fillRect(b * step + 0.5, y - tall, Math.max(1, step - 1), tall);
          y -= tall;
        }
      }
      pen.fillStyle = css.getPropertyValue("--soft");
      pen.fillRect(0, bottom, w, 1);
      const write = v => { const t = Math.abs(v) >= 10000 ? v.toFixed(0) : String(Number(v.toPrecision(3))); return t.replace("-", "−"); };
      [0, 0.25, 0.5, 0.75, 1].forEach(part => {
        pen.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
        pen.fillText(write(least + part * (most - least)), part * w, h - 5);
      });
      pen.textAlign = "left";
      if (colour) {
        let x = 0;
        colour.names.forEach((name, k) => {
          pen.fillStyle = css.getPropertyValue(`--c${k + 1}`);
          pen.fillRect(x, 3, 9, 9);
          pen.fillStyle = css.getPropertyValue("--ink");
          pen.fillText(name, x + 13, 12);
          x += pen.measureText(name).width + 30;
        });
      }
      canvas.setAttribute("aria-label", `Histogram of ${column.name} over ${count.toLocaleString("en")} rows, from ${write(least)} to ${write(most)}.`);
    }
    let dragged = null;
    const number = event => {
      const box = canvas.getBoundingClientRect();
      return span[0] + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (span[1] - span[0]);
    };
    canvas.addEventListener("pointerdown", event => { dragged = number(event); canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", event => {
      if (dragged === null) return;
      const ends = [dragged, number(event)].sort((a, b) => a - b);
      dragged = null;
      const still = (ends[1] - ends[0]) < (span[1] - span[0]) / 200;
      low.value = still ? "" : Number(ends[0].toPrecision(4));
      high.value = still ? "" : Number(ends[1].toPrecision(4));
      ranges();
    });

    const ranges = () => {
      state.low = low.value === "" ? null : Number(low.value);
      state.high = high.value === "" ? null : Number(high.value);
      filter();
    };
    search.addEventListener("input", () => { state.text = search.value.trim(); filter(); });
    low.addEventListener("input", ranges);
    high.addEventListener("input", ranges);
    pick.addEventListener("change", () => { state.column = numbers[Number(pick.value)]; low.value = high.value = ""; ranges(); });
    reset.addEventListener("click", () => {
      search.value = low.value = high.value = "";
      bar.querySelectorAll("select").forEach(select => { if (select !== pick) select.value = ""; });
      Object.assign(state, { text: "", low: null, high: null, by: null });
      state.choices.clear();
      order = null;
      heads.forEach(h => h.removeAttribute("aria-sort"));
      filter();
    });
    save.addEventListener("click", () => {
      const quoted = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const exact = (column, row) => {
        const v = column.values[row];
        return column.names ? quoted(column.names[v]) : v !== v ? "" : String(column.whole ? v + column.offset : v);
      };
      const parts = [columns.map(c => quoted(c.name)).join(",") + "\n"];
      for (let i = 0; i < count; i++) parts.push(columns.map(c => exact(c, view[i])).join(",") + "\n");
      const link = make("a", { download: `${data.name}.csv`, href: URL.createObjectURL(new Blob(parts, { type: "text/csv" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
    document.addEventListener("themechange", paint);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    new ResizeObserver(() => { lay(); paint(); }).observe(grid);
    filter();
  }

  const places = [...document.querySelectorAll(".explorer")];
  Promise.all(places.map(async place => {
    const source = document.getElementById(place.dataset.listing);
    explore(place, await unpack(source.textContent));
  })).then(() => {
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }, error => {
    document.documentElement.dataset.failed = "yes";
    console.error(error);
  });
})();
