// What is wrong with the layout of a page: a list of sentences. Run in the page by the browser tests.
(() => {
  const wrong = [], wide = document.documentElement.clientWidth, SLACK = 1.5;
  const say = (what, element, more = "") => wrong.push(`${what}: ${name(element)} ${more}`.trim());
  const name = element => {
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50);
    const where = element.closest("figure, section, header");
    return `${element.tagName.toLowerCase()}.${element.getAttribute("class") || ""} '${text}' in ${where ? where.id || where.tagName : "?"}`;
  };
  const seen = element => element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true });
  const style = new Map(), of = element => { if (!style.has(element)) style.set(element, getComputedStyle(element)); return style.get(element); };
  // The nearest ancestor that scrolls sideways; what lies in it may be wider than the screen.
  const scrollers = new Map();
  const scroller = element => {
    if (!element || element === document.documentElement) return null;
    if (!scrollers.has(element)) scrollers.set(element, ["auto", "scroll"].includes(of(element).overflowX) ? element : scroller(element.parentElement));
    return scrollers.get(element);
  };
  const hidden = element => element.closest(".unseen, caption, [role=tooltip], .skip, script, style, template");

  if (document.documentElement.scrollWidth > wide) wrong.push(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${wide}`);
  const boxes = [];
  for (const element of document.querySelectorAll("body *")) {
    if (hidden(element) || !seen(element)) continue;
    const drawn = element.ownerSVGElement;
    const box = element.getBoundingClientRect();
    if (!drawn && box.width && !scroller(element.parentElement) && (box.right > wide + SLACK || box.left < -SLACK)) say("wider than the screen", element, `${Math.round(box.left)}..${Math.round(box.right)}`);
    if (!drawn && element.scrollWidth > element.clientWidth + SLACK && element.clientWidth && of(element).display !== "inline") {
      const over = of(element).overflowX;
      if (["hidden", "clip"].includes(over) && !(of(element).textOverflow === "ellipsis" && (element.title || element.closest("[title]")))) say("clipped", element);
      if (["auto", "scroll"].includes(over) && !of(element).backgroundImage.includes("gradient") && !scroller(element.parentElement) && !element.matches(".body")) say("scrolls without a cue", element);
    }
    if (element.tagName === "text" && element.textContent.trim()) {
      const figure = element.closest("figure") || drawn, room = figure.getBoundingClientRect();
      if (box.left < room.left - 3 || box.right > room.right + 3) say("slides off its picture", element, `${Math.round(box.left - room.left)}..${Math.round(box.right - room.right)}`);
      const frame = drawn.getBoundingClientRect();
      if (box.top < frame.top - 3 || box.bottom > frame.bottom + 3) say("above or below its picture", element, `${Math.round(box.top - frame.top)}..${Math.round(box.bottom - frame.bottom)}`);
      const size = parseFloat(of(element).fontSize) * drawn.getScreenCTM().a;
      if (size < 7) say("too small to read", element, size.toFixed(1));
      const shape = element.getBBox(), matrix = element.getScreenCTM();
      const corner = (x, y) => ({ x: matrix.a * x + matrix.c * y + matrix.e, y: matrix.b * x + matrix.d * y + matrix.f });
      const [l, t, r, b] = [shape.x, shape.y + shape.height * 0.18, shape.x + shape.width, shape.y + shape.height * 0.86];
      boxes.push({ element, corners: [corner(l, t), corner(r, t), corner(r, b), corner(l, b)], left: box.left, right: box.right, top: box.top, bottom: box.bottom });
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.ownerSVGElement || hidden(element) || !seen(element) || element.closest("option")) continue;
    range.selectNodeContents(node);
    let clip = null;
    for (let up = element; up && up !== document.body; up = up.parentElement) {
      if (of(up).overflowX !== "visible" && of(up).display !== "inline") {
        const c = up.getBoundingClientRect();
        clip = clip ? { left: Math.max(clip.left, c.left), right: Math.min(clip.right, c.right), top: Math.max(clip.top, c.top), bottom: Math.min(clip.bottom, c.bottom) } : c;
      }
    }
    for (const rect of range.getClientRects()) {
      let { left, right, top, bottom } = rect;
      if (clip) { left = Math.max(left, clip.left); right = Math.min(right, clip.right); top = Math.max(top, clip.top); bottom = Math.min(bottom, clip.bottom); }
      const tall = bottom - top;
      top += tall * 0.2; bottom -= tall * 0.2;
      if (right - left < 1 || bottom - top < 1) continue;
      boxes.push({ element, left, right, top, bottom, corners: [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }] });
    }
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
