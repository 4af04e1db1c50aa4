"""Triplets from bands of neighbours in a citation graph's embeddings (SciNCL, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from corpora.errors import InputError
from corpora.installed import extra, needing
from corpora.lazy import np
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made
from training.data.builders.graph import Graph, others, read_graph

_QUERIES_AT_ONCE = 256


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Make triplets of every paper that cites or is cited.

    The embeddings are a truncated singular value decomposition of the citation matrix, made symmetric and divided by
    the roots of the papers' degrees; SciNCL trained its own with PyTorch BigGraph on 52 million papers. Neighbours are
    exact, by cosine. A paper's positives and negatives are paired at random, and the longer list is cut.

    Options: `references` is the field with what a paper cites (or the file `graph`, as for the builder citations),
    `dimension` that of the embeddings. Positives are the `positives` neighbours that end with the one of rank
    `positive_end`, hard negatives the `hard` ones that end with rank `hard_end`, and `easy` negatives are drawn from
    papers of higher ranks. `InputError` if no paper cites another, the ranks do not fit each other, or there are fewer
    papers than ranks; `UnavailableError` if scipy is not installed.
    """
    count, first, end, last = (int(options[name]) for name in ("positives", "positive_end", "hard_end", "hard"))
    if not count <= first <= end - last:
        raise InputError("Neighbours need positives <= positive_end <= hard_end - hard; change these options.")
    graph = read_graph(source, options["references"])
    linked = sorted({*graph.cited, *(row for rows in graph.cited.values() for row in rows)})
    source.left_out["neither cites nor is cited"] += len(graph.ids) - len(linked)
    if len(linked) - 1 < end:
        raise InputError(
            f"The citation graph has {len(linked):,} papers, and hard_end asks for neighbours up to rank {end:,}; "
            "lower positive_end and hard_end."
        )
    vectors = embedded(graph, linked, int(options["dimension"]), source.seed)
    for place, near in enumerate(_neighbours(vectors, end)):
        query = linked[place]
        draw = Random(f"{source.seed} {graph.ids[query]}")  # noqa: S311 - not for secrets
        easy = others(draw, int(options["easy"]), len(linked), {place, *near})
        positives, negatives = near[first - count : first], [*near[end - last :], *easy]
        draw.shuffle(positives)
        draw.shuffle(negatives)
        for positive, negative in zip(positives, negatives, strict=False):
            yield graph.triplet(query, linked[positive], linked[negative])


def embedded(graph: Graph, linked: list[int], dimension: int, seed: int) -> np.ndarray:
    """Return unit vectors of the papers with links: float64 (papers, dimension)."""
    with needing("Neighbours need scipy", extra("train")):
        from scipy.sparse import coo_array, diags_array
        from scipy.sparse.linalg import svds
    places = {row: place for place, row in enumerate(linked)}
    edges = [(places[query], places[row]) for query, rows in graph.cited.items() for row in rows]
    both = np.array([*edges, *((there, here) for here, there in edges)])
    links = coo_array((np.ones(len(both)), both.T), shape=(len(linked), len(linked))).tocsr()
    links.data[:] = 1
    roots = diags_array(1 / np.sqrt(links.sum(axis=1)))
    start = np.random.default_rng(seed).random(len(linked))
    left, values, _ = svds(roots @ links @ roots, k=min(dimension, len(linked) - 2), v0=start)
    vectors = left * np.sqrt(values)
    unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    return unit


def _neighbours(vectors: np.ndarray, count: int) -> Iterator[list[int]]:
    """Yield the places of each paper's nearest others, nearest first."""
    for start in range(0, len(vectors), _QUERIES_AT_ONCE):
        scores = vectors[start : start + _QUERIES_AT_ONCE] @ vectors.T
        scores[np.arange(len(scores)), np.arange(start, start + len(scores))] = -np.inf
        yield from np.argsort(-scores, axis=1, kind="stable")[:, :count].tolist()


BUILDER = Builder(
    "triplet",
    {"references": "references_in_set", "dimension": 128}
    | {"positives": 5, "positive_end": 25, "hard": 2, "hard_end": 4000, "easy": 3},
    build,
    files=("graph",),
)
