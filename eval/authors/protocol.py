"""Author disambiguation: signatures of one name are grouped by author, from the vectors of their papers alone.

This uses S2AND's data (Subramanian et al., JCDL 2021) and its measure, B-cubed, but not its system, which learns from
names, affiliations, coauthors and more, with the vector as one feature of many. SciRepEval's leaderboard uses that
system, so its numbers are higher and can't be compared with these. The numbers here compare encoders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from corpora.errors import require
from encoders.models.formats import Format
from eval.authors.signatures import Signatures
from eval.embedder import Embedder, Vectors
from eval.measures.clusters import BCubed, b_cubed, b_cubed_of_each
from eval.outcome import Outcome
from eval.statistics.interval import bootstrap_statistic
from products.authors.authors import cut_block

THRESHOLDS = tuple(step / 100 for step in range(101))
"""Cosine distances to try as the threshold above which clusters are not joined."""

Method = Literal["agglomerative", "seeds"]
"""`agglomerative` joins clusters by the mean distance between them (average linkage, as S2AND's clusterer does) up to a
threshold. The blocks are split into halves, and each half is cut at the threshold with the largest B-cubed F1 on the
other. `seeds` knows one signature of each author, the first by id, and assigns the others to the nearest. The known
signatures are not measured."""

METHODS: tuple[Method, ...] = get_args(Method)

Clusters = dict[str, str]
"""Signature to the name of its cluster."""


def evaluate_authors(data: Signatures, embedder: Embedder, method: Method = "agglomerative") -> Outcome:
    """Cluster the signatures of each block by vectors of titles with abstracts, and measure B-cubed over all.

    A signature whose paper has no vector is a cluster of its own, and is counted. Precision, recall and F1 have
    intervals over blocks. Raises `InputError` if there are no signatures, or one block only and no seeds, and
    `UnavailableError` if scipy isn't installed.
    """
    require(data.paper_of, "There are no signatures to cluster.")
    require(data.papers, "None of the signatures' papers has a text: the files belong to different data sets.")
    require(
        method == "seeds" or len(data.blocks) >= 2,
        "A threshold is fitted on some blocks and used on others: give two or more, or use seeds.",
    )
    vectors = embedder(list(data.papers.values()), Format.PRX)
    clusters = _by_seeds(data, vectors) if method == "seeds" else _agglomerated(data, vectors)
    clustered = {block: [name for name in names if name in clusters] for block, names in data.blocks.items()}
    measured = {block: names for block, names in clustered.items() if names}
    require(measured, "Every author has one signature only, its seed: there is nothing to cluster.")
    names = [name for of_block in measured.values() for name in of_block]
    sizes = np.array([len(of_block) for of_block in measured.values()], dtype=np.float64)
    starts = np.cumsum([0, *sizes[:-1].astype(int)])
    # Some of S2AND's authors have signatures in several blocks: recall counts all of them.
    of_each = b_cubed_of_each([data.author_of[name] for name in names], [clusters[name] for name in names])
    precision, recall = (np.add.reduceat(values, starts) for values in of_each)
    cells = {
        "B3 precision": bootstrap_statistic(_mean, precision, sizes),
        "B3 recall": bootstrap_statistic(_mean, recall, sizes),
        "B3 F1": bootstrap_statistic(lambda p, r, n: BCubed(_mean(p, n), _mean(r, n)).f1, precision, recall, sizes),
    }
    per_unit = {
        "B3 precision": dict(zip(measured, (precision / sizes).tolist(), strict=True)),
        "B3 recall": dict(zip(measured, (recall / sizes).tolist(), strict=True)),
    }
    counts = {
        "signatures": int(sizes.sum()),
        "blocks": len(measured),
        "authors": len({data.author_of[name] for name in clusters}),
        "signatures_given_as_seeds": len(data.paper_of) - len(clusters),
        "signatures_without_vector": sum(data.paper_of[name] not in vectors.rows for name in clusters),
        "signatures_without_author": data.left_out,
        "papers_repeated": data.repeated,
    }
    return Outcome(cells, per_unit, counts)


def _mean(sums: np.ndarray, sizes: np.ndarray) -> float:
    return float(sums.sum() / sizes.sum())


def _agglomerated(data: Signatures, vectors: Vectors) -> Clusters:
    # By size, then alternately, so that both halves have large blocks and small ones.
    ordered = sorted(data.blocks, key=lambda block: (-len(data.blocks[block]), block))
    halves = [[_cuts(block, data, vectors) for block in half] for half in (ordered[::2], ordered[1::2])]
    clusters: Clusters = {}
    for fitted, used in (halves, halves[::-1]):
        best = max(range(len(THRESHOLDS)), key=lambda step: _f1(_joined(fitted, step), data))
        clusters |= _joined(used, best)
    return clusters


def _joined(cuts: Iterable[Sequence[Clusters]], step: int) -> Clusters:
    return {name: cluster for of_block in cuts for name, cluster in of_block[step].items()}


def _f1(clusters: Clusters, data: Signatures) -> float:
    return b_cubed([data.author_of[name] for name in clusters], list(clusters.values())).f1


def _cuts(block: str, data: Signatures, vectors: Vectors) -> Sequence[Clusters]:
    """Cluster a block at each threshold."""
    known, alone = _known(data.blocks[block], block, data, vectors)
    if len(known) < 2:
        return [alone | dict.fromkeys(known, f"{block}:0")] * len(THRESHOLDS)
    cuts = cut_block(vectors.directions(data.paper_of[name] for name in known), THRESHOLDS)
    return [alone | {name: f"{block}:{of}" for name, of in zip(known, cut, strict=True)} for cut in cuts]


def _by_seeds(data: Signatures, vectors: Vectors) -> Clusters:
    clusters: Clusters = {}
    for block, names in data.blocks.items():
        known, alone = _known(sorted(names), block, data, vectors)
        clusters |= alone
        seeds = {data.author_of[name]: name for name in reversed(known)}.values()
        if known:
            ours, theirs = (vectors.directions(data.paper_of[name] for name in names) for names in (known, seeds))
            of_each = zip(known, (ours @ theirs.T).argmax(axis=1).tolist(), strict=True)
            clusters |= {name: f"{block}:{seed}" for name, seed in of_each if name not in seeds}
    return clusters


def _known(names: Sequence[str], block: str, data: Signatures, vectors: Vectors) -> tuple[list[str], Clusters]:
    """Return the signatures that have a vector, and for each other signature a cluster of its own."""
    known = [name for name in names if data.paper_of[name] in vectors.rows]
    return known, {name: f"{block}::{name}" for name in set(names).difference(known)}
