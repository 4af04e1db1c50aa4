"""Settings in a folder of sentence-transformers beside the network: pooling, prompts, similarity, case."""

from __future__ import annotations

from pathlib import Path

from corpora.errors import InputError
from encoders.architectures.network import Pooling
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.models.formats import Format, Similarity
from encoders.models.json_files import inside, read_json

_MODULES, _SETTINGS = "modules.json", "config_sentence_transformers.json"
_SIMILARITIES: dict[str, Similarity] = {"cosine": "cosine", "dot": "dot", "euclidean": "l2"}
_QUERY_PROMPTS = ("query", "search_query")
_PAPER_PROMPTS = ("document", "passage", "search_document")


def read_modules(folder: Path) -> tuple[Pooling, bool]:
    """Return how a folder's modules pool, and whether they normalize; `InputError` if ses can't run them."""
    modules = [module for module in read_json(folder / _MODULES, list, missing=[]) if isinstance(module, dict)]
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if unknown := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
        raise InputError(f"{folder} has sentence-transformers modules that ses can't run: {', '.join(unknown)}.")
    pooling: Pooling = "cls"
    if "Pooling" in kinds:
        part = inside(folder, str(modules[kinds.index("Pooling")].get("path", "")))
        settings = read_json(part / "config.json", dict)
        # One key with the name of the mode, or, before sentence-transformers 5, a switch for each mode.
        older = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value]
        mode = settings.get("pooling_mode", older)
        if mode in ("mean", ["mean"], ["pooling_mode_mean_tokens"]):
            pooling = "mean"
        elif mode not in ("cls", ["cls"], ["pooling_mode_cls_token"]):
            raise InputError(
                f"{folder} pools its tokens in a way that ses can't; it knows first-token and mean pooling."
            )
    return pooling, "Normalize" in kinds


def read_prompts(folder: Path) -> dict[Format, str]:
    """Return the prompts that a folder sets for queries and for papers."""
    content = read_json(folder / _SETTINGS, dict, missing={})
    known = content.get("prompts") if isinstance(content.get("prompts"), dict) else {}
    default = known.get(str(content.get("default_prompt_name")), "")
    query = next((known[name] for name in _QUERY_PROMPTS if name in known), default)
    paper = next((known[name] for name in _PAPER_PROMPTS if name in known), default)
    prompts = {task_format: query if task_format is Format.QRY else paper for task_format in Format}
    return {task_format: text for task_format, text in prompts.items() if isinstance(text, str) and text}


def read_similarity(folder: Path) -> Similarity | None:
    """Return how a folder's vectors are compared: by cosine if it doesn't say, as the library does.

    Args:
        folder: Of the model.

    Returns:
        The similarity; None if the folder is not one of sentence-transformers, or its own card sets another.

    Raises:
        InputError: If it is one that ses has not.
    """
    if not any((folder / name).is_file() for name in (_MODULES, _SETTINGS)) or "similarity" in read_own(folder):
        return None
    asked = read_json(folder / _SETTINGS, dict, missing={}).get("similarity_fn_name") or "cosine"
    if asked not in _SIMILARITIES:
        raise InputError(
            f"{folder} compares vectors by {asked!r}, which ses can't; if cosine, dot or l2 serves as well, set it as "
            f"similarity in {folder / CARD_FILE}."
        )
    return _SIMILARITIES[asked]
