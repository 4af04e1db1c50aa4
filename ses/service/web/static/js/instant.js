"use strict";
/* The hits of a search follow what is typed, where the service answers at once: within a tenth of a second by this browser's
   own measure. Enter still opens a page of its own, which the button Back leads to. */
(() => {
  const form = document.querySelector("form.box[hx-get]"), input = document.getElementById("query");
  const fastest = 100, pause = 250, shortest = 3;
  if (!form || navigator.connection?.saveData) return;
  const [opened] = performance.getEntriesByType("navigation");
  let fast = Boolean(opened) && opened.responseStart - opened.requestStart <= fastest;
  let shown = input.value.trim(), timer, began;

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const typed = input.value.trim();
      if (!fast || typed === shown || typed.length < shortest) return;
      shown = typed;
      form.dispatchEvent(new Event("instant"));
    }, pause);
  });
  form.addEventListener("submit", () => clearTimeout(timer));
  form.addEventListener("htmx:beforeSend", () => { began = performance.now(); });
  form.addEventListener("htmx:beforeOnLoad", () => { fast = performance.now() - began <= fastest; });
  // Half of a word may be a query that can't be read. The hits from before stay, and no error is shown.
  form.addEventListener("htmx:responseError", (event) => {
    event.stopPropagation();
    if (event.detail.xhr.status >= 429) fast = false; // too many requests, or an overloaded service
  });
  for (const name of ["sendError", "timeout"]) {
    form.addEventListener(`htmx:${name}`, (event) => {
      event.stopPropagation();
      fast = false;
    });
  }
})();
