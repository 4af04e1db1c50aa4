"""What a model folder declares about itself, and the fingerprint that ties an index to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from corpora.errors import InputError
from encoders.formats import Format
from encoders.weights import sha256_of

Pooling = Literal["cls", "mean", "code"]
"""First token, mean over the text's tokens, or the control code's own token (SciRepEval section 4.2)."""

Similarity = Literal["cosine", "dot", "l2"]

CARD_FILE = "ses_card.json"

_WHOLE_NUMBERS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
    "vocab_size",
)
_GRAPH_SETTINGS = (
    "num_hidden_layers",
    "num_attention_heads",
    "hidden_act",
    "layer_norm_eps",
    "pad_token_id",
    "position_embedding_type",
)
_OWN_KINDS = {
    "pooling": str,
    "normalize": bool,
    "similarity": str,
    "separator": str,
    "max_tokens": int,
    "licence": str,
}
_IN_WORDS = {str: "a string", bool: "true or false", int: "a whole number"}
_FEWEST_TOKENS = 4  # [CLS], a control code, one token of text, [SEP]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """How a model's vectors are made; two models with equal fingerprints make interchangeable vectors.

    Attributes:
        name: What finds the model again: a known name, a folder's whole path or a hub id.
        architecture: Transformer family of the weights: `bert` or `roberta`.
        dimension: Length of a vector.
        max_tokens: Longer texts are cut to this many tokens, special tokens included.
        pooling: Which hidden state becomes the vector.
        normalize: Whether vectors are scaled to unit length.
        similarity: How two vectors are compared.
        separator: The tokenizer's separator token, set between title and abstract.
        lowercase: Whether the tokenizer folds case.
        licence: SPDX name of the weights' licence, empty where unknown.
        weights_sha256: Of the weights file.
        settings_sha256: Of the tokenizer and of what `config.json` says about the graph.
    """

    name: str
    architecture: str
    dimension: int
    max_tokens: int
    pooling: Pooling
    normalize: bool
    similarity: Similarity
    separator: str
    lowercase: bool
    licence: str
    weights_sha256: str
    settings_sha256: str

    @property
    def fingerprint(self) -> str:
        """16 hex digits over everything that changes a vector or how two are compared; name and licence do not."""
        facts = asdict(self)
        del facts["name"], facts["licence"]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats that get vectors of their own; a model without control codes makes one vector for all."""
        return tuple(Format) if self.pooling == "code" else (Format.PRX,)

    def text(self, title: str, abstract: str) -> str:
        """Return a paper as one text: `title [SEP] abstract`, empty parts left out (SPECTER section 2.2)."""
        return f" {self.separator} ".join(part for part in (title, abstract) if part)

    def prompt(self, text: str, task_format: Format) -> str:
        """Return a text as the model reads it in a task format, which `Encoder` asks for: codes stand in front."""
        return f"{task_format.code} {text}" if self.pooling == "code" else text


def read_card(folder: Path, name: str, weights_sha256: str) -> ModelCard:
    """Read what a model folder says of itself: Hugging Face and sentence-transformers files, then `ses_card.json`.

    A folder that names no pooling is read as SPECTER, SciNCL and MIReAD are: first token, compared by l2 distance.

    Args:
        folder: Holds `config.json`.
        name: What to call the model.
        weights_sha256: Of the weights file, already checked.

    Returns:
        The card.

    Raises:
        InputError: If the folder is no BERT-family model, or its own card holds unknown or wrong values.
    """
    config = _json(folder / "config.json", dict)
    architecture = str(config.get("model_type", ""))
    if architecture not in ("bert", "roberta"):
        raise InputError(f"{folder} holds a {architecture or 'nameless'} model; --model takes BERT or RoBERTa folders.")
    for key in _WHOLE_NUMBERS:
        if type(config.get(key)) is not int or config[key] < 1:
            raise InputError(f"{folder / 'config.json'} gives no whole number for {key}; fetch the model again.")
    tokenizer = _json(folder / "tokenizer.json", dict, missing={})
    tokenizer_config = _json(folder / "tokenizer_config.json", dict, missing={})
    pooling, normalize = _sentence_transformers_modules(folder)
    if _has_control_codes(tokenizer):
        pooling = "code"
    limit = config["max_position_embeddings"] - first_position(config)
    wanted = _json(folder / "sentence_bert_config.json", dict, missing={}).get("max_seq_length")
    card = ModelCard(
        name=name,
        architecture=architecture,
        dimension=config["hidden_size"],
        max_tokens=min(limit, wanted) if type(wanted) is int and wanted > 0 else limit,
        pooling=pooling,
        normalize=normalize,
        similarity="cosine" if normalize else "l2",
        separator=_token(tokenizer_config.get("sep_token")) or ("</s>" if architecture == "roberta" else "[SEP]"),
        lowercase=bool(tokenizer_config.get("do_lower_case", architecture == "bert")),
        licence="",
        weights_sha256=weights_sha256,
        settings_sha256=_settings_sha256(folder, config, tokenizer),
    )
    return _with_own_card(card, folder / CARD_FILE, limit)


def first_position(config: Mapping[str, Any]) -> int:
    """Return the row of the first token's position: RoBERTa keeps those up to the padding token's id for padding."""
    return int(config.get("pad_token_id", 1)) + 1 if config["model_type"] == "roberta" else 0


def _settings_sha256(folder: Path, config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> str:
    graph = {key: config.get(key) for key in _GRAPH_SETTINGS}
    # How the file presets cutting and padding doesn't matter: `load_tokenizer` sets both itself.
    words = {key: value for key, value in tokenizer.items() if key not in ("truncation", "padding")}
    vocabulary = folder / "vocab.txt"
    only = sha256_of(vocabulary) if not tokenizer and vocabulary.is_file() else ""
    return hashlib.sha256(json.dumps([graph, words, only], sort_keys=True).encode()).hexdigest()


def _with_own_card(card: ModelCard, path: Path, limit: int) -> ModelCard:
    own = _json(path, dict, missing={})
    if unknown := sorted(set(own) - set(_OWN_KINDS)):
        raise InputError(f"{path} sets {', '.join(unknown)}; it may set only {', '.join(sorted(_OWN_KINDS))}.")
    for key, value in own.items():
        if type(value) is not _OWN_KINDS[key]:
            raise InputError(f"{path} sets {key} to {value!r}, which is not {_IN_WORDS[_OWN_KINDS[key]]}.")
    if own.get("pooling", "cls") not in ("cls", "mean", "code"):
        raise InputError(f"{path} asks for pooling {own['pooling']!r}; choose cls, mean or code.")
    if own.get("similarity", "l2") not in ("cosine", "dot", "l2"):
        raise InputError(f"{path} asks for similarity {own['similarity']!r}; choose cosine, dot or l2.")
    if not _FEWEST_TOKENS <= own.get("max_tokens", limit) <= limit:
        raise InputError(f"{path} asks for max_tokens {own['max_tokens']}; choose {_FEWEST_TOKENS} to {limit}.")
    return replace(card, **own)


def _sentence_transformers_modules(folder: Path) -> tuple[Pooling, bool]:
    modules = [module for module in _json(folder / "modules.json", list, missing=[]) if isinstance(module, dict)]
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if unknown := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
        raise InputError(f"{folder} has sentence-transformers modules that ses can't run: {', '.join(unknown)}.")
    pooling: Pooling = "cls"
    if "Pooling" in kinds:
        settings = _json(folder / str(modules[kinds.index("Pooling")].get("path", "")) / "config.json", dict)
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


def _has_control_codes(tokenizer: Mapping[str, Any]) -> bool:
    tokens = tokenizer.get("added_tokens")
    added = {_token(token) for token in tokens} if isinstance(tokens, list) else set()
    return {task_format.code for task_format in Format} <= added


def _token(value: Any) -> str:
    return str(value.get("content", "")) if isinstance(value, dict) else str(value or "")


def _json(path: Path, kind: type, missing: Any = None) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if missing is not None:
            return missing
        raise InputError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{path} can't be read as JSON ({error}); fetch the model again.") from error
    if not isinstance(content, kind):
        raise InputError(f"{path} doesn't hold what a model folder's {path.name} does; fetch the model again.")
    return content
