"use strict";
(() => {
  const results = () => document.getElementById("results");

  /* Results that are replaced without a new page: short addresses, focus, and a word to screen readers. */
  document.addEventListener("htmx:configRequest", (event) => {
    const given = event.detail.parameters;
    for (const name of [...new Set(given.keys ? given.keys() : Object.keys(given))]) {
      if (name !== "query" && given[name] === "") delete given[name];
    }
  });
  /* On a phone the filters are a sheet, which stays open and in its place while values are chosen. */
  const sheet = () => document.getElementById("filters");
  document.addEventListener("click", (event) => {
    const opens = event.target.closest?.("[data-filters]"), closes = event.target.closest?.("[data-unfilter]");
    if (!opens && !closes) return;
    event.preventDefault();
    document.body.classList.toggle("filtering", Boolean(opens));
    (opens ? sheet() : document.getElementById("found")).focus({ preventScroll: Boolean(opens) });
    if (closes) document.getElementById("found").scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.body.classList.contains("filtering")) sheet().querySelector("[data-unfilter]").click();
  });
  let opened = [], scrolled = 0;
  document.addEventListener("htmx:beforeSwap", () => {
    scrolled = sheet()?.scrollTop || 0;
    opened = [...document.querySelectorAll(".facets details[open]")].map((one) => one.id);
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    enhance();
    if (sheet()) sheet().scrollTop = scrolled;
    else document.body.classList.remove("filtering");
    if (document.activeElement === document.body || !document.activeElement) {
      document.getElementById("found")?.focus({ preventScroll: true });
    }
    const status = document.getElementById("status");
    if (status) status.textContent = document.getElementById("found")?.textContent || "";
  });
  // What a busy or lost server leaves undone is said in a sentence, and the page stays; another problem is a page of its own.
  const trouble = (kind) => {
    const place = document.getElementById("trouble");
    if (!place) return;
    place.textContent = place.dataset[kind];
    place.hidden = false;
    place.scrollIntoView({ block: "nearest" });
    document.querySelectorAll("#results form[hx-get]").forEach((form) => form.reset());  // they say what is shown
  };
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr, pathInfo } = event.detail;
    if (xhr.status === 429) trouble("busy");
    else if (xhr.status >= 500) trouble("away");
    else location.assign(pathInfo.finalRequestPath || pathInfo.requestPath);
  });
  for (const name of ["sendError", "timeout"]) document.addEventListener(`htmx:${name}`, () => trouble("lost"));
  document.addEventListener("htmx:afterSwap", () => { const place = document.getElementById("trouble"); if (place) place.hidden = true; });

  /* The brush over the years. */
  let from = null;
  const yearAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-brush] a");
  const brushed = (bar) => {
    const low = Math.min(from.dataset.first, bar.dataset.first), high = Math.max(from.dataset.last, bar.dataset.last);
    document.querySelectorAll("[data-brush] a").forEach((one) => {
      one.querySelector(".bar").classList.toggle("chosen", one.dataset.first >= low && one.dataset.last <= high);
    });
    return [low, high];
  };
  document.addEventListener("pointerdown", (event) => {
    const bar = event.target.closest?.("[data-brush] a");
    if (!bar || event.button) return;
    event.preventDefault();
    from = bar;
    brushed(bar);
  });
  document.addEventListener("pointermove", (event) => { const bar = from && yearAt(event); if (bar) brushed(bar); });
  document.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [low, high] = brushed(yearAt(event) || from);
    const form = from.closest("form");
    from = null;
    form.elements.year_from.value = low;
    form.elements.year_to.value = high;
    form.elements.year_to.dispatchEvent(new Event("change", { bubbles: true }));
  });
  document.addEventListener("click", (event) => { if (event.target.closest?.("[data-brush] a")) event.preventDefault(); });
  document.addEventListener("dragstart", (event) => { if (event.target.closest?.("[data-brush]")) event.preventDefault(); });

  /* Menus close when something else is pressed. */
  document.addEventListener("click", (event) => {
    document.querySelectorAll(".menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll(".menu[open]").forEach((menu) => { menu.open = false; menu.querySelector("summary").focus(); });
  });

  /* Search within the values of a facet. */
  const within = (input) => {
    const list = input.parentElement.querySelector("ul"), field = input.closest("[data-field]").dataset.field;
    const first = list.cloneNode(true);
    let timer, last = 0;
    input.hidden = false;
    input.addEventListener("change", (event) => event.stopPropagation());
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++last, typed = input.value.trim();
        if (!typed) { list.replaceChildren(...first.cloneNode(true).children); return; }
        const asked = new URL(input.dataset.within, location.href);
        asked.searchParams.set("value", typed);
        try {
          const reply = await fetch(asked, { headers: { Accept: "application/json" } });
          if (!reply.ok) throw new Error(reply.status);
          const chosen = new URLSearchParams(location.search).getAll("only");
          const values = (await reply.json()).values.map((one) => [String(one.value), one.count])
            .filter(([value]) => !chosen.includes(`${field}:${value}`));
          if (mine === last) list.replaceChildren(...values.map(([value, count]) => item(field, value, count)));
        } catch {  // the values that are shown
          const low = typed.toLowerCase();
          if (mine === last) list.replaceChildren(...[...first.cloneNode(true).children].filter((one) => one.textContent.toLowerCase().includes(low)));
        }
      }, 150);
    });
  };
  const item = (field, value, count) => {
    const made = document.createElement("li"), label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox"; box.name = "only"; box.value = `${field}:${value}`;
    const text = document.createElement("span"), number = document.createElement("span");
    text.className = "facet-value"; text.dir = "auto"; text.textContent = value;
    number.className = "facet-count"; number.textContent = count == null ? "" : Number(count).toLocaleString(document.documentElement.lang);
    label.append(box, text, number); made.append(label);
    return made;
  };
  const enhance = () => document.querySelectorAll("input.within[hidden]").forEach(within);
  enhance();
})();
