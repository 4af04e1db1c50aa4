// A page that searches an index of ses in a cluster, without a program of its own between: only through the proxy of
// nginx.conf. What is searched is in the page's address, so links, bookmarks and the button Back work.
const { cluster, search, vector: field, words, table, encode } = document.documentElement.dataset;
const SIZE = 10;
const DEEPEST = 100; // papers that a ranking by vectors reaches
const FACETS = { venue: "Journal", authors: "Author", year: "Year" };
const [OPEN, CLOSE] = ["\ue000", "\ue001"]; // around marked words; no text of a paper has these characters
const asked = new URLSearchParams(location.search);
const [query, like] = [asked.get("q") ?? "", asked.get("like") ?? ""];
const page = Math.max(1, Number(asked.get("page")) || 1);
const chosen = asked.getAll("only").map((one) => [one.split(":", 1)[0], one.slice(one.indexOf(":") + 1)]);
const filter = chosen.filter(([name]) => name in FACETS).map(([name, value]) => ({ term: { [name]: value } }));

async function post(url, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`The search failed (${answer.status}).`);
  return answer.json();
}

/** The query for the papers with the nearest vectors, in the words of each product. */
function nearest(vector) {
  const where = filter.length ? { filter: { bool: { filter } } } : {};
  if (cluster === "opensearch") return { knn: { [field]: { vector, k: DEEPEST, ...where } } };
  return { knn: { field, query_vector: vector, k: DEEPEST, num_candidates: 2 * DEEPEST, ...where } };
}

/** The query for papers with words of the query, of which those with words in the title are better. */
const byWords = () => ({
  bool: { must: [{ match: { title_abstract: query } }], should: [{ match: { title: { query, boost: 0.3 } } }], filter },
});

/** Both, joined by the cluster: OpenSearch scales the scores and takes their mean, Elasticsearch adds them up. */
function joined(vector) {
  if (cluster !== "opensearch") return { query: { bool: { should: [byWords(), nearest(vector)] } } };
  const weights = encode ? [0.5, 0.5] : [0.6, 0.4]; // without the model, the vector only imitates the model's
  const combination = { technique: "arithmetic_mean", parameters: { weights } };
  const normalization = { normalization: { technique: "min_max" }, combination };
  const queries = [byWords(), nearest(vector)];
  return {
    counted: { bool: { should: queries } }, // `hybrid` itself counts only papers that may be among its best
    query: { hybrid: { queries, pagination_depth: DEEPEST } },
    search_pipeline: { phase_results_processors: [{ "normalization-processor": normalization }] },
  };
}

/** The vector of the query by one of the ways that index.html names, or null: then papers are ranked by words alone. */
async function meaning() {
  if (encode) return (await post(encode, { texts: [query], format: "qry" })).vectors[0];
  if (!words && !table) return null;
  const { vectorsOf, directionOf, QueryTable } = await import("./query-vector.js");
  if (table) {
    const answer = await fetch(table);
    if (!answer.ok) throw new Error(`The table for queries is missing (${answer.status}).`);
    return new QueryTable(await answer.arrayBuffer()).vector(query);
  }
  const vectors = await vectorsOf(query, (ids) => post(words, { ids }));
  return vectors.flat().some(Boolean) ? directionOf(vectors) : null;
}

/** What is searched: papers like one, words and meaning, words alone, or a list of all, the latest first. */
async function ranking() {
  if (like) {
    const itself = { ids: { values: [like] } };
    const [paper] = (await post(search, { query: itself, fields: [field], _source: false })).hits.hits;
    if (!paper) throw new Error("There is no such paper.");
    return { query: { bool: { must: [nearest(paper.fields[field].flat())], must_not: [itself] } } };
  }
  if (!query) return { query: { bool: { filter } }, sort: [{ year: "desc" }, { id: "asc" }] };
  const vector = await meaning();
  return vector ? joined(vector) : { query: byWords() };
}

/** The address of this search with some parameters changed: a list, a value, or null for none. */
function address(changes) {
  const next = new URLSearchParams(asked);
  for (const [name, values] of Object.entries({ page: null, ...changes })) {
    next.delete(name);
    for (const one of [values ?? []].flat()) next.append(name, one);
  }
  return `?${next}`;
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const link = (text, changes) => element("a", { href: address(changes) }, text);

/** A text whose marked words are elements; whatever else is in it stays text. */
const marked = (text) => text.split(OPEN).flatMap((part, at) => {
  const [inside, after] = at ? part.split(CLOSE) : ["", part];
  return [...(at ? [element("mark", {}, inside)] : []), after ?? ""];
});

function hit({ _id, _source, highlight = {} }) {
  const { title, authors = [], year = "", venue = "", url } = _source;
  const heading = marked(highlight.title?.[0] ?? title);
  const safe = /^https?:/.test(url ?? "");
  return element("li", { id: _id },
    safe ? element("a", { href: url }, ...heading) : element("strong", {}, ...heading),
    element("p", {}, [year, venue, authors.join("; ")].filter(Boolean).join(" · ")),
    element("p", {}, ...marked((highlight.abstract ?? []).join(" … "))),
    link("Similar papers", { q: null, only: null, like: _id }));
}

function facet(name, buckets) {
  const values = buckets.filter(({ key }) => key !== "").map(({ key, doc_count }) => {
    const one = `${name}:${key}`;
    const isChosen = chosen.some(([field, value]) => `${field}:${value}` === one);
    const others = asked.getAll("only").filter((other) => other !== one);
    const only = isChosen ? others : [...others, one];
    const shown = link(`${isChosen ? "✓ " : ""}${key} (${doc_count})`, { only });
    if (isChosen) shown.setAttribute("aria-current", "true");
    return element("li", {}, shown);
  });
  return element("section", {}, element("h2", {}, FACETS[name]), element("ul", {}, ...values));
}

function show({ hits: { total, hits }, aggregations }) {
  const { doc_count, ...facets } = aggregations.all?.matches ?? { doc_count: total.value, ...aggregations };
  const byId = (id) => document.getElementById(id);
  byId("status").textContent = `${doc_count} papers${like ? " like this one" : ""}`;
  byId("hits").start = (page - 1) * SIZE + 1;
  byId("hits").replaceChildren(...hits.map(hit));
  byId("facets").replaceChildren(...Object.keys(FACETS).map((name) => facet(name, facets[name].buckets)));
  const before = page > 1 ? [link("Previous", { page: page - 1 })] : [];
  const reached = Math.min(doc_count, like || (query && (encode || words || table)) ? DEEPEST : 10000);
  const after = page * SIZE < reached ? [link("Next", { page: page + 1 })] : [];
  byId("pages").replaceChildren(...before, ...after);
}

document.querySelector("input").value = query;
try {
  const fields = { title: { number_of_fragments: 0 }, abstract: { number_of_fragments: 2 } };
  const highlight = { require_field_match: false, pre_tags: [OPEN], post_tags: [CLOSE], fields };
  const { counted, ...ranked } = await ranking();
  const counts = Object.fromEntries(Object.keys(FACETS).map((name) => [name, { terms: { field: name, size: 10 } }]));
  show(await post(search, {
    ...ranked,
    ...(query && !like && { highlight }),
    from: (page - 1) * SIZE,
    size: SIZE,
    track_total_hits: !counted,
    _source: ["title", "authors", "year", "venue", "url"],
    aggs: counted ? { all: { global: {}, aggs: { matches: { filter: counted, aggs: counts } } } } : counts,
  }));
} catch (error) {
  document.getElementById("status").textContent = error.message;
}
