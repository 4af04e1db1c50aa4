"""Papers or queries with a teacher's vectors, by which a smaller student learns to make the same vectors.

LEAF (Vujanic & Rueckstiess 2025, arXiv:2509.12539, section 3): the student needs texts and the teacher's vectors of
them alone, no labels and no wrong answers. Its vectors are then the teacher's own, nearly, so that it can ask an index
of the teacher's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from eval.embedder import BLOCK, Text, by_encoder
from training.data.builders.base import (
    MODEL,
    Builder,
    BuilderOptions,
    BuilderSource,
    Made,
    PaperRecord,
    drawn_papers,
    identity_of,
)
from training.data.builders.whitened import DIGITS
from training.data.queries import OPTIONS, PaperFields, query_of

PAPERS, QUERIES = "papers", "queries"

_Chosen = tuple[str, PaperFields, Text]
"""The identity of a paper, the fields that the student reads, and what the teacher reads."""


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Encode papers, or queries made of them, by the teacher; yield each text with its vector in `label`.

    Options: `teacher` is `model:` and the name of a model; `texts` is `papers` or `queries`; `most` papers are drawn, 0
    for all; `runtime` is the teacher's, empty for the default, and `precision` its precision. Those of
    `pseudo-queries` say which queries are made. A task of papers has the format that papers are searched in, and
    one of queries that of queries, as the teacher has a vector for each. `InputError` if an option is wrong.
    """
    name, texts = str(options["teacher"]), options["texts"]
    if not name.startswith(MODEL) or name == MODEL:
        raise InputError(f"The builder teacher has the teacher {name!r}; give {MODEL} and the name of a model.")
    if texts not in (PAPERS, QUERIES):
        raise InputError(f"The builder teacher has the texts {texts!r}; choose {PAPERS} or {QUERIES}.")
    runtime = {"runtime": options["runtime"]} if options["runtime"] else {}
    encoder = source.model(name.removeprefix(MODEL), precision=options["precision"], **runtime)
    drawn = drawn_papers(source, int(options["most"])).papers()
    if texts == PAPERS:
        yield from _taught(encoder, _papers(source, drawn), Format.PRX)
    else:
        yield from _taught(encoder, _queries(source, drawn, options), Format.QRY)


def _papers(source: BuilderSource, papers: Iterable[PaperRecord]) -> Iterator[_Chosen]:
    for paper in papers:
        if text := source.text_of(paper):
            key = identity_of(paper)
            yield key, text, Text(key, str(text.get("title") or ""), str(text.get("abstract") or ""))
        else:
            source.left_out["it has no text"] += 1


def _queries(source: BuilderSource, papers: Iterable[PaperRecord], options: BuilderOptions) -> Iterator[_Chosen]:
    for paper in papers:
        text = source.text_of(paper)
        if made := query_of(paper, text, options, source.seed) if text else None:
            key, query = identity_of(paper), str(made.content)
            yield key, {"title": query}, Text(key, query)
        else:
            source.left_out["no query can be made of it"] += 1


def _taught(encoder: TextEncoder, chosen: Iterator[_Chosen], task_format: Format) -> Iterator[Made]:
    embed = by_encoder(encoder)
    while block := list(islice(chosen, BLOCK)):
        for (key, text, _), vector in zip(block, embed([one for *_, one in block], task_format).matrix, strict=True):
            yield Made((key,), {**text, "label": [round(float(one), DIGITS) for one in vector]})


BUILDER = Builder(
    "vectors", {**OPTIONS, "teacher": "", "texts": PAPERS, "most": 0, "runtime": "", "precision": "fp32"}, build
)
