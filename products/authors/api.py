"""Author disambiguation for Python programs and the commands: papers under a name in, clusters out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from corpora.errors import InputError
from corpora.lazy import np
from corpora.options import Option
from corpora.tables import read_rows
from products.authors.authors import FURTHEST, cut_block, read_blocks
from search_plugin.contract.legs import unit_rows
from ses.argument_validation import checked

if TYPE_CHECKING:
    from eval.measures.classes import BCubed

THRESHOLD = 0.72
"""Distance by cosine up to which clusters are joined, if nothing else is said.

It is the best one on 50 blocks of conference papers with ses-minilm, without names (docs/reviewers.md)."""

_THRESHOLD = Option("Distance by cosine up to which clusters are joined; a smaller one makes more authors")
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class AuthorClusters:
    """Papers by author.

    Attributes:
        clusters: Block and number of the cluster in it, by id of a row.
        blocks: Number of blocks.
        score: B-cubed against the true authors; None where some are not known.
        fitted: The threshold that has the largest B-cubed F1 on these rows themselves, where the truth is known; for
            the next rows, since on these it is too good.
        titles: Title of the paper of each row, by id.

    Example:
        >>> block, number = ses.cluster_authors("authors.csv").clusters["1"]
        >>> block
        'a byron'
    """

    clusters: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    blocks: int = 0
    score: BCubed | None = None
    fitted: float | None = None
    titles: Mapping[str, str] = field(default_factory=dict)


@checked
def cluster_authors(
    path: str | Path, *, threshold: Annotated[float, _THRESHOLD] = THRESHOLD, model: str = "", **settings: Any
) -> AuthorClusters:
    """Group the papers under each author's name by person.

    Args:
        path: CSV, or JSON lines: `id`, `title`, `abstract`, `name` or `block`, and `author` where it is known.
        threshold: Distance by cosine up to which clusters are joined; smaller ones make more authors.
        model: Model that encodes the papers; that of the settings, else the default model, if empty.
        **settings: Settings that `load_model` takes.

    Returns:
        The clusters.

    Raises:
        InputError: If a row can't be read, or the threshold is not between 0 and 2.
        UnavailableError: If the model or scipy is missing.

    Example:
        >>> found = ses.cluster_authors("authors.csv", threshold=0.5)
        >>> found.blocks, sorted(found.clusters)
        (1, ['1', '2'])
    """
    from eval.authors import THRESHOLDS
    from eval.measures.classes import b_cubed
    from ses.models.loaded_model import load_model

    if not 0 <= threshold <= FURTHEST:
        raise InputError(
            f"The threshold must be between 0 and {FURTHEST:g}, and is {threshold:g}",
            f"give <threshold> from 0 to {FURTHEST:g}",
        )
    blocks = read_blocks(_rows(Path(path)))
    loaded = load_model(model, **settings)
    rows = [row for block in blocks.values() for row in block]
    texts = [loaded.card.text(row.title, row.abstract) for row in rows]
    vectors = np.concatenate([loaded.encode(texts[at : at + _BLOCK]) for at in range(0, len(texts), _BLOCK)])
    units = unit_rows(vectors.astype(np.float64))
    tried = (threshold, *THRESHOLDS)
    cuts: list[list[tuple[str, int]]] = [[] for _ in tried]
    start = 0
    for block, held in blocks.items():
        names = [row.name for row in held]
        found = cut_block(units[start : start + len(held)], tried, names if all(names) else ())
        for cut, numbers in zip(cuts, found, strict=True):
            cut += [(block, number) for number in numbers]
        start += len(held)
    clusters = {row.id: cluster for row, cluster in zip(rows, cuts[0], strict=True)}
    titles = {row.id: row.title for row in rows}
    truth = [row.author for row in rows]
    if not all(truth):
        return AuthorClusters(clusters, len(blocks), titles=titles)
    scores = [b_cubed(truth, [f"{block}\t{number}" for block, number in cut]) for cut in cuts]
    best = max(range(1, len(tried)), key=lambda place: scores[place].f1)
    return AuthorClusters(clusters, len(blocks), scores[0], tried[best], titles)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    from eval.files.text import json_objects

    if ".json" in path.name:
        return json_objects(path)
    rows = read_rows(path, "a CSV table of papers")
    return ((line, {name.strip().lower(): cell for name, cell in cells.items()}) for line, cells in rows)
