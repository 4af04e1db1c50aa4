"""Hierarchies of labels: a thesaurus, the MeSH tree, fields of study. A paper with a label has all broader ones too.

They are read from SKOS, NLM's file of MeSH trees, CSV and JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.documents import read_json, read_text, read_within
from corpora.errors import InputError, require
from corpora.installed import optional
from corpora.tables import read_rows

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Concept:
    """A label with what a thesaurus says of it.

    Attributes:
        label: Label, as papers are tagged with it.
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
        concepts: Concepts by label. A label that is not among them stands alone.

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


LARGEST = 1 << 30
"""Most bytes of a file. All of MeSH in SKOS is about half of it."""
_LARGEST_JSON = 64 << 20


def hierarchy_from(given: Path | Hierarchy | None) -> Hierarchy:
    """Return a hierarchy that is given or in a file; one without labels if there is none."""
    return read_hierarchy(given) if isinstance(given, Path) else given or Hierarchy()


def read_hierarchy(path: Path, language: str = "en") -> Hierarchy:
    """Read a hierarchy of labels, in the form that the file's suffix tells.

    SKOS is Turtle (`.ttl`), N-Triples (`.nt`) or RDF/XML (`.rdf`), whose labels and definitions are read in `language`
    where there are several. NLM's file of MeSH trees (`.bin`, `.txt`) has lines of `heading;tree number`. A table
    (`.csv`, `.tsv`) has the columns label, broader, definition and aliases, several values of a cell with `;` between;
    `.json` is an object of such objects by label. Raises `InputError` if the file can't be read so, names a label
    twice, or has a cycle, and `UnavailableError` if it is SKOS, and rdflib isn't installed.
    """
    readers: Mapping[str, Callable[[Path], Iterator[Concept]]] = {
        ".csv": _read_table,
        ".tsv": _read_table,
        ".json": _read_json,
        ".bin": _read_trees,
        ".txt": _read_trees,
        **dict.fromkeys(_SKOS, lambda file: _read_skos(file, language)),
    }
    if path.suffix.lower() not in readers:
        raise InputError(f"{path} is no hierarchy that can be read; its name ends in one of {', '.join(readers)}.")
    try:
        return make_hierarchy(readers[path.suffix.lower()](path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read ({error}).") from error


def _read_table(path: Path) -> Iterator[Concept]:
    for _, row in read_rows(path, "a hierarchy of labels", ("csv", "")):
        if "label" not in row:
            raise InputError(f"{path} has no column label; its columns are {', '.join(row)}.")
        names = ("label", "broader", "definition", "aliases")
        label, broader, definition, aliases = (row.get(name, "").strip() for name in names)
        if label:
            yield Concept(label, _parts(broader), definition, _parts(aliases))


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in cell.split(";") if part.strip()))


def _read_json(path: Path) -> Iterator[Concept]:
    try:
        content = read_json(path, _LARGEST_JSON)
    except ValueError as error:
        raise InputError(f"{path} can't be read as JSON ({error}).") from error
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise InputError(f'{path} should be an object by label, such as {{"Virus": {{"broader": ["Organism"]}}}}.')
    for label, facts in content.items():
        yield Concept(
            label, _strings(facts.get("broader")), str(facts.get("definition") or ""), _strings(facts.get("aliases"))
        )


def _strings(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(str(one) for one in listed))


def _read_trees(path: Path) -> Iterator[Concept]:
    """Read `heading;tree number`: a heading has several numbers, and `C01.252` is below `C01`."""
    numbers: dict[str, list[str]] = {}
    for line_number, line in enumerate(read_text(path, LARGEST).splitlines(), start=1):
        heading, semicolon, number = (part.strip() for part in line.partition(";"))
        if not line.strip():
            continue
        if not (heading and semicolon and number):
            raise InputError(f"{path}, line {line_number}: a line is a heading and a tree number with ; between.")
        numbers.setdefault(heading, []).append(number)
    headings = {number: heading for heading, listed in numbers.items() for number in listed}
    for heading, listed in numbers.items():
        above = (headings.get(number.rpartition(".")[0]) for number in listed)
        # Some headings of MeSH are below another number of their own.
        broader = dict.fromkeys(name for name in above if name and name != heading)
        yield Concept(heading, tuple(broader), aliases=tuple(listed))


_SKOS = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml"}
"""Suffixes of SKOS, and the parser of rdflib. Not JSON-LD, whose contexts would be fetched from the web."""


def _read_skos(path: Path, language: str) -> Iterator[Concept]:
    rdflib = optional("rdflib", "SKOS needs rdflib", "products")
    with path.open("rb") as stream:
        data = read_within(stream, LARGEST)
    if path.suffix.lower() == ".rdf" and b"<!ENTITY" in data:
        raise InputError(f"{path} defines entities of XML, which are not read; save it as Turtle (.ttl).")
    graph = rdflib.Graph()
    try:
        graph.parse(data=data, format=_SKOS[path.suffix.lower()])
    except Exception as error:  # each of rdflib's parsers has errors of its own
        raise InputError(f"{path} can't be read as SKOS ({str(error)[:200]}).") from error
    skos = rdflib.SKOS
    concepts = sorted({*graph.subjects(rdflib.RDF.type, skos.Concept), *graph.subjects(skos.prefLabel, None)})
    require(concepts, f"{path} holds no concept of SKOS.")
    labels = _unique(
        {concept: _text(graph, concept, skos.prefLabel, language) or _end(concept) for concept in concepts}
    )
    above: dict[Any, dict[str, None]] = {concept: {} for concept in concepts}
    for narrow, broad in [
        *graph.subject_objects(skos.broader),
        *((narrow, broad) for broad, narrow in graph.subject_objects(skos.narrower)),
    ]:
        if narrow in labels and broad in labels:
            above[narrow][labels[broad]] = None
    for concept in concepts:
        others = [*graph.objects(concept, skos.altLabel), *graph.objects(concept, skos.notation), _end(concept)]
        yield Concept(
            labels[concept],
            tuple(sorted(above[concept])),
            _text(graph, concept, skos.definition, language) or _text(graph, concept, skos.scopeNote, language),
            tuple(sorted({str(name) for name in others} - {labels[concept]})),
        )


def _text(graph: Any, concept: Any, predicate: Any, language: str) -> str:
    """Return a text of a concept: in the language, else without one, else in any."""
    texts = sorted(graph.objects(concept, predicate), key=str)
    ranked = sorted(texts, key=lambda text: (getattr(text, "language", None) != language, bool(text.language)))
    return " ".join(str(ranked[0]).split()) if ranked else ""


def _unique(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return labels that no two concepts share: those that do get the ends of their URIs."""
    counts: dict[str, int] = {}
    for label in labels.values():
        counts[label] = counts.get(label, 0) + 1
    return {one: label if counts[label] == 1 else f"{label} ({_end(one)})" for one, label in labels.items()}


def _end(concept: Any) -> str:
    return str(concept).rstrip("/#").replace("#", "/").rpartition("/")[2]
