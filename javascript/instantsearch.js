/**
 * A search client of InstantSearch over the HTTP API of `ses serve`: widgets of Algolia's InstantSearch
 * (instantsearch.js, React, Vue, Angular) search an index of ses. It needs no other package.
 */

const EVERY_VALUE = 1000; // the most values of a field that the service counts
const [WINDOW, EVERY_PAPER] = [100, 10000]; // papers that the pages of a search and of a list reach

/**
 * Return a search client.
 * @param {string} url Address of the service, such as `https://library.example/ses`.
 * @param {object} [options]
 * @param {string} [options.key] An API key of the service; everybody who sees the page can read it.
 * @param {Record<string, string | number | boolean>} [options.parameters] Parameters of every search, such as
 *   `{mode: "lexical", window: 500}`.
 * @param {string[]} [options.numbers] Facets of numbers, which have a smallest and a largest value.
 * @param {string[]} [options.highlighted] Attributes in which words are marked unless the request names others.
 * @param {typeof fetch} [options.fetch] Another `fetch`.
 */
export function sesSearchClient(url, options = {}) {
  const { key, parameters = {}, numbers = ["year"], highlighted = ["title", "abstract", "authors", "venue"] } = options;
  const send = options.fetch ?? globalThis.fetch.bind(globalThis);

  async function ask(path, asked) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked)) {
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
    }
    const headers = key ? { "X-API-Key": key } : {};
    const answer = await send(`${url.replace(/\/$/, "")}/v1/${path}?${query}`, { headers });
    const content = await answer.json().catch(() => ({}));
    if (answer.ok) return content;
    const said = [content.detail ?? `The service answered ${answer.status}.`, content.hint].filter(Boolean);
    throw Object.assign(new Error(said.join(" ")), { status: answer.status });
  }

  async function search({ indexName, params = {} }) {
    const began = performance.now();
    const { query = "", page = 0, hitsPerPage = 20 } = params;
    const most = Math.min(params.maxValuesPerFacet ?? 100, EVERY_VALUE);
    const facets = list(params.facets);
    const reach = query ? (parameters.window ?? WINDOW) : EVERY_PAPER;
    const offset = Math.min(page * hitsPerPage, reach);
    if (facets.includes("*")) throw new Error("Name the facets: ses does not count all fields at once.");
    const found = await ask("search", {
      ...parameters,
      ...place(indexName),
      query,
      size: Math.min(hitsPerPage, reach - offset),
      offset,
      filter: conditions(params),
      ...(facets.length && { facets: facets.join(","), facet_size: facets.some(isNumber) ? EVERY_VALUE : most }),
    });
    const reached = Math.min(found.candidates, reach);
    const counts = Object.entries(found.facets?.counts ?? {});
    return {
      hits: found.hits.map((hit) => asHit(hit, params)),
      nbHits: found.candidates,
      page,
      nbPages: hitsPerPage ? Math.ceil(reached / hitsPerPage) : 0,
      hitsPerPage,
      facets: Object.fromEntries(counts.map(([name, values]) => [name, Object.fromEntries(values.slice(0, most))])),
      facets_stats: Object.fromEntries(counts.filter(([name]) => isNumber(name)).flatMap(stats)),
      exhaustiveNbHits: !query,
      exhaustiveFacetsCount: counts.every(([, values]) => values.length < most),
      processingTimeMS: Math.round(performance.now() - began),
      query,
      params: "",
      index: indexName,
      userData: found.notes.length ? found.notes : undefined,
    };
  }

  async function values({ indexName, params }) {
    const began = performance.now();
    const { facetName, facetQuery = "", maxFacetHits = 10, query = "" } = params;
    const { mode, window } = parameters;
    const { index } = place(indexName);
    const found = await ask(`facets/${encodeURIComponent(facetName)}`, {
      ...(mode && { mode }),
      ...(window && { window }),
      ...(index && { index }),
      query,
      value: facetQuery,
      size: maxFacetHits,
      filter: conditions(params),
    });
    const [before, after] = tags(params);
    const typed = facetQuery.trim().toLowerCase();
    const facetHits = found.values.map(({ value, count }) => {
      const at = typed ? String(value).toLowerCase().indexOf(typed) : -1;
      const spans = at < 0 ? [] : [[at, at + typed.length]];
      return { value: String(value), highlighted: marked([...String(value)], spans, before, after), count };
    });
    const processingTimeMS = Math.round(performance.now() - began);
    return { facetHits, exhaustiveFacetsCount: found.values.length < maxFacetHits, processingTimeMS };
  }

  async function similar({ indexName, objectID, maxRecommendations = 10, queryParameters = {} }) {
    const { index } = place(indexName);
    const asked = { ...(index && { index }), size: maxRecommendations || 10, filter: conditions(queryParameters) };
    const found = await ask(`similar/${escapedTwice(objectID)}`, asked);
    return { hits: found.hits.map((hit) => asHit(hit, queryParameters)), nbHits: found.candidates, index: indexName };
  }

  function asHit({ paper: { extra, ...paper }, snippets = [], rank, score, link }, params) {
    const [before, after] = tags(params);
    const hit = { ...extra, ...paper, objectID: paper.id, link, rank, score };
    const result = (text, spans) => ({
      value: marked([...text], spans, before, after),
      matchLevel: spans.length ? "partial" : "none",
      matchedWords: [...new Set(spans.map(([from, to]) => [...text].slice(from, to).join("").toLowerCase()))],
    });
    const whole = (name, value) => result(String(value), spansIn(String(value), name, snippets));
    const named = list(params.attributesToHighlight ?? highlighted).filter((name) => hit[name] != null);
    hit._highlightResult = Object.fromEntries(named.map((name) => [
      name, Array.isArray(hit[name]) ? hit[name].map((one) => whole(name, one)) : whole(name, hit[name]),
    ]));
    const parts = Object.fromEntries(snippets.map((one) => [one.field, result(one.text, one.spans)]));
    hit._snippetResult = { ...hit._highlightResult, ...parts };
    return hit;
  }

  const isNumber = (name) => numbers.includes(name);
  return {
    search: async (requests) => ({
      results: await Promise.all(requests.map((one) => (one.type === "facet" ? values(facetOf(one)) : search(one)))),
    }),
    searchForFacetValues: (requests) => Promise.all(requests.map(values)),
    getRecommendations: async (requests) => ({ results: await Promise.all(requests.map(similar)) }),
  };
}

/** Return the index of a name, and the order of `papers/sort/-year`, as a `sortBy` widget gives it. */
function place(indexName = "") {
  const [index, sort] = indexName.split("/sort/");
  return { ...(index && { index }), ...(sort && { sort }) };
}

/** Return the filters of a request: those of refinements, and `filters` in the grammar of ses. */
function conditions({ facetFilters, numericFilters, filters, tagFilters }) {
  if (list(tagFilters).length) throw new Error("ses has no tags of Algolia: use a facet.");
  const any = (written) => (one) => `(${list(one).map(written).join(" or ")})`;
  return [...list(facetFilters).map(any(hasValue)), ...list(numericFilters).map(any(compares)), ...list(filters)];
}

function hasValue(text) {
  const [, name, excluded, value] = /^([^:]+):(-?)(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new Error(`A facet's filter is FIELD:VALUE, not ${text}`);
  return `${excluded && "not "}${name} == ${quoted(value.replace(/^\\-/, "-"))}`;
}

function compares(text) {
  const number = /^\s*([^\s<>=!]+)\s*(<=|>=|!=|<|>|=)\s*(-?[\d.]+(?:e[+-]?\d+)?)\s*$/i;
  const [, name, operator, value] = number.exec(text) ?? [];
  if (name === undefined) throw new Error(`A number's filter is like year>=2020, not ${text}`);
  return `${name} ${operator} ${value}`;
}

/** Return a value in quotes, so that no sign in it belongs to the filter. */
const quoted = (value) => `"${value.replace(/["\\]/g, "\\$&")}"`;

/** Return an id as a part of a path that neither clients nor proxies change. */
const escapedTwice = (id) => encodeURIComponent(encodeURIComponent(id).replaceAll(".", "%2E"));

const list = (value) => (value == null || value === "" ? [] : [value].flat());

const tags = (params) => [params.highlightPreTag ?? "<em>", params.highlightPostTag ?? "</em>"];

const facetOf = ({ facet, indexName, params }) => ({ indexName, params: { ...params, facetName: facet } });

/** Return the smallest and largest number of a facet; nothing where not all values were counted. */
function stats([name, values]) {
  const known = values.map(([value]) => Number(value));
  const complete = known.length > 0 && known.length < EVERY_VALUE;
  return complete ? [[name, { min: Math.min(...known), max: Math.max(...known) }]] : [];
}

/** Return where the snippets of a field mark its whole text. Positions count characters, as those of ses do. */
function spansIn(text, field, snippets) {
  return snippets.filter((one) => one.field === field && text.includes(one.text)).flatMap((one) => {
    const start = [...text.slice(0, text.indexOf(one.text))].length;
    return one.spans.map(([from, to]) => [from + start, to + start]);
  });
}

function marked(characters, spans, before, after) {
  let [text, done] = ["", 0];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (from < done) continue;
    text += characters.slice(done, from).join("") + before + characters.slice(from, to).join("") + after;
    done = to;
  }
  return text + characters.slice(done).join("");
}
