"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const part = (id) => document.getElementById(id);
  const UNIT = 1e9;
  const betas = data.betas.map(([name]) => name);
  const svg = part("curve"), drawn = svg.querySelector(".drawn"), grid = svg.querySelector(".grid");
  const [left, right, top, bottom, width] = svg.dataset.frame.split(" ").map(Number);
  const form = part("controls"), choice = part("metric"), beta = part("beta"), slider = part("cut");
  const floors = ["recall", "precision"].map((name) => part("floor-" + name));
  let at = 0;

  const metric = () => choice.value || data.betas[beta.value][1];
  const title = () => data.titles[metric()];
  const scores = () => data.scores[metric()];
  const sign = () => (metric() === data.metric ? data.sign : 1);
  const better = (a, b) => b === null || sign() * (a - b) > 0;
  const precision = (i) => (data.k[i] ? data.hits[i] / data.k[i] : 1);
  const floor = (i) => (floors[i] ? Number(floors[i].value) : 0);
  const asked = [floor(0), floor(1)];
  const allowed = (i) =>
    data.k[i] >= data.least && data.k[i] <= data.most &&
    (!floor(0) || data.recall[i] === null || data.recall[i] >= floor(0) * UNIT - 1) &&
    (!floor(1) || precision(i) >= floor(1) - 1e-12);

  const best = () => {
    if (floor(0) === asked[0] && floor(1) === asked[1]) return data.best[metric()];
    let found = -1;
    scores().forEach((score, i) => {
      if (score !== null && allowed(i) && (found < 0 || better(score, scores()[found]))) found = i;
    });
    return found;
  };

  const shown = (value) => {
    if (value === null) return "undefined";
    const score = value / UNIT;
    if (score !== 0 && Math.abs(score) < 0.01) {
      return score.toFixed(Math.min(2 - Math.floor(Math.log10(Math.abs(score))), 9));
    }
    if (Math.abs(score) >= 100) return count(score, Math.abs(score) >= 1000 ? 0 : 1);
    return score.toFixed(3);
  };
  const count = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const write = (id, text) => { if (part(id)) part(id).textContent = text; };

  const make = (parent, tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
  };

  const draw = () => {
    const [most, low, high, xTicks, yTicks] = data.views[metric()];
    const x = (k) => left + (k / most) * (right - left);
    const y = (score) => bottom - ((score / UNIT - low) / (high - low)) * (bottom - top);
    grid.replaceChildren();
    svg.querySelector(".up").textContent = "Expected " + title();
    for (const [value, text] of yTicks) {
      const place = y(value * UNIT);
      make(grid, "line", { x1: left, x2: right, y1: place, y2: place });
      make(grid, "text", { class: "y", x: left - 8, y: place }, text);
    }
    for (const [value, text] of xTicks) {
      make(grid, "line", { x1: x(value), x2: x(value), y1: bottom, y2: bottom + 5 });
      make(grid, "text", { class: "x", x: x(value), y: bottom + 20 }, text);
    }
    const points = data.k
      .map((k, i) => (k <= most && scores()[i] !== null ? x(k).toFixed(1) + "," + y(scores()[i]).toFixed(1) : ""))
      .filter(Boolean);
    drawn.replaceChildren();
    make(drawn, "path", { class: "line", d: "M" + points.join(" ") });
    const inside = (i) => i !== null && data.k[i] <= most && scores()[i] !== null;
    if (data.chosen === null && metric() === data.metric) {
      const place = y(Math.min(data.level, high) * UNIT);
      make(drawn, "line", { class: "level", x1: left, x2: right, y1: place, y2: place });
    }
    if (inside(data.half)) {
      make(drawn, "path", { class: "half", d: `M${x(data.k[data.half])},${y(scores()[data.half]) - 8} l8,8 l-8,8 l-8,-8z` });
    }
    if (metric() === data.metric && inside(data.cut)) {
      make(drawn, "rect", { class: "cut", x: x(data.k[data.cut]) - 8, y: y(scores()[data.cut]) - 8, width: 16, height: 16 });
    }
    if (inside(data.chosen)) {
      make(drawn, "circle", { class: "chosen", cx: x(data.k[data.chosen]), cy: y(scores()[data.chosen]), r: 6.5 });
    }
    if (inside(at)) {
      make(drawn, "line", { class: "at", x1: x(data.k[at]), x2: x(data.k[at]), y1: top, y2: bottom });
      make(drawn, "circle", { class: "now", cx: x(data.k[at]), cy: y(scores()[at]), r: 9 });
    }
  };

  const show = () => {
    const top = best(), k = data.k[at], score = scores()[at], cut = data.cuts[at];
    part("impossible").hidden = top >= 0;
    write("beta-value", betas[beta.value]);
    part("beta-row").hidden = choice.value !== "";
    write("now-metric", title());
    write("now-score", shown(score));
    write("now-lost", top < 0 || score === null ? "" : shown(Math.abs(scores()[top] - score)));
    write("now-k", count(k, 0));
    const words = k === 0 ? "no row is positive" : cut === null ? "splits rows of equal score" : data.scale + " ≥ " + cut;
    write("now-cut", words);
    write("now-tp", count(data.hits[at], 1));
    write("now-fp", count(k - data.hits[at], 1));
    write("now-fn", count(Math.max(data.positives - data.hits[at], 0), 1));
    write("now-precision", k ? shown(precision(at) * UNIT) : "");
    if (data.recall) write("now-recall", shown(data.recall[at]));
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${count(k, 0)} positives, ${words}, expected ${title()} ${shown(score)}`);
    draw();
  };

  const toBest = () => {
    const found = best();
    if (found >= 0) at = found;
    show();
  };

  const drag = (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    const wanted = ((place - left) / (right - left)) * data.views[metric()][0];
    at = data.k.reduce((near, k, i) => (Math.abs(k - wanted) < Math.abs(data.k[near] - wanted) ? i : near), 0);
    show();
  };

  const own = data.betas.findIndex(([, name]) => name === data.metric);
  choice.value = own < 0 ? data.metric : "";
  beta.value = own < 0 ? betas.indexOf("1") : own;
  for (const control of [choice, beta, ...floors]) if (control) control.addEventListener("input", toBest);
  slider.addEventListener("input", () => { at = Number(slider.value); show(); });
  part("best").addEventListener("click", toBest);
  let held = false;
  svg.addEventListener("pointerdown", (event) => { held = true; svg.setPointerCapture(event.pointerId); drag(event); });
  svg.addEventListener("pointermove", (event) => { if (held) drag(event); });
  svg.addEventListener("pointerup", () => { held = false; });
  svg.addEventListener("pointercancel", () => { held = false; });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  svg.classList.add("live");
  document.querySelector(".legend .moved").hidden = false;
  toBest();
})();
