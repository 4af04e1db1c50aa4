"""What an index holds, independent of the engine; each engine stores this schema and renders it in its own terms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, Literal

from corpora.custom import CustomField, FieldKind, check_field_name
from corpora.documents import typed
from corpora.errors import InputError, UnavailableError
from corpora.options import Option, check_options
from corpora.paper import TYPES
from encoders.models.formats import Format, Similarity
from encoders.projection import VectorProjection
from search_plugin.words.languages import DEFAULT_LANGUAGE, get_language
from search_plugin.words.space import WordSpace

FieldOrigin = Literal["paper", "custom", "tag", "forecast"]
"""The source of a field's values: every corpus, the user's own corpus, a tagger, or a forecaster."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the papers of an index.

    Attributes:
        name: Its name in filters, facets and the engine.
        kind: The kind of its values.
        facet: Whether its values can be counted.
        origin: Source of its values.

    Raises:
        InputError: If the name is not allowed.
    """

    name: str
    kind: FieldKind
    facet: bool = True
    origin: FieldOrigin = "custom"

    def __post_init__(self) -> None:
        check_field_name(self.name)

    @property
    def single(self) -> bool:
        """Whether a paper has at most one value, which can be compared with another paper's."""
        return self.kind not in ("text", "keywords")

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers of 32 bits, as all numbers of every paper are; others are doubles."""
        return self.kind == "number" and self.origin == "paper"


_KINDS: Mapping[Any, FieldKind] = {str: "keyword", tuple[str, ...]: "keywords", int | None: "number", bool: "boolean"}
_TEXTS, _NOT_COUNTED = ("title", "abstract"), ("title", "abstract", "url")

PAPER_FIELDS = tuple(
    Field(name, "text" if name in _TEXTS else _KINDS[kind], name not in _NOT_COUNTED, "paper")
    for name, kind in TYPES.items()
    if kind in _KINDS
)
"""Fields of every paper, the attributes of `Paper` that are texts, numbers or flags."""

PUBLICATION = Field("publication", "keyword", facet=False, origin="paper")
"""A field that is only kept, not searched or filtered by: `Paper.publication` as text. Older indexes lack it."""

ALIASES = {
    "journal": "venue",
    "author": "authors",
    "type": "types",
    "field": "fields",
    "origin": "origins",
    "corpus": "origins",
}
"""Other names of these fields for users."""

IDENTIFIER_FIELDS = {"doi": "doi", "pmid": "pmid", "pmcid": "pmc", "pmc": "pmc", "arxiv": "arxiv"}
"""What users may filter by as if they were fields: the kinds of `Paper.identifiers`."""


def find_field(name: str, fields: Sequence[Field] = PAPER_FIELDS) -> Field:
    """Return the field that a user named by its name or alias, in any case; it can be filtered by.

    Raises `InputError` if there is no such field, or it is text; the message names the available ones.
    """
    lowered = name.strip().lower()
    known = {field.name: field for field in fields if field.kind != "text"}
    field = known.get(lowered) or known.get(ALIASES.get(lowered, ""))
    if field is None:
        aliases = [alias for alias, meant in ALIASES.items() if meant in known and alias not in known]
        listed = ", ".join(sorted([*known, *aliases]))
        raise InputError(f"There is no field {name!r} to filter or count by; choose one of {listed}.")
    return field


def custom_fields(fields: Iterable[CustomField]) -> tuple[Field, ...]:
    """Return custom fields as fields of an index; text is not counted."""
    return tuple(Field(field.name, field.kind, field.kind != "text") for field in fields)


SEARCHED = Format.PRX.value
"""The format of the document vectors that queries search."""

SENTENCES = "sentences"
"""The name of the vectors of sentences, and of the leg that searches them; they are made like those of papers."""

VERSION = 3
"""Version of the form in which engines keep an index; an index of another version has to be made again."""

Quantization = Literal["none", "int8", "int4", "1bit"]
"""How an engine keeps a vector's numbers in memory: as floats, or in 8, 4 or 1 bits; the nearest are then ranked
again by their float vectors."""

Unit = Literal["paper", "passage"]
"""What a vector stands for: a paper, or one of its passages, of which there are many."""

Passages = Literal["none", "sentences"]
"""The passages of each paper that an index has vectors of, beside those of whole papers."""


@dataclass(frozen=True, slots=True)
class VectorField:
    """A field of vectors.

    Attributes:
        name: Its name in the engine; with a dot in an object of the documents.
        format: The task format in lower case, `prx`, `clf`, `rgn` or `qry`, or `sentences`; search legs and
            `Document.vectors` carry this name.
        dimension: Length of the vectors.
        similarity: The measure of similarity; the model card says which.
        unit: What each vector stands for.
        quantization: How the engine keeps these vectors in memory; if `none`, like the others of the index. The
            embedded engine has int8, and also stores these vectors so.
    """

    name: str
    format: str
    dimension: int
    similarity: Similarity
    unit: Unit = "paper"
    quantization: Quantization = "none"

    @property
    def width(self) -> int:
        """Numbers of a vector as it is stored."""
        return self.dimension

    def __post_init__(self) -> None:
        # The name is used in scripts that a search server runs.
        if not _VECTOR_NAME.fullmatch(self.name):
            raise InputError(f"A vector field can't be named {self.name[:60]!r}.")


_VECTOR_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ForeignField(VectorField):
    """A field of vectors that another program writes, with a model that ses can load too.

    Attributes:
        model: Name of the model, which finds it again.
        fingerprint: Fingerprint of the model.
        graph: Whether the engine has a graph of them; without one, a search compares with every vector.
        nested: Path of the nested objects that hold the vectors of passages; empty for vectors of papers.
    """

    model: str = ""
    fingerprint: str = ""
    graph: bool = True
    nested: str = ""


@dataclass(frozen=True, slots=True)
class OwnField(VectorField):
    """A field of vectors of a format that a model of its own makes, which is not that of the index.

    Attributes:
        model: Name of the model, which finds it again.
        fingerprint: Fingerprint of the model.
    """

    model: str = ""
    fingerprint: str = ""


def own_field(task_format: Format, dimension: int, similarity: Similarity, model: str, fingerprint: str) -> OwnField:
    """Return the field of the papers' vectors of a format with a model of its own, under the name of the format's."""
    name = task_format.value
    return OwnField(f"vector_{name}", name, dimension, similarity, model=model, fingerprint=fingerprint)


SPARSE = "sparse"
"""Name of the field of sparse vectors, and of its leg."""

MOST_TOKENS = 1_000
SPARSE_TOKENS = Option(
    "How many tokens of its sparse vector a paper keeps in a new index, the heaviest",
    default_help="256",
    least=1,
    most=MOST_TOKENS,
)
SPARSE_RATIO = Option(
    "Least weight of a kept token, as a share of the paper's heaviest, in a new index",
    "SHARE",
    default_help="0",
    least=0,
    below=1,
)
"""Limit of the tokens of a sparse vector: a cluster takes no query with more clauses than about that."""


@dataclass(frozen=True, slots=True)
class SparseField(VectorField):
    """A field of sparse vectors, which have a model of their own; its dimension is the size of the vocabulary.

    Attributes:
        model: Name of the model, which finds it again.
        fingerprint: Fingerprint of the model.
        most: How many tokens a paper keeps, the heaviest.
        ratio: The least weight of a kept token, as a share of the paper's heaviest.

    Raises:
        InputError: If one of the last two is out of bounds.
    """

    model: str = ""
    fingerprint: str = ""
    most: Annotated[int, SPARSE_TOKENS] = 256
    ratio: Annotated[float, SPARSE_RATIO] = 0.0

    def __post_init__(self) -> None:
        VectorField.__post_init__(self)
        check_options(self)

    @property
    def width(self) -> int:
        """Numbers of an entry: the token's id and its weight."""
        return 2


def sparse_field(dimension: int, model: str, fingerprint: str, **pruning: Any) -> SparseField:
    """Return the field of the papers' sparse vectors, under the name that new indexes give it."""
    return SparseField(SPARSE, SPARSE, dimension, "dot", model=model, fingerprint=fingerprint, **pruning)


def paper_vector(name: str, dimension: int, similarity: Similarity) -> VectorField:
    """Return the field of the papers' vectors of a format, under the name that new indexes give it."""
    return VectorField(f"vector_{name}", name, dimension, similarity)


def sentence_vectors(dimension: int, similarity: Similarity) -> VectorField:
    """Return the field of the vectors of sentences, of which a paper has about nine: so they are kept in 8 bits."""
    return VectorField(f"vector_{SENTENCES}", SENTENCES, dimension, similarity, "passage", "int8")


@dataclass(frozen=True, slots=True)
class Bm25:
    """The constants of BM25 (Robertson & Zaragoza, "The probabilistic relevance framework", 2009, section 3.4).

    Attributes:
        k1: Term-frequency saturation.
        b: Document-length normalisation, from 0 to 1.

    Raises:
        InputError: If one of them is out of bounds.
    """

    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if not (math.isfinite(self.k1) and self.k1 >= 0 and 0 <= self.b <= 1):
            raise InputError(f"BM25 can't have k1 {self.k1:g} and b {self.b:g}; k1 begins at 0, and b is from 0 to 1.")

    def __str__(self) -> str:
        return f"k1 {self.k1:g}, b {self.b:g}"


def parse_bm25(text: str) -> Bm25:
    """Read BM25's constants, `K1,B`; `InputError` if the form is wrong or a value is out of bounds."""
    try:
        k1, b = map(float, text.split(","))
    except ValueError:
        raise InputError(f"BM25's constants {text!r} can't be read; write them as K1,B, such as 0.9,0.4.") from None
    return Bm25(k1, b)


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """The content of an index, and how it is searched.

    Attributes:
        model: Name of the model, for the user.
        fingerprint: Fingerprint that a model must have to search this index (`ModelCard.fingerprint`).
        vectors: One field per task format.
        quantization: How the engine keeps all vectors in memory.
        bm25: The constants by which words are scored.
        fields: The fields of the papers: `PAPER_FIELDS`, then those of other origins.
        language: How words are analysed; a name in `search_plugin.words.languages`.
        version: Version of the index's form in its engine.
        sparse: The field of sparse vectors, if there is one.
        own: Fields of formats that have models of their own. Queries do not search them.
        projection: What makes the model's vectors shorter, if they are; the fingerprint is that of the shorter ones.
        words: The words of the papers that stand beside the model's vectors in those of some formats, `worded`.
        foreign: Vectors of an attached index that are its owner's. They are no part of what is stored with an index:
            the attachment keeps them. If there are no other vectors, the model is that of the first of them.
        publications: Whether the index keeps volume, issue, pages, publisher and ISSN of its papers (`PUBLICATION`).

    Raises:
        InputError: If there is no such language, or two fields have the same name.
    """

    model: str
    fingerprint: str
    vectors: tuple[VectorField, ...]
    quantization: Quantization = "none"
    bm25: Bm25 = Bm25()
    fields: tuple[Field, ...] = PAPER_FIELDS
    language: str = DEFAULT_LANGUAGE
    version: int = VERSION
    sparse: tuple[SparseField, ...] = ()
    own: tuple[OwnField, ...] = ()
    projection: tuple[VectorProjection, ...] = ()
    words: tuple[WordSpace, ...] = ()
    foreign: tuple[ForeignField, ...] = ()
    publications: bool = False

    def __post_init__(self) -> None:
        get_language(self.language)
        names = [field.name for field in self.fields]
        names += [vector.name for vector in (*self.written, *self.foreign)]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise InputError(f"Two fields of the index are named {twice}; rename one of them.")

    def field(self, name: str) -> Field:
        """Return the field of a name or alias, or raise `InputError` naming those the index has."""
        return find_field(name, self.fields)

    def facet(self, name: str) -> Field:
        """Return the field of a name or alias, or raise `InputError` if its values can't be counted."""
        field = self.field(name)
        if not field.facet:
            counted = ", ".join(sorted(other.name for other in self.fields if other.facet))
            raise InputError(f"Values of {field.name} can't be counted; count by one of {counted}.")
        return field

    def single(self, name: str) -> Field:
        """Return the field of a name or alias, or raise `InputError` if a paper may have several values of it."""
        field = self.field(name)
        if not field.single:
            single = ", ".join(sorted(other.name for other in self.fields if other.single))
            raise InputError(f"A paper has several {field.name}, so none is its own; collapse by one of {single}.")
        return field

    def vector(self, name: str) -> VectorField:
        """Return the papers' vector field of a format, or raise `InputError` naming the formats the index has."""
        own = [field for field in self.dense if field.unit == "paper"]
        for field in own:
            if field.format == name:
                return field
        if not own and self.foreign:
            raise InputError(
                f"ses has made no vectors of this index, and this needs {name} vectors of ses",
                f"detach it, and attach it with <formats={name}>",
            )
        known = [field.format for field in own]
        raise InputError(
            f"This index holds no {name} vectors, only: {', '.join(known)}",
            f"index again with <fresh> and <formats={','.join((*(field.format for field in self.vectors), name))}>",
        )

    @property
    def legs(self) -> tuple[str, ...]:
        """The names of the vector legs of a search: `prx`, `sentences`, `sparse`, and the fields of an index's owner.

        The first one is of the index's model, and is what other functions than a search use.
        """
        own = (SEARCHED,) if self.vectors or not self.foreign else ()
        sentences = (SENTENCES,) if self.passages == SENTENCES else ()
        return (*own, *sentences, *(field.format for field in self.own_models))

    @property
    def model_fingerprint(self) -> str:
        """Fingerprint of the model itself, without a projection."""
        return self.projection[0].fingerprint if self.projection else self.fingerprint

    @property
    def worded(self) -> tuple[OwnField, ...]:
        """The fields of formats whose vectors are those of the model, whole, with the papers' words beside them."""
        return tuple(
            own_field(
                Format(part.format),
                (self.projection[0].numbers if self.projection else self.vectors[0].dimension) + part.numbers,
                "cosine",
                self.model,
                space.fingerprint_after(self.model_fingerprint),
            )
            for space in self.words
            for part in space.parts
        )

    @property
    def dense(self) -> tuple[VectorField, ...]:
        """The fields of vectors that ses writes, but those of tokens."""
        return (*self.vectors, *self.own, *self.worded)

    @property
    def written(self) -> tuple[VectorField, ...]:
        """All fields of vectors that ses writes."""
        return (*self.dense, *self.sparse)

    def maker(self, name: str) -> IndexSchema | OwnField:
        """Return what has the model and the fingerprint of a format's vectors of papers: the schema, or the field."""
        return next((field for field in (*self.own, *self.worded) if field.format == name), self)

    @property
    def whole_legs(self) -> tuple[str, ...]:
        """The legs in which papers like a paper are found: all but that of the sentences."""
        return tuple(leg for leg in self.legs if leg != SENTENCES)

    @property
    def passages(self) -> Passages:
        """The passages of the papers that the index has vectors of."""
        return "sentences" if any(field.format == SENTENCES for field in self.vectors) else "none"

    def leg(self, name: str) -> VectorField:
        """Return the field that a leg searches: a format's vectors of papers, or else of passages; see `vector`."""
        fields = [field for field in (*self.written, *self.foreign) if field.format == name]
        return min(fields, key=lambda field: field.unit != "paper") if fields else self.vector(name)

    def graph_of(self, field: VectorField) -> Quantization | None:
        """Return how the engine's graph of a field keeps vectors; None if there is no graph."""
        if isinstance(field, ForeignField):
            return field.quantization if field.graph else None
        return field.quantization if self.quantization == "none" else self.quantization

    def beside(self, name: str) -> ForeignField | SparseField | None:
        """Return the field of a leg if its vectors are not of the index's model: sparse, or those of an owner."""
        return next((field for field in self.own_models if field.format == name), None)

    @property
    def own_models(self) -> tuple[ForeignField | SparseField, ...]:
        """The fields whose vectors are not of the index's model."""
        return (*self.sparse, *self.foreign)

    @property
    def added(self) -> tuple[Field, ...]:
        """The fields that are not of every paper: custom fields, tags and forecasts."""
        return tuple(field for field in self.fields if field.origin != "paper")

    @property
    def kept(self) -> tuple[Field, ...]:
        """The fields that are only kept."""
        return (PUBLICATION,) if self.publications else ()

    def with_fields(self, fields: Iterable[Field]) -> IndexSchema:
        """Return the schema with the fields that it lacks added.

        Raises `InputError` if a name is that of a field of every paper, an alias, or a field of another kind or origin.
        """
        held = {field.name: field for field in (*self.fields, *self.kept)}
        new = []
        for field in fields:
            there = held.get(field.name)
            if field.name in ALIASES or (there and there.origin == "paper" and field != PUBLICATION):
                raise InputError(f"Every paper has a field {field.name} already; choose another name.")
            if there and (there.kind, there.origin) != (field.kind, field.origin):
                raise InputError(
                    f"The index has a field {field.name} already, of kind {there.kind} and origin {there.origin}",
                    "choose another name, or index again with <fresh>",
                )
            if there is None:
                held[field.name] = field
                new.append(field)
        if not new:
            return self
        own = tuple(field for field in new if field != PUBLICATION)
        return replace(self, fields=(*self.fields, *own), publications=self.publications or PUBLICATION in new)


_LATER = ("sparse", "own", "projection", "words", "publications")
"""What the schemas of older indexes lack."""


def to_stored(schema: IndexSchema) -> dict[str, Any]:
    """Return what engines store of a schema, ready for JSON."""
    stored = asdict(schema)
    del stored["foreign"]
    for name in _LATER:
        if not stored[name]:  # so that indexes without them are as they were
            del stored[name]
    return stored


def from_stored(stored: Mapping[str, Any]) -> IndexSchema:
    """Return the schema that `to_stored` was given.

    Raises `ValueError` if the schema is damaged, and `UnavailableError` if another version of ses made it.
    """
    if lacking := [one.name for one in fields(IndexSchema) if one.name not in (*stored, "foreign", *_LATER)]:
        raise ValueError(f"The schema lacks {lacking[0]}.")
    version = stored["version"]
    if isinstance(version, int) and version != VERSION:
        raise UnavailableError(
            f"Another version of ses made this index (its schema is version {version}, and this one reads version "
            f"{VERSION})",
            "index again with <fresh>",
        )
    try:
        return typed(IndexSchema, dict(stored))
    except InputError as error:
        raise ValueError(str(error)) from error
