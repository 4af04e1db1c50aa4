"""Author disambiguation: signatures of one name are grouped by author, from the vectors of their papers alone.

This uses S2AND's data (Subramanian et al., JCDL 2021) and its measure, B-cubed, but not its system, which learns from
names, affiliations, coauthors and more, with the vector as one feature of many. SciRepEval's leaderboard uses that
system, so its numbers are higher and can't be compared with these. The numbers here compare encoders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import orjson

from corpora.cleaning import text_of
from corpora.documents import read_within
from corpora.errors import InputError, require
from corpora.opening import COMPRESSED_SUFFIXES, open_binary
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors
from eval.files.text import file_in, json_objects, paper_text, require_line
from eval.measures.classes import BCubed, b_cubed, b_cubed_of_each
from eval.outcome import Outcome
from eval.statistics.interval import bootstrap_statistic
from products.authors.authors import cut_block

LARGEST = 4 << 30
"""Bytes of a JSON file; S2AND's own are below 1 GB."""

LARGEST_BLOCK = 60
"""Most signatures in a block of full names. In larger blocks too many people share a full name."""


@dataclass(frozen=True, slots=True)
class Signatures:
    """Authors' names on papers, and the true author of each.

    Attributes:
        papers: Texts of the papers.
        paper_of: Signature to the id of its paper.
        blocks: Block, such as `j smith`, to its signatures. Signatures are compared within a block only.
        author_of: Signature to its true author.
        left_out: Signatures whose true author is not known.
        repeated: Repeated papers; the first copy is kept.
    """

    papers: Mapping[str, Text]
    paper_of: Mapping[str, str]
    blocks: Mapping[str, tuple[str, ...]]
    author_of: Mapping[str, str]
    left_out: int = 0
    repeated: int = 0


def read_s2and(path: Path) -> dict[str, Signatures]:
    """Read S2AND's data sets by name: each one's signatures in S2AND's blocks (`block` of `author_info`).

    The folder holds `NAME_papers.json`, `NAME_signatures.json` and `NAME_clusters.json`, or has such folders in it,
    such as `pubmed`, `qian` and `zbmath`. Raises `InputError` if there is none, or a file is missing or malformed.
    """
    endings = [f"_papers.json{packed}" for packed in COMPRESSED_SUFFIXES]
    found = sorted(file for end in endings for depth in ("", "*/") for file in path.glob(f"{depth}*{end}"))
    require(found, f"{path} has no data set of S2AND: there is no NAME_papers.json in it or in its subfolders.")
    names = [file.name.partition("_papers.json")[0] for file in found]
    return {name: _data_set(file.parent, name) for name, file in zip(names, found, strict=True)}


def read_named_papers(path: Path, *, blocks: int = 50) -> Signatures:
    """Treat each full name of a corpus as one author, in blocks of the first letter and the last name.

    Silver truth: two people of one name count as one, and one who writes their name in two ways counts as two. Names
    whose first part is an initial say too little, and are left out. The corpus is JSON lines of papers with `id`,
    `title`, `abstract` and `authors`, a list of names. Returns the largest blocks of up to 60 signatures, of authors
    who have two or more each. Raises `InputError` if a line is malformed, or no block has two such authors.
    """
    papers: dict[str, Text] = {}
    by_block: dict[str, dict[str, list[str]]] = {}
    left_out = again = 0
    for number, paper in json_objects(path):
        text = paper_text(paper, "id")
        authors = paper.get("authors") or []
        require_line(
            text.id and isinstance(authors, list) and all(isinstance(name, str) for name in authors),
            path,
            number,
            'a paper has an "id", and "authors" is a list of names',
        )
        if text.id in papers:
            again += 1
            continue
        papers[text.id] = text
        for name in dict.fromkeys(" ".join(name.lower().split()) for name in authors):
            first, _, rest = name.partition(" ")
            if not rest or len(first.rstrip(".")) < 2:
                left_out += 1
                continue
            of_block = by_block.setdefault(f"{first[0]} {rest.rpartition(' ')[2]}", {})
            of_block.setdefault(name, []).append(text.id)
    repeated = {
        block: {name: own for name, own in authors.items() if len(own) > 1} for block, authors in by_block.items()
    }
    sizes = {block: sum(map(len, authors.values())) for block, authors in repeated.items() if len(authors) > 1}
    usable = [block for block, size in sizes.items() if size <= LARGEST_BLOCK]
    require(usable, f"{path} has no two authors with two papers each who share a last name and a first letter.")
    chosen = sorted(usable, key=lambda block: (-sizes[block], block))[:blocks]
    rows = [
        (f"{paper}|{name}", paper, block, name)
        for block in chosen
        for name, own in repeated[block].items()
        for paper in own
    ]
    return replace(_signatures(papers, rows, left_out), repeated=again)


def _data_set(folder: Path, name: str) -> Signatures:
    papers_of, signatures, clusters = (
        _json(file_in(folder, f"{name}_{kind}.json")) for kind in ("papers", "signatures", "clusters")
    )
    try:
        papers = {
            str(key): Text(str(key), text_of(paper.get("title")), text_of(paper.get("abstract")))
            for key, paper in papers_of.items()
        }
        author_of = {str(s): str(key) for key, cluster in clusters.items() for s in cluster["signature_ids"]}
        rows = [
            (str(key), str(row["paper_id"]), str(row["author_info"]["block"]), author_of[str(key)])
            for key, row in signatures.items()
            if str(key) in author_of
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"The files of {name} in {folder} are not in S2AND's form ({error!r}).") from error
    return _signatures(papers, rows, len(signatures) - len(rows))


def _signatures(papers: Mapping[str, Text], rows: list[tuple[str, str, str, str]], left_out: int) -> Signatures:
    """Gather rows of signature, paper, block and author; papers that no row names are dropped."""
    blocks: dict[str, list[str]] = {}
    for signature, _, block, _ in rows:
        blocks.setdefault(block, []).append(signature)
    paper_of = {signature: paper for signature, paper, _, _ in rows}
    return Signatures(
        {paper: papers[paper] for paper in dict.fromkeys(paper_of.values()) if paper in papers},
        paper_of,
        {block: tuple(names) for block, names in blocks.items()},
        {signature: author for signature, _, _, author in rows},
        left_out,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        with open_binary(path) as stream:
            members: dict[str, Any] = orjson.loads(read_within(stream, LARGEST))
    except ValueError as error:
        raise InputError(f"{path} can't be read as JSON ({error}).") from error
    require(isinstance(members, dict), f"{path} is not in S2AND's form: it is no JSON object.")
    return members


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
