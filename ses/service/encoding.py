"""What the routes that encode share: which model and format a request means, its limits, and vectors as JSON."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from corpora.errors import InputError, NotFoundError, require
from corpora.lazy import np
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from search_plugin.words.space import WordSpace
from ses.service.models import short_name
from ses.service.parameters import SOME_TEXT
from ses.service.service import Service

MOST_TEXTS = 1_024
"""Texts of one request."""

LONGEST_TEXT = 100_000
"""Characters of one text; models read far fewer."""

MOST_CHARACTERS = 1_500_000
"""Characters of all texts of one request; fewer bytes than `max_body` allows, unless most are not of Latin letters."""

_TEXT = {**SOME_TEXT, "maxLength": LONGEST_TEXT}
TextToEncode = Annotated[str, Field(json_schema_extra=dict(_TEXT))]
"""A text of a request, whose limits `check_texts` checks."""

SOME_TEXTS: Mapping[str, int] = {"minItems": 1, "maxItems": MOST_TEXTS}
"""In a description: as many texts as `check_texts` allows."""

INPUT_TYPES: Mapping[str, Format] = {
    **{task_format.value: task_format for task_format in Format},
    "query": Format.QRY,
    "search_query": Format.QRY,
    "passage": Format.PRX,
    "document": Format.PRX,
    "search_document": Format.PRX,
    "classification": Format.CLF,
    "regression": Format.RGN,
}
"""Formats by the names that clients have for them."""

Encoding = Literal["float", "base64"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The model and the format that a request means.

    Attributes:
        encoder: The model.
        format: The format.
        words: The words that stand beside the model's vectors in an index that is meant.
    """

    encoder: TextEncoder
    format: Format
    words: WordSpace | None = None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of what makes the vectors."""
        own = self.encoder.card.fingerprint
        return self.words.fingerprint_after(own) if self.words else own

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        more = [one.numbers for one in self.words.parts if one.format == self.format] if self.words else []
        return self.encoder.card.dimension + sum(more)

    def encode(self, texts: Sequence[str], said: Sequence[str] | None = None) -> np.ndarray:
        """Encode texts: float32 (texts, dimension); `InputError` if they are too many or too long.

        `said` holds title and abstract of each text with nothing between, in which words are found; the texts if None.
        """
        check_texts(texts)
        vectors = self.encoder.encode(texts, self.format)
        return self.words.beside(vectors, texts if said is None else said)[self.format] if self.words else vectors

    def text(self, text: str) -> str:
        """Return a text as the model reads it: the end of the first line ends a title, and an abstract follows.

        A line end after a title says that its abstract is empty, which some models read differently from no abstract.
        """
        title, end, abstract = text.lstrip().partition("\n")
        if self.format is Format.QRY or not end:
            return text
        return self.encoder.card.text(title.strip(), " ".join(abstract.split()))


def choose(service: Service, *, index: str = "", model: str = "", task_format: str = "") -> Chosen:
    """Return the model and the format of a request.

    Where an index is meant and no model is named, vectors are made as those of its papers: by the format's own model if
    it has one, and with the papers' words where these stand beside them.

    Args:
        service: The service.
        index: Name of an index, whose model is meant; if empty, the default one, or with none the default model.
        model: Name of the model, which has to be that of an index, or an index; a format may follow after a colon.
        task_format: One of `INPUT_TYPES`; if empty, that of `model`, or else `prx`.

    Returns:
        Both.

    Raises:
        InputError: If the format is unknown or the model lacks it, or another one is asked for than the index has.
        NotFoundError: If there is no such index.
    """
    name, colon, ending = model.rpartition(":")
    if not colon or ending.lower() not in INPUT_TYPES:
        name, ending = model, ""
    given = {one.strip().lower() for one in (task_format, ending) if one.strip()}
    for one in sorted(given):
        require(one in INPUT_TYPES, f"There is no format {one[:60]!r}", f"choose one of {', '.join(INPUT_TYPES)}")
    formats = {INPUT_TYPES[one] for one in given} or {Format.PRX}
    require(len(formats) == 1, f"Two formats are asked for, {' and '.join(sorted(formats))}", "name one of them")
    (wanted,) = formats
    encoder, words = _encoder(service, index, name, wanted)
    require(
        wanted in encoder.card.formats,
        f"The model {short_name(encoder.card.name)} has no {wanted} vectors",
        f"choose one of {', '.join(encoder.card.formats)}",
    )
    return Chosen(encoder, wanted, words)


def _encoder(service: Service, index: str, model: str, wanted: Format) -> tuple[TextEncoder, WordSpace | None]:
    if model and not index and model in service.library:
        index, model = model, ""
    try:
        opened = service.opened(index)
    except NotFoundError:
        if index or service.library.indexes():
            raise
        encoder, holder = service.models.of_new_index(), "this library"
    else:
        schema = opened.index.schema
        if model in ("", index) and schema.maker(wanted) is not schema:
            words = (space for space in schema.words for part in space.parts if part.format == wanted)
            return service.models.of_papers(opened.index, wanted), next(words, None)
        encoder, holder = opened.models.of_leg(opened.index), f"the index {opened.name}"
    if model in ("", index, encoder.card.name, short_name(encoder.card.name)):
        return encoder, None
    raise NotFoundError(
        f"There is no model {model[:80]!r} of {holder}, but {short_name(encoder.card.name)}",
        "give this name, or that of another index",
    )


def model_name(chosen: Chosen) -> str:
    """Return the name of a model and of a format, as `choose` reads it."""
    return f"{short_name(chosen.encoder.card.name)}:{chosen.format}"


def check_texts(texts: Sequence[str]) -> None:
    """Raise `InputError` if texts are too many, too long or empty."""
    require(texts, "There is no text to encode", "give at least one")
    require(
        len(texts) <= MOST_TEXTS,
        f"{len(texts):,} texts are too many for a request",
        f"send at most {MOST_TEXTS:,}, and the others in further requests",
    )
    for number, text in enumerate(texts):
        require(text.strip(), f"Text {number} is empty", "leave it out")
        require(
            len(text) <= LONGEST_TEXT,
            f"Text {number} has {len(text):,} characters",
            f"shorten it to at most {LONGEST_TEXT:,}",
        )
    characters = sum(map(len, texts))
    require(
        characters <= MOST_CHARACTERS,
        f"The texts have {characters:,} characters together",
        f"send at most {MOST_CHARACTERS:,}, and the others in further requests",
    )


def tokens_of(chosen: Chosen, texts: Sequence[str]) -> int:
    """Return how many tokens the model reads of texts, special ones included."""
    return chosen.encoder.count_tokens(texts, chosen.format)


def as_json(vectors: np.ndarray, encoding: Encoding) -> list[list[float]] | list[str]:
    """Return vectors as lists of numbers, or each as its float32 in little-endian order, in base64."""
    if encoding == "float":
        rows: list[list[float]] = vectors.tolist()
        return rows
    return [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]


def refuse_tokens(value: object) -> object:
    """Return a value that is no list of token numbers, or raise `InputError`."""
    inside = value[0] if isinstance(value, list) and value else value
    inside = inside[0] if isinstance(inside, list) and inside else inside
    if isinstance(inside, int) and not isinstance(inside, bool):
        raise InputError("Numbers of tokens can't be read, since every model has its own tokens", "send the text")
    return value
