"""The options of commands that name a collection for retrieval, and what measures it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from corpora.errors import InputError
from corpora.options import Option
from eval.trec.topics import DEFAULT_FIELDS, TopicField

if TYPE_CHECKING:
    from ses.evaluation.collection import Collection
    from ses.settings import Settings

Measures = Annotated[
    Sequence[str],
    Option(
        "Name of a measure, such as nDCG@10, MAP, P@5",
        "NAME",
        default_help="nDCG@10, MAP, Recall@100, MRR@10",
        flag="measure",
    ),
]
JudgedRounds = Annotated[
    str,
    Option(
        "Use the TREC judgments of these rounds only, without papers that were judged before: 4.5-5 for TREC-COVID's "
        "Round 5",
        "FIRST-LAST",
    ),
]
DropSameId = Annotated[bool, Option("Leave out hits whose id is the query's, where queries are papers themselves")]
QRELS = Option("File of judgments, in TREC's or BEIR's form")


def open_collection(
    settings: Settings,
    *,
    data: Annotated[str, Option("Folder in BEIR's form, or irds:ID of ir_datasets", "DIR")] = "",
    split: Annotated[str, Option("Name of the judgments in a BEIR folder")] = "test",
    topics: Annotated[Path | None, Option("File of queries, instead of <data>: TREC's XML, JSON lines or TSV")] = None,
    topic_fields: Annotated[
        Sequence[TopicField],
        Option("Part of XML topics to search for", default_help=", ".join(DEFAULT_FIELDS), flag="topic_field"),
    ] = (),
    qrels: Annotated[Path | None, QRELS] = None,
    corpus: Annotated[str, Option("Corpus of the papers", "NAME", choices="corpora.registry:CORPORA")] = "",
    paths: Annotated[Sequence[Path], Option("Place of the papers", flag="path")] = (),
    rounds: JudgedRounds = "",
) -> Collection:
    """Return the collection that a command's options name, or raise `InputError` if they don't go together."""
    from ses.evaluation.collection import beir_collection, topics_collection

    if bool(data) == bool(topics or qrels or corpus):
        raise InputError("Say what to measure on: either --data, or --topics with --qrels and --corpus.")
    if data:
        if rounds or paths or topic_fields:
            raise InputError("--rounds, --path and --topic-field go with --topics; leave them out with --data.")
        return beir_collection(data, split, settings)
    if not (topics and qrels and corpus):
        raise InputError("With --topics, say --qrels FILE and --corpus NAME as well.")
    return topics_collection(topics, qrels, corpus, settings, paths=paths, fields=topic_fields, rounds=rounds)
