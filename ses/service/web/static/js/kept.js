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

  /* The reading list: papers by id, title and index. */
  const papers = () => {
    try {
      const held = JSON.parse(localStorage.getItem(key("papers")) || "[]");
      return Array.isArray(held) ? held.filter((one) => one && typeof one.id === "string" && typeof one.title === "string") : [];
    } catch {
      return [];
    }
  };
  const same = (one, other) => one.id === other.id && (one.index || "") === (other.index || "");
  function keepers() {
    const held = papers();
    document.querySelectorAll("[data-keep]").forEach((button) => {
      const { keep: id, title, index = "" } = button.dataset, one = { id, title, index };
      const show = () => {
        const saved = papers().some((other) => same(one, other));
        button.setAttribute("aria-pressed", saved);
        button.querySelector("[data-keep-on]").hidden = !saved;
        button.querySelector("[data-keep-off]").hidden = saved;
        button.hidden = false;
      };
      button.onclick = () => {
        const now = papers(), others = now.filter((other) => !same(one, other));
        write("papers", others.length < now.length ? others : [one, ...now]);
        show(); count();
      };
      show();
    });
    count(held.length);
  }
  function count(number = papers().length) {
    const place = document.querySelector("[data-kept-count]");
    if (place) place.textContent = number ? number.toLocaleString(document.documentElement.lang) : "";
  }
  const asked = (one) => new URLSearchParams(one.index ? { id: one.id, index: one.index } : { id: one.id });
  function reading() {
    const place = document.querySelector("[data-papers]");
    if (!place) return;
    const held = papers(), row = document.querySelector("template[data-paper-row]");
    document.querySelector("[data-no-papers]").hidden = held.length > 0;
    place.replaceChildren(...held.map((one) => {
      const item = row.content.cloneNode(true), link = item.querySelector("[data-open-paper]");
      link.textContent = one.title || one.id;
      link.href = `${base}/papers/${encodeURIComponent(one.id)}${one.index ? `?index=${encodeURIComponent(one.index)}` : ""}`;
      item.querySelector("[data-cite-paper]").href = `${base}/cite?${asked(one)}`;
      item.querySelector("[data-drop]").addEventListener("click", () => { write("papers", papers().filter((other) => !same(one, other))); reading(); count(); });
      return item;
    }));
    // Papers of one index are cited and exported together.
    const first = held.filter((one) => (one.index || "") === (held[0]?.index || ""));
    const every = new URLSearchParams(first.map((one) => ["id", one.id]));
    if (first[0]?.index) every.set("index", first[0].index);
    const all = document.querySelector("[data-cite-all]");
    all.hidden = !held.length;
    all.href = `${base}/cite?${every}`;
    const files = document.querySelector("[data-list-files]");
    files.hidden = false;
    files.querySelector("[data-save-list]").onclick = () => {
      const text = JSON.stringify({ papers: papers(), searches: read("saved") }, null, 1);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = "reading-list.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    files.querySelector("[data-load-list]").onchange = async ({ target }) => {
      const told = files.querySelector("[data-list-told]");
      try {
        const given = JSON.parse(await target.files[0].text());
        const more = given.papers.filter((one) => typeof one.id === "string" && typeof one.title === "string");
        const now = papers(), fresh = more.filter((one) => !now.some((other) => same(one, other)));
        const searches = (given.searches || []).filter((one) => typeof one.search === "string" && one.search.startsWith("?") && typeof one.name === "string");
        const known = read("saved").map((one) => one.search);
        write("papers", [...now, ...fresh.map(({ id, title, index }) => ({ id, title, index: index || "" }))]);
        write("saved", [...read("saved"), ...searches.filter((one) => !known.includes(one.search)).map(({ name, search }) => ({ name, search }))]);
        told.textContent = told.dataset.done.replace("{count}", fresh.length);
        reading(); list(); count();
      } catch {
        told.textContent = told.dataset.failed;
      }
      target.value = "";
    };
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
  // While somebody types, hits change with each word; the search that is looked at is noted.
  const box = document.getElementById("query");
  const begin = () => { if (!box || document.activeElement !== box) note(); offer(); keepers(); };
  box?.addEventListener("blur", note);
  document.addEventListener("htmx:afterSettle", begin); // a facet or a page was chosen without a new page
  begin();
  list();
  reading();
})();
