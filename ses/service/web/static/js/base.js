"use strict";
// Everything works without this file: it adds suggestions, the brush of the years, and what results say to a screen reader.
document.documentElement.classList.add("js");
/* Keys outside of fields: / for the search box, j and k through the hits. */
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, [contenteditable]")) return;
  const box = document.getElementById("query");
  if (event.key === "/" && box) { event.preventDefault(); box.focus(); box.select(); return; }
  const step = { j: 1, k: -1 }[event.key], titles = [...document.querySelectorAll(".hit-title a")];
  if (!step || !titles.length) return;
  const now = titles.findIndex((one) => one.closest(".hit").contains(document.activeElement));
  titles[Math.min(titles.length - 1, Math.max(0, now + step))].focus();
});
