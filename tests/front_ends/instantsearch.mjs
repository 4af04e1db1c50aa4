// Searches a service through the helper of Algolia's widgets, and prints what the widgets would show, as JSON.
import algoliasearchHelper from "algoliasearch-helper";
import { sesSearchClient } from "./instantsearch.js";

const client = sesSearchClient(process.argv[2], { parameters: { mode: "lexical" } });
const helper = algoliasearchHelper(client, "papers", {
  facets: ["year"],
  disjunctiveFacets: ["venue", "authors"],
  hitsPerPage: 5,
  maxValuesPerFacet: 10,
  highlightPreTag: "[",
  highlightPostTag: "]",
});

/** Search with a state, and return the results as the widgets read them. */
async function found(change) {
  const state = change(helper.state);
  const { content } = await helper.searchOnce(state);
  return {
    ids: content.hits.map((hit) => hit.objectID),
    titles: content.hits.map((hit) => hit._highlightResult.title.value),
    abstracts: content.hits.map((hit) => hit._highlightResult.abstract.value),
    count: content.nbHits,
    pages: content.nbPages,
    venues: content.getFacetValues("venue")?.map(({ name, count, isRefined }) => [name, count, isRefined]),
    years: content.getFacetStats("year"),
  };
}

const values = (typed) => helper.searchForFacetValues("venue", typed, 10, helper.state.setQuery("virus"));
const refused = await client.search([{ indexName: "papers", params: { filters: "yaer = 2000" } }]).catch((error) => error);

const sent = [];
const recorded = (url, options) => (sent.push(options.headers["X-API-Key"]), fetch(url, options));
await sesSearchClient(process.argv[2], { key: "mine", fetch: recorded }).search([{ indexName: "papers" }]);

const narrow = sesSearchClient(process.argv[2], { parameters: { mode: "lexical", window: 12 } });
const pages = [0, 1, 2, 3, 9].map((page) => ({ indexName: "papers", params: { query: "virus", page, hitsPerPage: 5 } }));

console.log(JSON.stringify({
  reached: (await narrow.search(pages)).results.map(({ hits, nbPages }) => [hits.map((hit) => hit.objectID), nbPages]),
  virus: await found((state) => state.setQuery("virus")),
  second: await found((state) => state.setQuery("virus").setPage(1)),
  listed: await found((state) => state.setIndex("papers/sort/title")),
  nature: await found((state) => state.setQuery("virus").addDisjunctiveFacetRefinement("venue", "Nature")),
  both: await found((state) => state.setQuery("virus").addDisjunctiveFacetRefinement("venue", "Nature")
    .addDisjunctiveFacetRefinement("venue", "The Lancet").addNumericRefinement("year", ">=", 2000)),
  odd: await found((state) => state.addDisjunctiveFacetRefinement("venue", 'J. "of" \\ <X>')),
  minus: await found((state) => state.addDisjunctiveFacetRefinement("venue", "\\-minus")),
  without: await found((state) => state.setQuery("virus").setDisjunctiveFacets([]).setFacets(["venue"])
    .addExcludeRefinement("venue", "Nature")),
  values: (await values("lan")).facetHits,
  similar: (await client.getRecommendations([{ indexName: "papers", objectID: "odd//./1", maxRecommendations: 3 }])).results[0].hits.length,
  nothing: await found((state) => state.setQuery("xyzzy")),
  sent,
  refused: [refused.status, refused.message],
}));
