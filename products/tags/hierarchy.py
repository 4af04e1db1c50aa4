"""Hierarchies of labels: a thesaurus, the MeSH tree, fields of study. A paper with a label has all broader ones too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from corpora.errors import InputError

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Concept:
    """A label with what a thesaurus says of it.

    Attributes:
        label: As papers are tagged with it.
        broader: Labels directly above it.
        definition: A sentence, or empty.
        aliases: Other names that corpora may use for it, such as a notation or a tree number.
    """

    label: str
    broader: tuple[str, ...] = ()
    definition: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Concepts by label; each label that a concept names as broader is one of them.

    Attributes:
        concepts: By label. A label that is not among them stands alone.

    Raises:
        InputError: If a concept is broader than itself, by way of others; the message shows the cycle.
    """

    concepts: Mapping[str, Concept] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = {name for concept in self.concepts.values() for name in concept.broader} - self.concepts.keys()
        object.__setattr__(self, "concepts", {**self.concepts, **{name: Concept(name) for name in sorted(missing)}})
        _check_acyclic(self.concepts)

    def ancestors(self, label: str) -> tuple[str, ...]:
        """Return all labels above a label, each once, the nearest first."""
        found: dict[str, None] = {}
        level = self._broader(label)
        while level:
            found.update(dict.fromkeys(level))
            level = [name for one in level for name in self._broader(one) if name not in found]
        return tuple(found)

    def pairs(self, labels: Sequence[str]) -> list[tuple[int, int]]:
        """Return (narrower, broader) positions among some labels; all pairs below a label come before those above."""
        place = {label: number for number, label in enumerate(labels)}
        # A label has more ancestors than any label above it.
        above = {label: self.ancestors(label) for label in labels}
        by_depth = sorted(labels, key=lambda label: -len(above[label]))
        return [(place[label], place[name]) for label in by_depth for name in above[label] if name in place]

    def names(self) -> dict[str, str]:
        """Return labels by every name in lower case: the label itself and its aliases; a label wins over an alias."""
        aliases = {name.lower(): one.label for one in self.concepts.values() for name in one.aliases}
        return {**aliases, **{label.lower(): label for label in self.concepts}}

    def _broader(self, label: str) -> list[str]:
        concept = self.concepts.get(label)
        return list(concept.broader) if concept else []


def _check_acyclic(concepts: Mapping[str, Concept]) -> None:
    done: set[str] = set()
    for start in concepts:
        # A stack of the way down so far: thesauri may be deeper than Python's recursion.
        way: dict[str, Iterator[str]] = {start: iter(concepts[start].broader)} if start not in done else {}
        while way:
            label = next(reversed(way))
            above = next(way[label], None)
            if above is None:
                done.add(label)
                way.pop(label)
            elif above in way:
                cycle = [*list(way)[list(way).index(above) :], above]
                shown = " < ".join(cycle if len(cycle) <= _SHOWN else [*cycle[: _SHOWN - 1], "...", above])
                raise InputError(f"The hierarchy has a cycle, {shown}; take one of these links out.")
            elif above not in done:
                way[above] = iter(concepts[above].broader)


def make_hierarchy(concepts: Iterable[Concept]) -> Hierarchy:
    """Return the hierarchy of some concepts, or raise `InputError` if two have the same label."""
    by_label: dict[str, Concept] = {}
    for concept in concepts:
        if concept.label in by_label:
            raise InputError(f"Two concepts have the label {concept.label[:60]!r}; rename one of them.")
        by_label[concept.label] = concept
    return Hierarchy(by_label)
