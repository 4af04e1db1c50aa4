"use strict";
/* A selection of papers that survives paging, for as long as the tab is open; and buttons that copy. */
(() => {
  const form = () => document.getElementById("export");
  const place = () => `ses:picked:${document.body.dataset.base || ""}:${form().dataset.index}`;
  let unsaved = [];  // where a browser keeps nothing
  const picked = () => {
    try {
      const kept = JSON.parse(sessionStorage.getItem(place()) || "[]");
      return Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [];
    } catch {
      return unsaved;
    }
  };
  const keep = (ids) => {
    unsaved = ids;
    try { sessionStorage.setItem(place(), JSON.stringify(ids)); } catch { /* the selection lasts for this page */ }
    show();
  };
  const show = () => {
    document.querySelectorAll("[data-copy], [data-copy-address]").forEach((button) => { button.hidden = false; });
    if (!form()) return;
    const ids = picked();
    document.querySelectorAll("[data-pick]").forEach((box) => { box.checked = ids.includes(box.value); });
    const output = form().querySelector("[data-picked]");
    output.textContent = ids.length ? output.dataset.text.replace("{count}", ids.length) : "";
    form().querySelector("[data-clear]").hidden = !ids.length;
  };
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // without TLS there is no clipboard
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "unseen";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const before = button.textContent;
    button.textContent = button.dataset.done || before;
    setTimeout(() => { button.textContent = before; }, 2000);
  };
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-pick]")) return;
    const others = picked().filter((id) => id !== target.value);
    keep(target.checked ? [...others, target.value] : others);
  });
  document.addEventListener("formdata", (event) => {
    if (event.target !== form()) return;
    const ids = picked();
    if (!ids.length) return;
    const format = event.formData.get("format");
    [...event.formData.keys()].forEach((name) => event.formData.delete(name));
    if (form().dataset.index) event.formData.append("index", form().dataset.index);
    event.formData.append("format", format);
    ids.forEach((id) => event.formData.append("id", id));
  });
  /* References open below a hit; without scripts they are a page of their own. */
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-cite]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const place = link.closest("article").querySelector(".cited"), shown = place.childElementCount;
    document.querySelectorAll(".cited").forEach((one) => one.replaceChildren());
    document.querySelectorAll("a[data-cite]").forEach((one) => one.setAttribute("aria-expanded", "false"));
    if (shown) return;
    try {
      const reply = await fetch(link.href, { headers: { Accept: "text/html" } });
      if (!reply.ok) throw new Error(reply.status);
      place.replaceChildren(new DOMParser().parseFromString(await reply.text(), "text/html").querySelector(".styles"));
      link.setAttribute("aria-expanded", "true");
      show();
    } catch {
      location.assign(link.href);
    }
  });
  document.addEventListener("click", ({ target }) => {
    const button = target.closest ? target.closest("button") : null;
    if (!button) return;
    if (button.hasAttribute("data-clear")) keep([]);
    if (button.dataset.copy) copy(document.getElementById(button.dataset.copy).textContent.trim(), button);
    if (button.hasAttribute("data-copy-address")) {
      const own = document.querySelector('link[rel="canonical"]');
      copy(own ? own.href : location.href, button);
    }
  });
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:afterSettle", show);
  window.addEventListener("pageshow", show);  // also when a reader goes back
})();
