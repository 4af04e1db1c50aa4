// A page that searches an index of ses in a cluster, without a program of its own between: only through the proxy of
// nginx.conf. What is searched is in the page's address, so links, bookmarks and the button Back work.
const { cluster, search, vector: field, measure, words, table, encode } = document.documentElement.dataset;
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

/** The query for papers with words of the query in a field. A search by meaning searches their other spellings too. */
let inField = (field, boost) => ({ match: { [field]: { query, boost } } });

/** The query for papers with words of the query, of which those with words in the title are better. */
const byWords = () => ({ bool: { must: [inField("title_abstract", 1)], should: [inField("title", 0.3)], filter } });

/** Both, ranked as a search of ses: the legs are joined, and then the papers most like a paper count too. */
async function joined(vector) {
  const { NEIGHBOURS, TABLE_WEIGHTS, joinLegs, paperVectors, withNeighbours } = await import("./ranking.js");
  const { weight, pool, nearest: near, first } = NEIGHBOURS;
  const sort = [{ _score: "desc" }, { id: "asc" }];
  const queries = [byWords(), nearest(vector)];
  const legs = await Promise.all(queries.map((one) => post(search, { query: one, size: DEEPEST, sort, _source: false })));
  const found = joinLegs(legs, encode ? [0.5, 0.5] : TABLE_WEIGHTS, [null, measure], DEEPEST);
  const values = found.slice(0, pool).map(({ id }) => id);
  const best = await post(search, { query: { ids: { values } }, size: pool, fields: [field], _source: false });
  const vectors = paperVectors(best, field);
  const ranked = withNeighbours(found, vectors, weight, near, first, 1).map(({ id }) => id);
  return { ranked, counted: { bool: { should: queries } } };
}

/** The vector of the query by one of the ways that index.html names, or null: then papers are ranked by words alone. */
async function meaning() {
  if (!encode && !words && !table) return null;
  const { QueryTable, directionOf, matching, spelledOf, vectorsOf } = await import("./query-vector.js");
  const known = new Map(); // what the cluster knows of each word, such as other spellings
  inField = (field, boost) => matching(spelledOf(query, known), [field], boost);
  if (encode) return (await post(encode, { texts: [query], format: "qry" })).vectors[0];
  if (table) {
    const answer = await fetch(table);
    if (!answer.ok) throw new Error(`The table for queries is missing (${answer.status}).`);
    return new QueryTable(await answer.arrayBuffer()).vector(query);
  }
  const vectors = await vectorsOf(query, (ids) => post(words, { ids }), known);
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

function show({ hits: { total, hits }, aggregations }, reached) {
  const { doc_count, ...facets } = aggregations.all?.matches ?? { doc_count: total.value, ...aggregations };
  const byId = (id) => document.getElementById(id);
  byId("status").textContent = `${doc_count} papers${like ? " like this one" : ""}`;
  byId("hits").start = (page - 1) * SIZE + 1;
  byId("hits").replaceChildren(...hits.map(hit));
  byId("facets").replaceChildren(...Object.keys(FACETS).map((name) => facet(name, facets[name].buckets)));
  const before = page > 1 ? [link("Previous", { page: page - 1 })] : [];
  const after = page * SIZE < Math.min(doc_count, reached) ? [link("Next", { page: page + 1 })] : [];
  byId("pages").replaceChildren(...before, ...after);
}

document.querySelector("input").value = query;
try {
  const fields = { title: { number_of_fragments: 0 }, abstract: { number_of_fragments: 2 } };
  const highlight = { require_field_match: false, pre_tags: [OPEN], post_tags: [CLOSE], fields };
  const { counted, ranked, ...given } = await ranking();
  const counts = Object.fromEntries(Object.keys(FACETS).map((name) => [name, { terms: { field: name, size: 10 } }]));
  const from = (page - 1) * SIZE;
  const shown = ranked?.slice(from, from + SIZE);
  const found = await post(search, {
    ...(ranked ? { query: { ids: { values: shown } } } : { ...given, from }),
    ...(query && !like && { highlight: { ...highlight, highlight_query: byWords() } }),
    size: SIZE,
    track_total_hits: !ranked,
    _source: ["title", "authors", "year", "venue", "url"],
    aggs: ranked ? { all: { global: {}, aggs: { matches: { filter: counted, aggs: counts } } } } : counts,
  });
  if (ranked) found.hits.hits.sort((one, other) => shown.indexOf(one._id) - shown.indexOf(other._id));
  show(found, ranked?.length ?? (like ? DEEPEST : 10000));
} catch (error) {
  document.getElementById("status").textContent = error.message;
}
