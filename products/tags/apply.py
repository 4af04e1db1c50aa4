"""What is done with a tagger: its tags are written into an index, it is measured, and it suggests papers to label.

The vectors of the index are read, nothing is encoded, and only what has changed is written.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from corpora.errors import require
from corpora.lazy import np
from products.tags.labels import LabelJudgments, LabelledPapers, judged_yes
from products.tags.measures import measured
from products.tags.tagger import Tagger
from products.trained import check_vectors, write_values
from search_plugin.contract.legs import unit_rows
from search_plugin.contract.schema import Field

if TYPE_CHECKING:
    from corpora.custom import FieldValue
    from corpora.progress import Progress
    from products.tags.tagger import Tagger
    from search_plugin.contract.engine import Index
    from search_plugin.contract.tree import Filter

BY_PERSON = "_by_person"
"""Ends the name of the field that holds the labels a person gave, beside the field of the tagger."""


@dataclass(frozen=True, slots=True)
class TaggingReport:
    """What was tagged.

    Attributes:
        tagger: Name of the tagger and of the field.
        index: Name of the index.
        papers: Number of papers that were read.
        tagged: Number of them that have a tag now.
        written: Number of them that changed.
        counts: Papers by tag, the most frequent first.
        seconds: How long it took.
    """

    tagger: str
    index: str
    papers: int
    tagged: int
    written: int
    counts: Mapping[str, int]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def apply_tagger(index: Index, tagger: Tagger, where: Filter | None, progress: Progress) -> TaggingReport:
    """Tag the papers that match, in the field of the tagger's name and of the origin `tag`.

    Tags that the tagger gave before are replaced. Fields of corpora and people are not touched. Raises `InputError` if
    the tagger is of another model, or the index has a field of this name and another origin.
    """
    begun = time.perf_counter()
    check_vectors(f"The tagger {tagger.name}", tagger.source, index)
    counts: Counter[str] = Counter()
    tagged = 0

    def rows_of(vectors: np.ndarray, texts: Sequence[str]) -> list[dict[str, FieldValue | None]]:
        nonlocal tagged
        given = tagger.tags(vectors, texts)
        tagged += sum(map(bool, given))
        counts.update(tag for tags in given for tag in tags)
        return [{tagger.name: tags or None} for tags in given]

    fields = [Field(tagger.name, "keywords", origin="tag")]
    papers, written = write_values(
        index, tagger.source, where, fields, rows_of, progress, texts=tagger.words is not None
    )
    ranked = dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return TaggingReport(tagger.name, index.name, papers, tagged, written, ranked, time.perf_counter() - begun)


def record_labels(index: Index, name: str, judgments: LabelJudgments) -> list[str]:
    """Write the true labels that a person gave into a field of their own, `NAME_by_person`.

    Returns the ids that the index does not hold.
    """
    field = Field(f"{name}{BY_PERSON}", "keywords", origin="custom")
    index.add_fields([field])
    missing = list(index.update({id_: {field.name: judged_yes(judged)} for id_, judged in judgments.items()}))
    index.finish()
    return missing


def measure_tagger(
    tagger: Tagger, papers: LabelledPapers, vectors: np.ndarray, made_from: str, texts: Sequence[str] = ()
) -> Tagger:
    """Return a tagger with its measures on labelled papers, with vectors and texts as its `probabilities` takes them.

    `made_from` says in words where the labels came from. The numbers of papers that the tagger's labels were trained on
    stay. Raises `InputError` if it has none of the labels.
    """
    shared = [label for label in tagger.labels if label in papers.labels]
    require(shared, f"The tagger {tagger.name} has none of the labels from {made_from}.")
    own = [tagger.labels.index(label) for label in shared]
    probabilities = tagger.probabilities(vectors, texts)
    before = {one.label: one.trained for one in tagger.measures.labels} if tagger.measures else {}
    found = measured(
        probabilities[:, own],
        tagger.given(probabilities)[:, own],
        papers.truth[:, [papers.labels.index(label) for label in shared]],
        shared,
        thresholds=tagger.thresholds[own],
        trained=[before.get(label, 0) for label in shared],
        how=f"{len(vectors):,} papers with labels from {made_from}",
    )
    return replace(tagger, measures=found)


@dataclass(frozen=True, slots=True)
class TagReason:
    """A tag that a paper gets, its probability, and the words of the paper that speak most for it, the most first."""

    label: str
    probability: float
    words: tuple[str, ...]


_WORDS_SHOWN = 5


def reasons(tagger: Tagger, vectors: np.ndarray, texts: Sequence[str]) -> list[list[TagReason]]:
    """Return the tags of each paper with the words that speak for them, the most probable first.

    Vectors and texts are as `Tagger.probabilities` takes them. A tagger that reads vectors alone names no words, and
    nor does a tag that words speak against.
    """
    probabilities = tagger.probabilities(vectors, texts)
    found = []
    for row, given in enumerate(tagger.given(probabilities)):
        places = sorted(given.nonzero()[0].tolist(), key=lambda place: (-probabilities[row, place], place))
        said = [tagger.words.telling(texts[row], place, _WORDS_SHOWN) if tagger.words else {} for place in places]
        found.append(
            [
                TagReason(tagger.labels[place], float(probabilities[row, place]), tuple(words))
                for place, words in zip(places, said, strict=True)
            ]
        )
    return found


_POOL = 20
"""Candidates per suggestion among which different papers are chosen."""


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """A paper to label, with the label that the tagger is least sure of, and its probability."""

    id: str
    label: str
    probability: float


def suggested(
    tagger: Tagger, ids: Sequence[str], vectors: np.ndarray, count: int, texts: Sequence[str] = ()
) -> list[LabelSuggestion]:
    """Choose at most `count` papers that the tagger is unsure of, and that differ from each other; most doubt first.

    A paper's doubt is that of the label whose probability is nearest to its threshold (uncertainty sampling: Lewis &
    Gale, "A sequential algorithm for training text classifiers", 1994). Among the papers of most doubt, each next one
    has the largest product of doubt and distance from those chosen. Vectors and texts are those of papers that are not
    labelled yet, as `Tagger.probabilities` takes them.
    """
    if not len(ids):
        return []
    probabilities = tagger.probabilities(vectors, texts)
    thresholds = np.where(np.isfinite(tagger.thresholds), tagger.thresholds, 0.5)
    doubts = 1 - np.abs(probabilities - thresholds) / np.maximum(thresholds, 1 - thresholds)
    labels, doubt = doubts.argmax(axis=1), doubts.max(axis=1)
    pool = np.argsort(-doubt, kind="stable")[: _POOL * count]
    units = unit_rows(vectors[pool])
    distance = np.ones(len(pool))
    chosen: list[int] = []
    while len(chosen) < min(count, len(pool)):
        value = doubt[pool] * distance
        value[chosen] = -1  # each paper is chosen once
        chosen.append(int(value.argmax()))
        distance = np.minimum(distance, 1 - units @ units[chosen[-1]])
    rows = [int(pool[place]) for place in chosen]
    return [
        LabelSuggestion(ids[row], tagger.labels[int(labels[row])], float(probabilities[row, labels[row]]))
        for row in rows
    ]
