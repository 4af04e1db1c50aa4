// Searches a cluster through Searchkit with the hooks of the example, and prints what the widgets would get, as JSON.
import createClient from "@searchkit/api";
import { meaning } from "./examples/searchkit.mjs";

const [service, host, cluster] = process.argv.slice(2);
const client = createClient({
  connection: { host },
  search_settings: {
    search_attributes: [{ field: "title", weight: 3 }, "abstract"],
    result_attributes: ["title", "year", "venue"],
    highlight_attributes: ["title"],
    facet_attributes: [{ attribute: "venue", field: "venue", type: "string" }],
    sorting: { _year: { field: "year", order: "desc" } },
  },
});
const hooks = meaning({ service, cluster, index: "papers" });

/** Search, and return the first answer. */
async function found(params, indexName = "papers", asked = hooks) {
  const { results } = await client.handleRequest([{ indexName, params }], { hooks: asked });
  const { hits = [], facets, facetHits, nbHits } = results[0];
  const titles = hits.map((hit) => hit._highlightResult?.title?.value);
  return { ids: hits.map((hit) => hit.objectID), titles, facets, facetHits, count: nbHits };
}

const filtered = { facetFilters: [["venue:Nature"]], facets: ["venue"] };
console.log(JSON.stringify({
  both: await found({ query: "galaxy", hitsPerPage: 61, highlightPreTag: "[", highlightPostTag: "]" }),
  words: await found({ query: "galaxy", hitsPerPage: 61 }, "papers", {}),
  second: await found({ query: "galaxy", hitsPerPage: 10, page: 1 }),
  nature: await found({ query: "galaxy", hitsPerPage: 61, ...filtered }),
  sorted: await found({ query: "galaxy", hitsPerPage: 61 }, "papers_year"),
  listed: await found({ query: "", hitsPerPage: 5 }),
  values: await found({ query: "", facetName: "venue", facetQuery: "élan" }),
}));
