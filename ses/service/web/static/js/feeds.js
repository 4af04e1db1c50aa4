"use strict";
// Papers chosen for a feed: kept for this tab while the reader goes on searching, and shown in a bar at the foot of the page.
(() => {
  const base = document.body.dataset.base || "";
  const KEY = `ses:${base}:feed`;

  function chosen() {
    try {
      const held = JSON.parse(sessionStorage.getItem(KEY));
      const names = (one) => (Array.isArray(one) ? one.filter((id) => typeof id === "string") : []);
      return { id: names(held.id), not: names(held.not), index: String(held.index || "") };
    } catch {
      return { id: [], not: [], index: "" };
    }
  }

  function keep(held) {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(held));
    } catch {
      return false; // the browser keeps nothing, so the links go to the page of the feed
    }
    return true;
  }

  // The page of a feed says itself what is chosen.
  if (location.pathname === `${base}/feeds/new`) {
    const asked = new URLSearchParams(location.search);
    keep({ id: asked.getAll("id"), not: asked.getAll("not"), index: asked.get("index") || "" });
    return;
  }

  const tray = document.querySelector("[data-tray]");
  if (!tray) return;

  function show() {
    const held = chosen(), count = held.id.length + held.not.length;
    tray.hidden = count === 0;
    tray.querySelector("[data-count]").textContent = count;
    const parameters = new URLSearchParams();
    for (const side of ["id", "not"]) for (const one of held[side]) parameters.append(side, one);
    if (held.index) parameters.set("index", held.index);
    const language = new URLSearchParams(location.search).get("lang");
    if (language) parameters.set("lang", language);
    tray.querySelector("[data-build]").href = `${base}/feeds/new?${parameters}`;
    for (const link of document.querySelectorAll("[data-like] [data-side]")) {
      link.setAttribute("role", "button");
      link.setAttribute("aria-pressed", held[link.dataset.side].includes(link.closest("[data-like]").dataset.like));
    }
  }

  function press(event) {
    const link = event.target.closest?.("[data-like] [data-side]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { like, index } = link.closest("[data-like]").dataset, { side } = link.dataset;
    let held = chosen();
    if (held.index !== index) held = { id: [], not: [], index };
    const was = held[side].includes(like);
    for (const one of ["id", "not"]) held[one] = held[one].filter((id) => id !== like);
    if (!was) held[side].push(like);
    if (!keep(held)) return;
    event.preventDefault();
    show();
  }

  document.addEventListener("click", press);
  document.addEventListener("keydown", (event) => { if (event.key === " ") press(event); });
  tray.querySelector("[data-empty]").addEventListener("click", () => { keep({ id: [], not: [], index: "" }); show(); });
  document.addEventListener("htmx:afterSettle", show);
  window.addEventListener("pageshow", show);
  show();
})();
