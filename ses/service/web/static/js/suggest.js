"use strict";
/* Suggestions while typing: a combobox with a list, as the ARIA Authoring Practices describe ("list autocomplete with manual
   selection"). Without suggestions, the box is a plain field. */
(() => {
  const input = document.getElementById("query");
  if (!input?.dataset.suggest) return;
  const list = document.createElement("ul");
  list.className = "suggestions"; list.id = "suggestions"; list.hidden = true;
  list.setAttribute("role", "listbox"); list.setAttribute("aria-label", input.labels[0].textContent);
  input.closest("form").append(list);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "suggestions" })) {
    input.setAttribute(name, value);
  }
  const options = () => [...list.querySelectorAll("[role=option]")];
  let at = -1, timer, last = 0, away = false, typed = input.value;

  const close = () => { list.hidden = true; at = -1; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const mark = (next) => {
    const all = options();
    if (!all.length) return;
    at = (next + all.length + 1) % (all.length + 1);  // one more than the options: the text itself
    all.forEach((one, i) => one.setAttribute("aria-selected", String(i === at)));
    if (at === all.length) { at = -1; input.value = typed; input.removeAttribute("aria-activedescendant"); return; }
    input.value = all[at].dataset.query;
    input.setAttribute("aria-activedescendant", all[at].id);
    all[at].scrollIntoView({ block: "nearest" });
  };
  const quoted = (text) => `"${text.replaceAll('"', " ").trim()}"`;
  const asked = { titles: (text) => text, subjects: (text) => text, authors: (text) => `author:${quoted(text)}`, venues: (text) => `venue:${quoted(text)}` };
  // A path that browsers would change is escaped twice, as in the addresses that the service makes.
  const paperAt = (id) => {
    const escaped = encodeURIComponent(id), odd = id.includes("%") || id.split("/").some((part) => ["", ".", ".."].includes(part));
    const place = `${document.body.dataset.base || ""}/papers/${odd ? encodeURIComponent(escaped) : escaped}`;
    const kept = new URLSearchParams([...new FormData(input.form)].filter(([name]) => ["index", "lang"].includes(name)));
    return kept.size ? `${place}?${kept}` : place;
  };
  // Where hits follow what is typed, they must stay in sight.
  const most = input.form.hasAttribute("hx-get") ? 1 : 5;
  const plain = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  const show = (groups) => {
    const made = [], seen = new Set(), words = (text) => plain(text).split(/[\s,.;]+/);
    // Who types a whole name of an author means the author.
    const whole = (groups.authors || []).some(({ text }) => words(text).includes(plain(typed).trim()));
    const order = whole ? ["authors", ...Object.keys(asked).filter((name) => name !== "authors")] : Object.keys(asked);
    for (const group of order) {
      const query = asked[group];
      const values = (groups[group] || []).filter(({ text }) => {
        const key = `${group === "authors" || group === "venues" ? group : ""}:${plain(text)}`;
        return !seen.has(key) && seen.add(key);
      });
      if (!values.length) continue;
      const head = document.createElement("li");
      head.setAttribute("role", "presentation"); head.textContent = input.dataset[group];
      made.push(head);
      for (const one of values.slice(0, most)) {
        const { text, id } = one;
        const option = document.createElement("li");
        option.setAttribute("role", "option"); option.setAttribute("aria-selected", "false");
        option.id = `suggestion-${made.length}`; option.dataset.query = query(text); option.textContent = text; option.dir = "auto";
        if (id) option.dataset.paper = paperAt(id);
        made.push(option);
      }
    }
    list.replaceChildren(...made);
    at = -1;
    list.hidden = !options().length;
    input.setAttribute("aria-expanded", String(!list.hidden));
  };
  const ask = async () => {
    const mine = ++last;
    typed = input.value;
    if (away || typed.trim().length < 2 || typed.length > 100) { close(); return; }
    const given = new URLSearchParams({ query: typed });
    const index = input.form.elements.index?.value;
    if (index) given.set("index", index);
    try {
      const reply = await fetch(`${input.dataset.suggest}?${given}`, { headers: { Accept: "application/json" } });
      if (reply.status === 404) away = true;
      const found = reply.ok ? await reply.json() : {};
      if (mine === last && document.activeElement === input) show(found);
    } catch { if (mine === last) close(); }
  };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) { event.preventDefault(); input.value = typed; close(); }
    else if (event.key === "ArrowDown" && list.hidden) ask();
    else if (event.key === "ArrowDown" && !list.hidden) { event.preventDefault(); mark(at + 1); }
    else if (event.key === "ArrowUp" && !list.hidden) { event.preventDefault(); mark(at < 0 ? options().length - 1 : at - 1); }
    else if (event.key === "Enter" && options()[at]?.dataset.paper) { event.preventDefault(); location.assign(options()[at].dataset.paper); }
    else if (event.key === "Enter" || event.key === "Tab") close();
  });
  input.addEventListener("blur", () => setTimeout(close, 150));
  list.addEventListener("pointerdown", (event) => {
    const option = event.target.closest("[role=option]");
    event.preventDefault();
    if (!option) return;
    if (option.dataset.paper) { location.assign(option.dataset.paper); return; }
    input.value = option.dataset.query;
    close();
    input.form.requestSubmit();
  });
})();
