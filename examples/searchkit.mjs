/**
 * Hooks of Searchkit (the package @searchkit/api) that let it search an index of ses by words and by meaning.
 * Searchkit asks the cluster; the hooks ask `ses serve` for the query's vector, and for the values of a facet.
 *
 *   const hooks = meaning({service: "http://127.0.0.1:8765", cluster: "opensearch", index: "papers"});
 *   const answer = await createClient(config).handleRequest(requests, {hooks});
 */

/**
 * Return the hooks `beforeSearch` and `afterSearch`.
 * @param {object} options
 * @param {string} options.service Address of `ses serve`; the server of Searchkit asks it, not the browser.
 * @param {"opensearch" | "elasticsearch"} options.cluster The product that Searchkit asks.
 * @param {string} options.index The index, whose model makes the vectors.
 * @param {string} [options.field] The vector field of its papers.
 * @param {string} [options.format] The format of a query's vector: that of the field, or `qry`.
 * @param {number} [options.window] Papers that each of the two ways contributes; paging ends there.
 * @param {number} [options.words] Share of the words in the score on OpenSearch, from 0 to 1.
 * @param {string} [options.key] An API key with the scopes search and encode.
 */
export function meaning(options) {
  const { service, cluster, index, field = "vector_prx", format = "prx", window = 100, words = 0.5, key } = options;
  const headers = { "Content-Type": "application/json", ...(key && { "X-API-Key": key }) };

  async function ask(path, body) {
    const sent = body ? { method: "POST", body: JSON.stringify(body) } : {};
    const answer = await fetch(service + path, { headers, ...sent, signal: AbortSignal.timeout(10_000) });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.detail);
    return content;
  }

  /** Return the vectors of queries by query, in one request. */
  async function encoded(queries) {
    const texts = [...new Set(queries)];
    if (!texts.length) return new Map();
    const { vectors } = await ask("/v1/encode", { texts, format, index });
    return new Map(texts.map((text, at) => [text, vectors[at]]));
  }

  // A list in the order of a field, and the values of a facet, need no ranking.
  const isRanked = ({ body, request: { params } }) => params?.query?.trim() && !body.sort && !params.facetName;

  function joined(body, vector) {
    const filter = body.query.bool.filter ?? [];
    const where = filter.length ? { filter: { bool: { filter } } } : {};
    if (cluster === "elasticsearch") {
      // Elasticsearch adds up the scores of words and of the vector. A cosine is at most 1, and a score of words often
      // 10 or 20, so the vector has a boost.
      const knn = { field, query_vector: vector, k: window, num_candidates: 2 * window, boost: 10, ...where };
      return { ...body, knn };
    }
    const queries = [body.query, { knn: { [field]: { vector, k: window, ...where } } }];
    // `hybrid` itself counts only papers that may be among its best.
    const matches = { filter: { bool: { should: queries } }, aggs: body.aggs ?? {} };
    return {
      ...body,
      query: { hybrid: { queries, pagination_depth: window } },
      aggs: { all: { global: {}, aggs: { matches } } },
      search_pipeline: {
        phase_results_processors: [{
          "normalization-processor": {
            normalization: { technique: "min_max" },
            combination: { technique: "arithmetic_mean", parameters: { weights: [words, 1 - words] } },
          },
        }],
      },
    };
  }

  /** Return a response with its counts where Searchkit reads them. */
  function counted(response) {
    if (!response.aggregations?.all) return response;
    const { doc_count: value, ...aggregations } = response.aggregations.all.matches;
    return { ...response, hits: { ...response.hits, total: { value, relation: "eq" } }, aggregations };
  }

  return {
    async beforeSearch(requests) {
      const vectors = await encoded(requests.filter(isRanked).map(({ request }) => request.params.query));
      const changed = (one) => ({ ...one, body: joined(one.body, vectors.get(one.request.params.query)) });
      return requests.map((one) => (isRanked(one) ? changed(one) : one));
    },

    /** Replace the values that a regular expression of Searchkit finds by those of ses, in any script and case. */
    async afterSearch(requests, responses) {
      return Promise.all(requests.map(async ({ request: { params } }, at) => {
        if (!params?.facetName) return counted(responses[at]);
        const { facetName, facetQuery, query = "" } = params;
        const asked = new URLSearchParams({ index, value: facetQuery, query, mode: "lexical" });
        const { values } = await ask(`/v1/facets/${encodeURIComponent(facetName)}?${asked}`);
        const buckets = values.map(({ value, count }) => ({ key: value, doc_count: count }));
        return { ...responses[at], aggregations: { [facetName]: { buckets } } };
      }));
    },
  };
}
