"""Options of commands that name a collection for retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.errors import InputError
from corpora.registry import CORPORA
from eval.trec.topics import DEFAULT_FIELDS, FIELDS
from ses.terminal.options import PATH, together

if TYPE_CHECKING:
    from ses.evaluation.collection import Collection
    from ses.settings import Settings

collection_options = together(
    click.option("--data", metavar="DIR", help="Folder in BEIR's form, or irds:ID of ir_datasets."),
    click.option("--split", default="test", show_default=True, help="Name of the judgments in a BEIR folder."),
    click.option("--topics", type=PATH, help="File of queries, instead of --data: TREC's XML, JSON lines or TSV."),
    click.option(
        "--topic-field",
        "topic_fields",
        multiple=True,
        type=click.Choice(FIELDS),
        help=f"Part of XML topics to search for; repeatable [default: {', '.join(DEFAULT_FIELDS)}].",
    ),
    click.option("--qrels", type=PATH, help="File of judgments, in TREC's or BEIR's form."),
    click.option("--corpus", metavar="NAME", help=f"Corpus of the papers: {', '.join(CORPORA)}."),
    click.option("--path", "paths", multiple=True, type=PATH, help="Place of the papers; repeatable."),
    click.option(
        "--rounds",
        metavar="FIRST-LAST",
        help="Use the TREC judgments of these rounds only, without papers that were judged before: "
        "4.5-5 for TREC-COVID's Round 5.",
    ),
)
measures_option = click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Name of a measure, such as nDCG@10, MAP, P@5; repeatable [default: nDCG@10, MAP, Recall@100, MRR@10].",
)
drop_same_id_option = click.option(
    "--drop-same-id", is_flag=True, help="Leave out hits whose id is the query's, where queries are papers themselves."
)


def open_collection(options: Mapping[str, Any], settings: Settings) -> Collection:
    """Return the collection that a command's options name, or raise `InputError` if they don't go together."""
    from ses.evaluation.collection import beir_collection, topics_collection

    topics = {name: options[name] for name in ("topics", "qrels", "corpus") if options[name]}
    if bool(options["data"]) == bool(topics):
        raise InputError("Say what to measure on: either --data, or --topics with --qrels and --corpus.")
    if options["data"]:
        if options["rounds"] or options["paths"] or options["topic_fields"]:
            raise InputError("--rounds, --path and --topic-field go with --topics; leave them out with --data.")
        return beir_collection(str(options["data"]), options["split"], settings)
    if len(topics) < 3:
        raise InputError("With --topics, say --qrels FILE and --corpus NAME as well.")
    more = {"paths": options["paths"], "fields": options["topic_fields"], "rounds": options["rounds"] or ""}
    return topics_collection(**topics, settings=settings, **more)
