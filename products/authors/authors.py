"""Author disambiguation: which papers of one name are by the same person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.cleaning import text_of
from corpora.errors import InputError, require
from corpora.installed import optional
from search_plugin.words.names import same_person, stored_readings

_Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AuthorName:
    """An author's name as a paper writes it, with the paper's title and abstract; compared within its block only.

    The true author is given if known.
    """

    id: str
    block: str
    name: str
    title: str
    abstract: str
    author: str = ""


def read_blocks(rows: Iterable[tuple[int, _Row]]) -> dict[str, list[AuthorName]]:
    """Read names on papers from the rows of a table or of JSON lines, each with its line number; return them by block.

    A row has `id`, `title`, `abstract`, `name` or `block` or both, and `author` where the truth is known. The block of
    a name is its family name with the first initial. Raises `InputError` if a row lacks one of these, or two have one
    id.
    """
    blocks: dict[str, list[AuthorName]] = defaultdict(list)
    seen: set[str] = set()
    for line, row in rows:
        texts = {key: text_of(row.get(key)) for key in ("id", "block", "name", "title", "abstract", "author")}
        if missing := [key for key in ("id", "title") if not texts[key]]:
            raise InputError(f"Line {line} has no {missing[0]}: each row needs id, title, and name or block.")
        if not texts["name"] and not texts["block"]:
            raise InputError(f"Line {line} has neither name nor block: give one of them.")
        if texts["id"] in seen:
            raise InputError(f"Line {line}: the id {texts['id']} came before; give each row an id of its own.")
        seen.add(texts["id"])
        block = texts["block"] or block_of(texts["name"])
        blocks[block].append(AuthorName(**{**texts, "block": block}))
    require(blocks, "There are no rows to cluster.")
    return dict(blocks)


def block_of(name: str) -> str:
    """Return the block of a name, such as `j smith`: the reading that is last in the alphabet, so ü is u and not ue."""
    readings = sorted(stored_readings(name), key=lambda read: (read.core, read.given), reverse=True)
    if not readings:
        return name.strip().lower()
    first = readings[0]
    return " ".join(filter(None, ((first.given or ("",))[0][:1], "".join(first.core))))


FURTHEST = 2.0
"""The largest distance by cosine: that of papers under names that contradict each other."""


def cut_block(units: np.ndarray, thresholds: Sequence[float], names: Sequence[str] = ()) -> list[list[int]]:
    """Cluster the papers of a block: clusters are joined while the mean distance between them is below a threshold.

    `units` are vectors of length one, (papers, dimension); thresholds are distances by cosine. `names` are the name as
    each paper writes it, or none to compare no names: papers whose names contradict each other, such as `Kim, Jiho` and
    `Kim, Mina`, are as far apart as possible. Returns for each threshold the number of each paper's cluster. Raises
    `UnavailableError` if scipy is missing.
    """
    if len(units) < 2:
        return [[0] * len(units) for _ in thresholds]
    hierarchy = optional("scipy.cluster.hierarchy", "Clustering needs scipy", "products")
    distances = np.clip(1 - units @ units.T, 0, None)
    if names:
        spelled = sorted(set(names))
        place = np.array([spelled.index(name) for name in names])
        apart = np.array([[not same_person(one, other) for other in spelled] for one in spelled])
        distances[apart[np.ix_(place, place)]] = FURTHEST
    tree = hierarchy.linkage(distances[np.triu_indices(len(units), 1)], "average")
    return [hierarchy.fcluster(tree, threshold, "distance").tolist() for threshold in thresholds]
