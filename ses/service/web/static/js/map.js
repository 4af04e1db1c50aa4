"use strict";
// The map of results: zoom and pan by wheel, buttons, keys and pointers; a card for the paper in focus; topics to filter by.
(() => {
  const root = document.querySelector("[data-map]");
  if (!root) return;
  const svg = root.querySelector(".map-drawing");
  const card = root.querySelector("[data-card]");
  const titles = root.querySelector("[data-titles]");
  const points = [...svg.querySelectorAll(".map-point")];
  const labels = [...svg.querySelectorAll(".map-labels text")];
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const FARTHEST = 1, NEAREST = 16, STEP = 1.4, TITLES_FROM = 2.2, MOST_TITLES = 60, LONGEST_TITLE = 52;
  const PIXELS = 820; // width below which marks and labels grow, so that they stay legible
  const place = (one) => ({ x: Number(one.dataset.x), y: Number(one.dataset.y) });
  const limit = (value, low, high) => Math.min(Math.max(value, low), high);
  const view = { zoom: 1, x: width / 2, y: height / 2 };
  let current = points[0], asked = false;

  function scale() {
    return limit(PIXELS / (svg.clientWidth || PIXELS), 1, 2.2) / view.zoom;
  }

  function draw() {
    asked = false;
    const w = width / view.zoom, h = height / view.zoom;
    view.x = limit(view.x, w / 2, width - w / 2);
    view.y = limit(view.y, h / 2, height - h / 2);
    svg.setAttribute("viewBox", `${view.x - w / 2} ${view.y - h / 2} ${w} ${h}`);
    svg.style.setProperty("--map-scale", scale() * Math.min(1.6, view.zoom ** 0.2));
    svg.classList.toggle("map-zoomed", view.zoom > 1);
    svg.dataset.zoom = view.zoom.toFixed(2);
    write();
    if (!card.hidden) show(current);
  }

  function redraw() {
    if (!asked) requestAnimationFrame(draw);
    asked = true;
  }

  // Labels of topics in their order, then titles by rank; one that would overlap another is left out.
  function write() {
    const boxes = [], size = scale() * Math.min(1.6, view.zoom ** 0.2);
    const free = (box) => !boxes.some((one) => box.l < one.r && one.l < box.r && box.t < one.b && one.t < box.b);
    for (const label of labels) {
      const { x, y } = place(label), half = (label.textContent.length * 8.6 * size) / 2;
      const box = { l: x - half, r: x + half, t: y - 16 * size, b: y + 4 * size };
      const shown = free(box) && !label.classList.contains("map-dim");
      label.classList.toggle("map-hidden", !shown);
      if (shown) boxes.push(box);
    }
    titles.replaceChildren();
    if (view.zoom < TITLES_FROM) return;
    const w = width / view.zoom / 2, h = height / view.zoom / 2;
    for (const point of points) {
      const { x, y } = place(point);
      if (titles.childElementCount >= MOST_TITLES) break;
      if (point.classList.contains("map-dim") || Math.abs(x - view.x) > w || Math.abs(y - view.y) > h) continue;
      const whole = title(point), text = whole.length > LONGEST_TITLE ? `${whole.slice(0, LONGEST_TITLE - 1)}…` : whole;
      const left = x + 10 * size;
      const box = { l: left, r: left + text.length * 6 * size, t: y - 8 * size, b: y + 6 * size };
      if (!free(box)) continue;
      boxes.push(box);
      const drawn = document.createElementNS(svg.namespaceURI, "text");
      drawn.setAttribute("transform", `translate(${left} ${y + 4 * size})`);
      drawn.textContent = text;
      titles.append(drawn);
    }
  }

  function title(point) {
    const row = root.parentElement.querySelectorAll(".map-table tbody tr")[points.indexOf(point)];
    return row.querySelector("a").textContent;
  }

  function zoom(factor, at = view) {
    const before = view.zoom;
    view.zoom = limit(view.zoom * factor, FARTHEST, NEAREST);
    const kept = before / view.zoom;
    view.x = at.x + (view.x - at.x) * kept;
    view.y = at.y + (view.y - at.y) * kept;
    redraw();
  }

  function whole() {
    Object.assign(view, { zoom: 1, x: width / 2, y: height / 2 });
    redraw();
  }

  function spot(event) {
    const box = svg.getBoundingClientRect();
    return {
      x: view.x + ((event.clientX - box.left) / box.width - 0.5) * (width / view.zoom),
      y: view.y + ((event.clientY - box.top) / box.height - 0.5) * (height / view.zoom),
    };
  }

  function show(point) {
    const name = document.createElement("p"), facts = document.createElement("p");
    const strong = document.createElement("strong");
    strong.textContent = title(point);
    name.append(strong);
    facts.textContent = point.dataset.facts;
    card.replaceChildren(name, ...(point.dataset.facts ? [facts] : []));
    card.hidden = false;
    const box = svg.getBoundingClientRect(), mark = point.getBoundingClientRect();
    const x = mark.left + mark.width / 2 - box.left, y = mark.bottom - box.top + 6;
    card.style.left = `${limit(x - card.offsetWidth / 2, 0, Math.max(0, box.width - card.offsetWidth))}px`;
    card.style.top = `${y + card.offsetHeight > box.height ? mark.top - box.top - card.offsetHeight - 6 : y}px`;
  }

  function hide() {
    card.hidden = true;
  }

  function rove(point) {
    current.tabIndex = -1;
    current = point;
    current.tabIndex = 0;
  }

  function go(point) {
    rove(point);
    const { x, y } = place(point), w = width / view.zoom / 2, h = height / view.zoom / 2;
    if (Math.abs(x - view.x) > 0.9 * w || Math.abs(y - view.y) > 0.9 * h) Object.assign(view, { x, y });
    point.focus({ preventScroll: true });
    redraw();
  }

  // The nearest paper in a direction; one to the side counts as farther away.
  function beside(point, [dx, dy]) {
    const from = place(point);
    let best = null, least = Infinity;
    for (const one of points) {
      if (one === point || one.classList.contains("map-dim")) continue;
      const { x, y } = place(one), along = (x - from.x) * dx + (y - from.y) * dy;
      if (along <= 0) continue;
      const across = Math.abs((x - from.x) * dy) + Math.abs((y - from.y) * dx);
      const away = Math.hypot(along, 2 * across);
      if (away < least) [best, least] = [one, away];
    }
    return best;
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const point = event.target.closest(".map-point");
    if (event.key === "+" || event.key === "=") zoom(STEP, point ? place(point) : view);
    else if (event.key === "-" || event.key === "_") zoom(1 / STEP, point ? place(point) : view);
    else if (event.key === "0") whole();
    else if (event.key === "Escape" && point) svg.focus();
    else if (ARROWS[event.key] && point) {
      const next = beside(point, ARROWS[event.key]);
      if (next) go(next);
    } else if (ARROWS[event.key]) {
      view.x += (ARROWS[event.key][0] * width) / view.zoom / 8;
      view.y += (ARROWS[event.key][1] * height) / view.zoom / 8;
      redraw();
    } else return;
    event.preventDefault();
  });

  svg.addEventListener("wheel", (event) => {
    // Else nobody could scroll past the map.
    if (!event.ctrlKey && !svg.contains(document.activeElement)) return;
    event.preventDefault();
    zoom(STEP ** limit(-event.deltaY / 100, -2, 2), spot(event));
  }, { passive: false });

  const fingers = new Map();
  let moved = 0;
  svg.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved = 0;
    if (!event.target.closest(".map-point")) svg.focus({ preventScroll: true });
  });
  svg.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
    const after = { x: event.clientX, y: event.clientY };
    fingers.set(event.pointerId, after);
    if (others.length === 1) {
      const apart = (one) => Math.hypot(one.x - others[0].x, one.y - others[0].y) || 1;
      zoom(apart(after) / apart(before), spot(event));
    } else if (view.zoom > 1) {
      const unit = width / view.zoom / svg.clientWidth;
      view.x -= (after.x - before.x) * unit;
      view.y -= (after.y - before.y) * unit;
      redraw();
    }
    moved += Math.abs(after.x - before.x) + Math.abs(after.y - before.y);
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
    svg.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
  svg.addEventListener("click", (event) => {
    if (moved > 6) event.preventDefault(); // the end of a drag opens no paper
  }, true);
  svg.addEventListener("dragstart", (event) => event.preventDefault());

  for (const point of points) {
    point.tabIndex = -1;
    point.addEventListener("focus", () => { rove(point); show(point); });
    point.addEventListener("blur", hide);
    point.addEventListener("pointerenter", () => show(point));
    point.addEventListener("pointerleave", hide);
  }
  svg.tabIndex = 0;
  rove(current);

  root.querySelector(".map-buttons").hidden = false;
  root.querySelector(".map-help").hidden = false;
  const acts = { in: () => zoom(STEP), out: () => zoom(1 / STEP), all: whole };
  for (const button of root.querySelectorAll("[data-zoom]")) {
    if (button !== svg) button.addEventListener("click", acts[button.dataset.zoom]);
  }

  // Without this script, the same links ask the server.
  const keys = [...root.querySelectorAll(".map-legend [data-topic]")];
  function filter(chosen) {
    for (const key of keys) {
      if (key.dataset.topic === "all") key.hidden = !chosen.size;
      else if (chosen.has(key.dataset.topic)) key.setAttribute("aria-current", "true");
      else key.removeAttribute("aria-current");
    }
    const hidden = (one) => chosen.size > 0 && !chosen.has(one.dataset.topic);
    for (const one of [...points, ...labels]) one.classList.toggle("map-dim", hidden(one));
    for (const row of document.querySelectorAll(".map-table tbody tr")) row.hidden = hidden(row);
    if (current.classList.contains("map-dim")) rove(points.find((one) => !one.classList.contains("map-dim")));
    const address = new URL(location.href);
    address.searchParams.delete("topic");
    for (const one of chosen) address.searchParams.append("topic", one);
    history.replaceState(null, "", address);
    redraw();
  }
  for (const key of keys) {
    key.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const chosen = new Set(keys.filter((one) => one.hasAttribute("aria-current")).map((one) => one.dataset.topic));
      if (key.dataset.topic === "all") chosen.clear();
      else if (!chosen.delete(key.dataset.topic)) chosen.add(key.dataset.topic);
      filter(chosen);
    });
  }
  addEventListener("resize", redraw);
  draw();
})();
