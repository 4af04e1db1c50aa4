"use strict";
// Saved searches and the last ones: kept by this browser alone, without cookies and without a word to the server.
(() => {
  const base = document.body.dataset.base || "";
  const MOST = 50;
  const key = (name) => `ses:${base}:${name}`;

  function read(name) {
    try {
      const held = JSON.parse(localStorage.getItem(key(name)) || "[]");
      const whole = (one) => one && typeof one.search === "string" && one.search.startsWith("?") && typeof one.name === "string";
      return Array.isArray(held) ? held.filter(whole) : [];
    } catch {
      return [];
    }
  }

  function write(name, held) {
    try {
      localStorage.setItem(key(name), JSON.stringify(held));
    } catch { /* the browser keeps nothing */ }
  }

  function isOn() {
    try {
      return localStorage.getItem(key("history-off")) === null;
    } catch {
      return false;
    }
  }

  // The address of a search without the page of hits: both are one search.
  function searchHere() {
    const asked = new URLSearchParams(location.search);
    asked.delete("offset");
    return `?${asked}`;
  }

  function nameHere() {
    const asked = new URLSearchParams(location.search);
    const more = [...asked.getAll("only"), ...asked.getAll("filter")];
    return [asked.get("query"), ...more].filter(Boolean).join(" · ");
  }

  function note() {
    if (location.pathname !== `${base}/` || !nameHere() || !isOn()) return;
    const search = searchHere();
    const others = read("history").filter((one) => one.search !== search);
    write("history", [{ name: nameHere(), search, time: new Date().toISOString() }, ...others].slice(0, MOST));
  }

  function offer() {
    const button = document.querySelector("[data-save]");
    if (!button || !nameHere()) return;
    const show = () => {
      const saved = read("saved").some((one) => one.search === searchHere());
      button.hidden = false;
      button.setAttribute("aria-pressed", saved);
      button.querySelector("[data-save-on]").hidden = !saved;
      button.querySelector("[data-save-off]").hidden = saved;
    };
    button.onclick = () => {
      const held = read("saved"), search = searchHere();
      const others = held.filter((one) => one.search !== search);
      write("saved", others.length < held.length ? others : [{ name: nameHere(), search }, ...held]);
      show();
    };
    show();
  }

  function list() {
    const place = document.querySelector("[data-kept]");
    if (!place) return;
    const name = place.dataset.kept, row = document.querySelector("template[data-row]");
    const held = read(name);
    document.querySelector("[data-none]").hidden = held.length > 0;
    place.replaceChildren(...held.map((one, at) => {
      const item = row.content.cloneNode(true);
      const link = item.querySelector("[data-open]");
      link.textContent = one.name;
      link.href = `${base}/${one.search}`;
      const time = item.querySelector("[data-time]"), when = new Date(one.time);
      if (time && !Number.isNaN(when.getTime())) {
        time.dateTime = one.time;
        time.textContent = when.toLocaleString(document.documentElement.lang);
      }
      const field = item.querySelector("[data-name]");
      if (field) {
        field.value = one.name;
        field.addEventListener("change", () => {
          const now = read(name);
          now[at].name = field.value.trim() || one.name;
          write(name, now);
          list();
        });
        item.querySelector("[data-follow]").href = `${base}/search.atom${one.search}`;
        item.querySelector("[data-delete]").addEventListener("click", () => {
          write(name, read(name).filter((other) => other.search !== one.search));
          list();
        });
      }
      return item;
    }));
  }

  const tools = document.querySelector("[data-tools]");
  if (tools) {
    tools.hidden = false;
    const on = tools.querySelector("[data-on]");
    on.checked = isOn();
    on.addEventListener("change", () => {
      try {
        if (on.checked) localStorage.removeItem(key("history-off"));
        else localStorage.setItem(key("history-off"), "1");
      } catch { on.checked = false; }
      if (!on.checked) write("history", []);
      list();
    });
    tools.querySelector("[data-clear-history]").addEventListener("click", () => { write("history", []); list(); });
  }
  const begin = () => { note(); offer(); };
  document.addEventListener("htmx:afterSettle", begin); // a facet or a page was chosen without a new page
  begin();
  list();
})();
