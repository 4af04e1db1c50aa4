"""Taggers: calibrated linear models over vectors and words of papers, a threshold for each label; kept in folders.

A folder holds a head as models have it and the weights of words, in safetensors, and JSON; nothing that runs code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from corpora.errors import InputError
from corpora.lazy import np
from encoders.heads import Head, read_heads
from encoders.models.folder import read_json, write_json
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.tags.measures import TaggerMeasures
from products.trained import TrainedVectors, storing
from products.words import WordWeights, added, read_words

TaggingMethod = Literal["labels", "names"]
"""How a tagger was made: trained on labelled papers, or from the names of labels alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Tagger:
    """Tags papers by their vectors, and by their words if it has learned from them.

    Attributes:
        name: Name of the tagger and of the field that holds its tags.
        source: The vectors that it reads.
        head: Gives the probability of each label; Platt's calibration is part of its weights.
        thresholds: float64 (labels,); a label is given from this probability on, and never if it is infinite.
        curves: Isotonic calibration of some labels: probabilities of the head, and what they become, both ascending.
        hierarchy: A paper with a label gets all broader ones.
        most: Labels of a paper at most, beside the broader ones; 0 for any number.
        method: How it was made. Without labelled papers, scores are no probabilities.
        measures: Measures on papers that it was not trained on; None if there are none.
        made_from: Where its labels came from, in words.
        words: What words add to the log odds of each label; None if it reads vectors alone.
    """

    name: str
    source: TrainedVectors
    head: Head
    thresholds: np.ndarray
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    most: int = 0
    method: TaggingMethod = "labels"
    measures: TaggerMeasures | None = None
    made_from: str = ""
    words: WordWeights | None = None

    @property
    def labels(self) -> Sequence[str]:
        """Its labels, in order."""
        return self.head.labels

    def probabilities(self, vectors: np.ndarray, texts: Sequence[str] = ()) -> np.ndarray:
        """Return the calibrated probability of each label, float32 (papers, labels).

        A broader label is at least as likely as each narrower one. `texts` are title and abstract of each paper.
        Raises `InputError` if the tagger reads words, and not each vector has a text.
        """
        found = self.head.predict(vectors, added(self.words, vectors, texts))
        for number, label in enumerate(self.labels):
            if label in self.curves:
                found[:, number] = np.interp(found[:, number], *self.curves[label])
        for narrow, broad in self.hierarchy.pairs(self.labels):
            np.maximum(found[:, broad], found[:, narrow], out=found[:, broad])
        return found

    def given(self, probabilities: np.ndarray) -> np.ndarray:
        """Return which labels the papers get, bool (papers, labels), from their probabilities."""
        given = probabilities >= self.thresholds
        if 0 < self.most < len(self.labels):
            least = np.partition(probabilities, -self.most, axis=1)[:, [-self.most]]
            given &= probabilities >= least
        for narrow, broad in self.hierarchy.pairs(self.labels):
            given[:, broad] |= given[:, narrow]
        return np.asarray(given)

    def tags(self, vectors: np.ndarray, texts: Sequence[str] = ()) -> list[tuple[str, ...]]:
        """Return the labels of each paper, none where none is likely enough; parameters as of `probabilities`."""
        given = self.given(self.probabilities(vectors, texts))
        return [tuple(self.labels[number] for number in row.nonzero()[0]) for row in given]


DESCRIPTION = "tagger.json"

_LARGEST = 64 << 20
"""In bytes: a label takes about 400."""

SHIPPED = Path(__file__).with_name("shipped")
"""Taggers that come with ses, each a folder."""


def write_tagger(folder: Path, tagger: Tagger) -> None:
    """Write a tagger into a folder of its own, whole or not at all; `UnavailableError` if it can't be written."""
    thresholds = [float(one) if np.isfinite(one) else None for one in tagger.thresholds]
    described: dict[str, Any] = {
        "model": tagger.source.model,
        "fingerprint": tagger.source.fingerprint,
        "thresholds": thresholds,
        "curves": {label: [part.tolist() for part in curve] for label, curve in tagger.curves.items()},
        "hierarchy": [asdict(concept) for concept in tagger.hierarchy.concepts.values()],
        "most": tagger.most,
        "method": tagger.method,
        "made_from": tagger.made_from,
        "measures": asdict(tagger.measures) if tagger.measures else None,
    }
    with storing(folder, tagger.head, tagger.words) as part:
        write_json(part / DESCRIPTION, described)


def read_tagger(folder: Path) -> Tagger:
    """Read the tagger of a folder, or raise `InputError` if its files are damaged or don't fit one another."""
    from pydantic import TypeAdapter

    described = read_json(folder / DESCRIPTION, dict, largest=_LARGEST)
    heads = read_heads(folder)
    try:
        (head,) = heads.values()
        found = described["measures"]
        tagger = Tagger(
            name=head.name,
            source=TrainedVectors(str(described["model"]), str(described["fingerprint"]), head.format),
            head=head,
            thresholds=np.array([np.inf if one is None else float(one) for one in described["thresholds"]]),
            curves={str(label): _curve(curve) for label, curve in described["curves"].items()},
            hierarchy=make_hierarchy(
                TypeAdapter(tuple[Concept, ...]).validate_json(orjson.dumps(described["hierarchy"]))
            ),
            most=int(described["most"]),
            method="names" if described["method"] == "names" else "labels",
            measures=TypeAdapter(TaggerMeasures).validate_json(orjson.dumps(found)) if found else None,
            made_from=str(described["made_from"]),
            words=read_words(folder, len(head.labels)),
        )
        _check(tagger)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The tagger in {folder} can't be read ({str(error)[:200]}); train it again.") from error
    return tagger


def _check(tagger: Tagger) -> None:
    if not tagger.head.several or len(tagger.thresholds) != len(tagger.labels):
        raise ValueError(f"{len(tagger.thresholds)} thresholds for {len(tagger.labels)} labels")


def _curve(parts: Any) -> Any:
    before, after = (np.array(part, np.float64) for part in parts)
    if before.shape != after.shape or before.ndim != 1 or not len(before) or (np.diff(before) < 0).any():
        raise ValueError("a calibration curve that does not ascend")
    return before, after
