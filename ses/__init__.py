"""Scientific search with task-format embeddings: the Python API, with the same nouns as the command line.

Modules are imported at first use, so that `import ses` is fast (docs/python.md). Type checkers and editors
read `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module

__all__ = [
    "AuthorClusters",
    "ConflictError",
    "Evaluation",
    "Harvest",
    "Hit",
    "IndexReport",
    "InputError",
    "Library",
    "LoadedModel",
    "ModelComparison",
    "ModelFacts",
    "NotFoundError",
    "OpenIndex",
    "Page",
    "Paper",
    "Publication",
    "SesError",
    "Sizing",
    "StoppedError",
    "UnavailableError",
    "cluster_authors",
    "compare_models",
    "experiment",
    "list_models",
    "load_model",
    "measure",
    "open",
    "plan",
    "train",
]

_HOMES = {
    **dict.fromkeys(
        ("ConflictError", "InputError", "NotFoundError", "SesError", "StoppedError", "UnavailableError"),
        "corpora.errors",
    ),
    **dict.fromkeys(("AuthorClusters", "cluster_authors"), "products.authors.api"),
    **dict.fromkeys(("experiment", "measure"), "ses.evaluation.measuring"),
    **dict.fromkeys(("Hit", "Page"), "search_plugin.pages.page"),
    "Evaluation": "ses.evaluation.result",
    "Harvest": "corpora.obtaining",
    "IndexReport": "indexer.job",
    **dict.fromkeys(("ModelComparison", "compare_models"), "ses.evaluation.models"),
    **dict.fromkeys(("ModelFacts", "list_models"), "ses.models.model_facts"),
    "Library": "ses.library",
    "LoadedModel": "ses.models.loaded_model",
    "OpenIndex": "ses.indexes.open_index",
    "Paper": "corpora.paper",
    "Publication": "corpora.publication",
    **dict.fromkeys(("Sizing", "plan"), "ses.planning"),
    "load_model": "ses.models.loaded_model",
    "open": "ses.open_library",
    "train": "ses.training",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ses' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
