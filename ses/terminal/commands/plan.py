"""`ses plan`."""

from __future__ import annotations

from typing import Any, get_args

import rich_click as click

import ses
from search_plugin.contract.schema import Passages, Quantization
from ses.planning.costs import LETTERS, EngineKind
from ses.terminal.options import json_option
from ses.terminal.results import say


@click.command()
@click.argument("papers", type=float)
@click.option(
    "--product",
    type=click.Choice(get_args(EngineKind)),
    default="opensearch",
    show_default=True,
    help="What keeps the index.",
)
@click.option(
    "--model", metavar="NAME", default="ses-minilm", show_default=True, help="Known name of a model of that size."
)
@click.option("--dimension", type=int, metavar="N", help="Numbers of a vector [default: those of the model].")
@click.option(
    "--formats",
    default="prx",
    show_default=True,
    metavar="LIST",
    help="Task formats to store vectors for, such as prx,clf.",
)
@click.option(
    "--passages",
    type=click.Choice(get_args(Passages)),
    default="none",
    show_default=True,
    help="The passages that have vectors too.",
)
@click.option(
    "--quantization",
    type=click.Choice(get_args(Quantization)),
    default="none",
    show_default=True,
    help="How the engine keeps vectors in memory.",
)
@click.option(
    "--precision",
    type=click.Choice(("int8", "fp32")),
    default="int8",
    show_default=True,
    help="Numeric precision of encoding on CPUs.",
)
@click.option(
    "--letters",
    type=float,
    default=LETTERS,
    show_default=True,
    metavar="N",
    help="Letters of title and abstract, mean.",
)
@click.option("--replicas", type=int, default=1, show_default=True, metavar="N", help="Further copies of each shard.")
@click.option("--queries", type=float, default=10.0, show_default=True, metavar="N", help="Pages a second.")
@click.option("--node-cores", type=int, default=16, show_default=True, metavar="N", help="Cores of a node.")
@click.option("--node-memory", type=float, default=64, show_default=True, metavar="GIB", help="Memory of a node.")
@click.option("--node-disk", type=float, default=2000, show_default=True, metavar="GB", help="Disk of a node.")
@click.option("--core-price", type=float, default=0, metavar="PRICE", help="Price of a core for an hour.")
@click.option("--gpu-price", type=float, default=0, metavar="PRICE", help="Price of a GPU for an hour.")
@click.option("--node-price", type=float, default=0, metavar="PRICE", help="Price of a node for a month.")
@json_option
def plan(papers: float, *, formats: str, as_json: bool, **options: Any) -> None:
    """Estimate what an index of PAPERS needs: disk, memory, shards, nodes, hours, and how long a page takes.

    The estimate comes from measured points; nothing is measured here, and no engine is asked. PAPERS may be written as
    20e6. Costs are shown for each price that is given.
    """
    found = ses.plan(papers, formats=[formats], **options)
    say(found.to_dict(), str(found), as_json=as_json)
