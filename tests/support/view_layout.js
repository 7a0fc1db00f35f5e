// What is wrong with the layout of a page of the viewer: a list of sentences.
(() => {
  const wrong = [], wide = document.documentElement.clientWidth;
  const name = e => `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} '${(e.textContent || "").trim().slice(0, 40)}'`;
  const scrolls = e => !!e && e !== document.documentElement && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const unseen = e => !!e.closest("caption, .unseen, .skip, datalist, option");
  if (document.documentElement.scrollWidth > wide) wrong.push(`the page is ${document.documentElement.scrollWidth} wide on ${wide}`);
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (!box.width || unseen(e)) continue;
    if ((box.right > wide + 1 || box.left < -1) && !scrolls(e.parentElement)) wrong.push(`wider than the screen: ${name(e)}`);
    if (e.clientWidth && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "hidden") wrong.push(`clipped: ${name(e)}`);
    if (e.matches(".wide") && e.scrollWidth > e.clientWidth + 1 && !getComputedStyle(e).backgroundImage.includes("gradient")) wrong.push("scrolls without a cue");
  }
  const texts = [], range = document.createRange(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, e = node.parentElement;
    if (!node.data.trim() || unseen(e) || e.closest("title, .bar, select, svg")) continue;
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) if (r.width > 1) texts.push([r, e]);
  }
  for (const svg of document.querySelectorAll("svg.plot")) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) continue;
    for (const text of svg.querySelectorAll("text")) {
      const r = text.getBoundingClientRect();
      texts.push([r, text]);
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1) wrong.push(`out of its picture: ${name(text)}`);
      if (r.height < 9) wrong.push(`too small to read: ${name(text)}`);
    }
  }
  texts.sort((a, b) => a[0].top - b[0].top);
  for (let i = 0; i < texts.length; i++) {
    const [a, one] = texts[i];
    for (let k = i + 1; k < texts.length && texts[k][0].top < a.bottom - 4; k++) {
      const [b, other] = texts[k];
      if (one !== other && a.left < b.right - 1 && b.left < a.right - 1 && b.top < a.bottom - 4) wrong.push(`over each other: ${name(one)} and ${name(other)}`);
    }
  }
  const light = c => c.match(/[\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = light(getComputedStyle(document.body).backgroundColor);
  for (const [, e] of texts) {
    if (e.closest("button:not(.tag, .sort, .plain)")) continue;
    const style = getComputedStyle(e), ink = light(e.tagName === "text" ? style.fill : style.color);
    const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (contrast < 4.5) wrong.push(`contrast ${contrast.toFixed(2)}: ${name(e)}`);
  }
  return wrong;
})()
