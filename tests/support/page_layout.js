// What is wrong with the layout of a page: a list of sentences. Run in the page by the browser tests.
(() => {
  const wrong = [], wide = document.documentElement.clientWidth, SLACK = 1.5;
  const say = (what, element, more = "") => wrong.push(`${what}: ${name(element)} ${more}`.trim());
  const name = element => {
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50);
    const where = element.closest("figure, section, header");
    return `${element.tagName.toLowerCase()}.${element.getAttribute("class") || ""} '${text}' in ${where ? where.id || where.tagName : "?"}`;
  };
  const style = new Map(), of = element => { if (!style.has(element)) style.set(element, getComputedStyle(element)); return style.get(element); };
  // The nearest ancestor that scrolls sideways; what lies in it may be wider than the screen.
  const scrollers = new Map();
  const scroller = element => {
    if (!element || element === document.documentElement) return null;
    if (!scrollers.has(element)) scrollers.set(element, ["auto", "scroll"].includes(of(element).overflowX) ? element : scroller(element.parentElement));
    return scrollers.get(element);
  };
  if (document.documentElement.scrollWidth > wide) wrong.push(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${wide}`);
  const boxes = [], range = document.createRange();
  const clips = new Map();  // of an element: the part of the screen in which its text is seen
  const clip = element => {
    if (!element || element === document.body) return null;
    if (!clips.has(element)) {
      const outer = clip(element.parentElement);
      let own = outer;
      if (of(element).overflowX !== "visible" && of(element).display !== "inline") {
        const c = element.getBoundingClientRect();
        own = outer ? { left: Math.max(outer.left, c.left), right: Math.min(outer.right, c.right), top: Math.max(outer.top, c.top), bottom: Math.min(outer.bottom, c.bottom) } : c;
      }
      clips.set(element, own);
    }
    return clips.get(element);
  };
  const element = node => {
    const box = node.getBoundingClientRect();
    if (box.width && (box.right > wide + SLACK || box.left < -SLACK) && !scroller(node.parentElement)) say("wider than the screen", node, `${Math.round(box.left)}..${Math.round(box.right)}`);
    if (node.clientWidth && node.scrollWidth > node.clientWidth + SLACK && of(node).display !== "inline") {
      const over = of(node).overflowX;
      if (["hidden", "clip"].includes(over) && !node.matches(".drawn") && !(of(node).textOverflow === "ellipsis" && node.closest("[title]"))) say("clipped", node);
      if (["auto", "scroll"].includes(over) && !of(node).backgroundImage.includes("gradient") && !scroller(node.parentElement) && !node.matches(".body")) say("scrolls without a cue", node);
    }
  };
  const words = node => {
    range.selectNodeContents(node);
    const seen = clip(node.parentElement);
    for (const rect of range.getClientRects()) {
      let { left, right, top, bottom } = rect;
      if (seen) { left = Math.max(left, seen.left); right = Math.min(right, seen.right); top = Math.max(top, seen.top); bottom = Math.min(bottom, seen.bottom); }
      const tall = bottom - top;
      top += tall * 0.2; bottom -= tall * 0.2;
      if (right - left < 1 || bottom - top < 1) continue;
      if (right > wide + SLACK) say("wider than the screen", node.parentElement);
      boxes.push({ element: node.parentElement, left, right, top, bottom, corners: [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }] });
    }
  };
  const drawing = svg => {
    const frame = svg.getBoundingClientRect(), scale = svg.getScreenCTM().a;
    const room = (svg.closest("figure") || svg).getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim() || !text.getClientRects().length) continue;  // words of a part that is not shown have no box
      const box = text.getBoundingClientRect();
      if (box.left < room.left - 3 || box.right > room.right + 3) say("slides off its picture", text, `${Math.round(box.left - room.left)}..${Math.round(box.right - room.right)}`);
      if (box.top < frame.top - 3 || box.bottom > frame.bottom + 3) say("above or below its picture", text, `${Math.round(box.top - frame.top)}..${Math.round(box.bottom - frame.bottom)}`);
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < 7) say("too small to read", text, size.toFixed(1));
      const shape = text.getBBox(), m = text.getScreenCTM();
      const corner = (x, y) => ({ x: m.a * x + m.c * y + m.e, y: m.b * x + m.d * y + m.f });
      const [l, t, r, b] = [shape.x, shape.y + shape.height * 0.18, shape.x + shape.width, shape.y + shape.height * 0.86];
      boxes.push({ element: text, corners: [corner(l, t), corner(r, t), corner(r, b), corner(l, b)], left: box.left, right: box.right, top: box.top, bottom: box.bottom });
    }
  };
  // What is not seen is passed over with all that it holds.
  const passed = node => node.matches("script, style, template, select, .unseen, caption, [role=tooltip], .skip, [hidden]") ||
    (node.parentElement.matches("details:not([open])") && node.tagName !== "SUMMARY") || (node.matches(".drawn, .explorer *") && !node.getClientRects().length);
  const filter = { acceptNode: node => node.nodeType === Node.TEXT_NODE ? (node.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT)
    : passed(node) || node.parentElement.closest("svg") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, filter);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) { if (!node.parentElement.ownerSVGElement) words(node); } else if (node.tagName === "svg") drawing(node); else element(node);
  }
  // Two boxes that may be turned overlap where no side of either parts them.
  const parted = (one, other) => one.some((corner, i) => {
    const next = one[(i + 1) % 4], x = next.y - corner.y, y = corner.x - next.x, size = Math.hypot(x, y) || 1;
    const along = points => points.map(p => (p.x * x + p.y * y) / size);
    const a = along(one), b = along(other);
    return Math.max(...a) <= Math.min(...b) + SLACK || Math.max(...b) <= Math.min(...a) + SLACK;
  });
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom - SLACK; j++) {
      const a = boxes[i], b = boxes[j];
      if (a.element === b.element || a.left > b.right - SLACK || b.left > a.right - SLACK) continue;
      if (!parted(a.corners, b.corners) && !parted(b.corners, a.corners)) say("overlaps", a.element, `and ${name(b.element)}`);
    }
  }
  return wrong;
})()
