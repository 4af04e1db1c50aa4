"""Late-interaction models: folders of PyLate and sentence-transformers, and those of ColBERT itself.

PyLate keeps the projection in a module Dense, and prefixes, lengths, query expansion and skipped words in
`config_sentence_transformers.json`. In folders that sentence-transformers writes (MultiVectorEncoder, from version 6),
lengths and expansion are settings of the module Transformer, and the skipped words those of a module. ColBERT's own
folders hold `linear.weight` beside the network, and `artifact.metadata`. All are read as sentence-transformers does.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError, require
from encoders.architectures.tokens import PROJECTION, TOKENS
from encoders.layouts import huggingface
from encoders.layouts.sentence_modules import Modules, listed_modules
from encoders.models.folder import inside, read_json, transformer_settings
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.models.weights import read_shapes, read_weights, weights_file
from encoders.tokens.tokenizer import content

_METADATA = "artifact.metadata"
_COLBERT = "HF_ColBERT"
_KINDS = ("ColBERT", "MultiVectorEncoder")
"""What `config_sentence_transformers.json` calls such models: PyLate's name, and that of sentence-transformers."""

_MODULES = ("Transformer", "Dense", "MultiVectorMask", "Normalize")
_IDENTITY = ("torch.nn.modules.linear.Identity", "torch.nn.Identity")
_SIMILARITIES = {"maxsim": False, "meanmaxsim": True}
_QUERY_TOKENS = 32
_MOST_SKIPPED = 1_000


@dataclass(frozen=True, slots=True)
class LateSettings:
    """How the texts of a late-interaction model are read; part of its card.

    Attributes:
        query_prefix: Text, or a token of the vocabulary, before a query.
        document_prefix: The same before a paper.
        query_tokens: Longest query in tokens, 0 for as many as the network takes.
        document_tokens: The same for a paper.
        expands: Whether queries are filled up to `query_tokens` with a token.
        filler: That token; the mask token if empty.
        attends: Whether the other tokens attend to those.
        skipped: Tokens of a paper that match nothing.
        mean: Whether the mean over the query's tokens is taken, not the sum.
    """

    query_prefix: str
    document_prefix: str
    query_tokens: int
    document_tokens: int
    expands: bool
    filler: str
    attends: bool
    skipped: tuple[str, ...]
    mean: bool = False


def recognizes(folder: Path) -> bool:
    """Return whether a folder is such a model."""
    named = read_json(folder / huggingface.SETTINGS, dict, missing={}).get("model_type")
    architectures = read_json(folder / "config.json", dict, missing={}).get("architectures")
    return named in _KINDS or (isinstance(architectures, list) and _COLBERT in architectures)


def read(folder: Path, name: str) -> Model:
    """Read a late-interaction model; `InputError` if ses can't run its network or modules, or it has no projection."""
    config = huggingface.reranker_config(folder, "tokens")
    files = (weights_file(folder), *_projection_files(folder))
    shapes = {key: shape for file in files for key, shape in read_shapes(file).items()}
    shape = shapes.get(f"{PROJECTION}.weight", ())
    require(len(shape) == 2, f"{folder} holds no projection ({PROJECTION}.weight); fetch the complete model.")
    hashes = [sha256_of(file) for file in files]
    whole = hashes[0] if len(files) == 1 else sha256_of_text("".join(hashes))
    card = huggingface.card_of(folder, name, whole, config, Modules("tokens"))
    settings = _own_settings(folder) if (folder / huggingface.SETTINGS).is_file() else _metadata(folder)
    options = {**card.network.options, "trunk": card.architecture, **asdict(settings)}
    card = replace(
        card,
        architecture=TOKENS,
        dimension=int(shape[0]),
        max_tokens=huggingface.read_longest(folder, card),
        prompts={},
        heads={Format.QRY: TOKENS},
        network=replace(card.network, pooling="tokens", options=options),
    )
    return Model(card, folder, lambda: _weights(files))


def _weights(files: Sequence[Path]) -> Weights:
    return {name: array for file in files for name, array in read_weights(file).items()}


def _projection_files(folder: Path) -> list[Path]:
    """Return the file of the module Dense, if there is one; `InputError` if ses can't run the modules."""
    modules = listed_modules(folder)
    kinds = [one.kind for one in modules]
    if unknown := sorted(set(kinds) - set(_MODULES)):
        raise InputError(f"{folder} has modules that ses can't run: {', '.join(unknown)}.")
    require(kinds.count("Dense") <= 1, f"{folder} has several projections, and ses can run one; choose another model.")
    if "Dense" not in kinds:
        return []
    part = inside(folder, modules[kinds.index("Dense")].path)
    dense = read_json(part / "config.json", dict)
    if dense.get("activation_function") not in _IDENTITY or dense.get("use_residual"):
        raise InputError(f"{folder} has a projection with an activation or a residual, which ses can't run.")
    return [weights_file(part)]


def _own_settings(folder: Path) -> LateSettings:
    """Read the settings of PyLate or sentence-transformers."""
    given = read_json(folder / huggingface.SETTINGS, dict)
    transformer = transformer_settings(folder)
    prompts = given.get("prompts") if isinstance(given.get("prompts"), Mapping) else {}
    expansion, query_tokens = _expansion(folder, given, transformer)
    skipped = given.get("skiplist_words", _mask_words(folder))
    if skipped is None:
        skipped = list(string.punctuation) if given.get("model_type") == "ColBERT" else []
    documents = ("document", "passage", "corpus")
    similarity = str(given.get("similarity_fn_name") or "maxsim").lower()
    return LateSettings(
        query_prefix=_text(given.get("query_prefix")) + _after(prompts, ("query",), given.get("query_prefix")),
        document_prefix=_text(given.get("document_prefix")) + _after(prompts, documents, given.get("document_prefix")),
        query_tokens=query_tokens,
        document_tokens=_length(folder, given.get("document_length", transformer.get("document_length"))),
        expands=expansion is not None,
        filler=_text(expansion.get("token")) if expansion else "",
        attends=bool(expansion.get("attend")) if expansion else False,
        skipped=_words(folder, skipped),
        mean=_SIMILARITIES.get(similarity, False),
    )


def _expansion(
    folder: Path, given: Mapping[str, Any], transformer: Mapping[str, Any]
) -> tuple[Mapping[str, Any] | None, int]:
    """Return how queries are expanded, None if they are not, and their tokens."""
    marks = ("query_length", "document_length", "do_query_expansion", "query_prefix", "skiplist_words")
    found = given.get("query_expansion", transformer.get("query_expansion"))
    length = given.get("query_length", transformer.get("query_length"))
    if isinstance(found, Mapping):
        if found.get("strategy") != "fixed":
            raise InputError(f"{folder} expands queries by another strategy than fixed, which ses can't.")
        return found, _length(folder, found.get("length"))
    older = any(mark in given for mark in marks) and "query_expansion" not in given
    if older and given.get("do_query_expansion") is not False:
        attends = given.get("attend_to_expansion_tokens", given.get("attend_to_mask_tokens"))
        return {"attend": bool(attends)}, _length(folder, length) or _QUERY_TOKENS
    return None, _length(folder, length)


def _mask_words(folder: Path) -> Any:
    """Return the skipped words of a module MultiVectorMask; None if there is no such module."""
    path = next((one.path for one in listed_modules(folder) if one.kind == "MultiVectorMask"), None)
    if path is None:
        return None
    settings = read_json(inside(folder, path) / "config.json", dict)
    if settings.get("keep_only_token_ids") or settings.get("skiplist_tasks", ["document"]) != ["document"]:
        raise InputError(f"{folder} skips tokens in a way that ses can't; choose another model.")
    return settings.get("skiplist_words") or []


def _metadata(folder: Path) -> LateSettings:
    """Read the settings of ColBERT's own folders."""
    given = read_json(folder / _METADATA, dict, missing={})
    return LateSettings(
        query_prefix=f"{_text(given.get('query_token_id')) or '[unused0]'} ",
        document_prefix=f"{_text(given.get('doc_token_id')) or '[unused1]'} ",
        query_tokens=_length(folder, given.get("query_maxlen")) or _QUERY_TOKENS,
        document_tokens=_length(folder, given.get("doc_maxlen")),
        expands=True,
        filler="",
        attends=bool(given.get("attend_to_mask_tokens")),
        skipped=tuple(string.punctuation) if given.get("mask_punctuation", True) else (),
    )


def _after(prompts: Mapping[str, Any], names: Sequence[str], prefix: Any) -> str:
    """Return the prompt of one of some names, without the prefix that it may begin with."""
    prompt = next((_text(prompts[name]) for name in names if name in prompts), "")
    return prompt.removeprefix(_text(prefix))


def _text(value: Any) -> str:
    return content(value) if isinstance(value, str | dict) else ""


def _length(folder: Path, value: Any) -> int:
    if value is None:
        return 0
    if type(value) is not int or value < 1:
        raise InputError(f"{folder} gives {value!r} for a number of tokens; fetch the model again.")
    return int(value)


def _words(folder: Path, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given) or len(given) > _MOST_SKIPPED:
        raise InputError(f"{folder} gives no list of words to skip; fetch the model again.")
    return tuple(given)
