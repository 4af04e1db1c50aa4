"""`ses eval`: a new protocol is one function or file, and one line here."""

from __future__ import annotations

import rich_click as click

from ses.terminal.lazy import LazyGroup

_HERE = "ses.terminal.commands.eval"

COMMANDS = {
    "authors": (f"{_HERE}.protocols:authors", "Group papers with one author's name by their true author."),
    "average": (f"{_HERE}.average:average", "Average the figures of RESULTS."),
    "compare": (f"{_HERE}.compare:compare", "Compare TREC run files."),
    "factors": (f"{_HERE}.reviewers:factors", "Measure each factor of reviewer matching by itself."),
    "formats": (f"{_HERE}.formats:formats", "Compare a model's formats with its PRX vectors."),
    "gold-standard": (f"{_HERE}.reviewers:gold_standard", "Compare with what reviewers said of their own expertise."),
    "mdcr": (f"{_HERE}.protocols:mdcr", "Measure vectors by MDCR."),
    "miread": (f"{_HERE}.protocols:miread", "Measure vectors as MIReAD's paper does."),
    "models": (f"{_HERE}.models:models", "Compare models on your own papers, and say which to take."),
    "retrieval": (f"{_HERE}.retrieval:retrieval", "Index a collection (or bring its index up to date)."),
    "reviewers": (f"{_HERE}.reviewers:reviewers", "Match papers with reviewers."),
    "scidocs": (f"{_HERE}.protocols:scidocs", "Measure vectors by SciDocs."),
    "scimult": (f"{_HERE}.protocols:scimult", "Measure vectors by SciMult's evaluations."),
    "score": (f"{_HERE}.score:score", "Measure TREC run files by trec_eval's code."),
    "screening": (f"{_HERE}.protocols:screening", "Screen for systematic reviews."),
    "suite": (f"{_HERE}.suite:suite", "Run a suite of protocols."),
    "task": (f"{_HERE}.task:task", "Run tasks of SciRepEval's task FILE."),
    "tune": (f"{_HERE}.tune:tune", "Fit hybrid search on judged queries."),
}
"""The protocols: the module of each, and the first sentence of its help."""


@click.group("eval", cls=LazyGroup, lazy=COMMANDS)
def eval_() -> None:
    """Measure the quality of search and of vectors."""
