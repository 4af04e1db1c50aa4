"""Folders of learned sparse models: SPLADE's, and the document-only models of OpenSearch.

In a folder of sentence-transformers (`SparseEncoder`), `modules.json` tells that SPLADE's pooling follows a masked
language model. With a Router, `router_config.json` tells it of papers and queries, and that of queries may be a table
of weights (`SparseStaticEmbedding`). OpenSearch's own folders hold the table as `idf.json` or
`query_token_weights.txt`. Of other masked language models, a `ses_card.json` says that the architecture is `sparse`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpora import documents
from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError, require
from corpora.lazy import np
from encoders.architectures.registry import SPARSE
from encoders.layouts.huggingface import HEAD, card_of, read_prompts
from encoders.layouts.masked import as_bert, read_masked
from encoders.layouts.sentence_modules import Module, class_name, listed_modules
from encoders.models.card import ModelCard
from encoders.models.folder import inside, read_json
from encoders.models.formats import Format
from encoders.models.model import Find, Model
from encoders.models.weights import read_weights, weights_file
from encoders.tokens.tokenizer import load_tokenizer

_ROUTES = "router_config.json"
_TABLES = ("idf.json", "query_token_weights.txt")
_ROUTER, _POOLING, _STATIC = "Router", "SpladePooling", "SparseStaticEmbedding"
_NETWORKS = ("Transformer", "MLMTransformer")
_LOGARITHMS = {"relu": 1, "log1p_relu": 2}
_MOST_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class _Parts:
    """Where the parts of a model are: folders of the network and the pooling, and the table of queries, if any."""

    network: Path
    pooling: Path | None = None
    table: Path | None = None


def recognizes(path: Path) -> bool:
    """Return whether a folder is such a model."""
    if any((path / name).is_file() for name in _TABLES):
        return True
    kinds = [one.kind for one in listed_modules(path)]
    if kinds[:1] == [_ROUTER]:
        types = read_json(path / _ROUTES, dict, missing={}).get("types")
        if not isinstance(types, dict) or not types:
            return True  # no layout can read it, and this one says what it lacks
        kinds = list(map(class_name, types.values()))
    return _POOLING in kinds


def read(folder: Path, name: str, find: Find) -> Model:  # noqa: ARG001 - it is made of no others
    """Read a model folder; see `Layout`."""
    parts = _parts(folder)
    path = weights_file(parts.network)
    config = as_bert(parts.network / "config.json", read_json(parts.network / "config.json", dict))
    card = card_of(parts.network, name, sha256_of(path), config)
    require(
        card.architecture == "plain",
        f"{folder} holds a sparse model of the family {card.family}; ses has those of BERT, DistilBERT and RoBERTa.",
    )
    options = {"logarithms": _logarithms(parts)}
    settings = [card.settings_sha256, options, sha256_of(parts.table) if parts.table else ""]
    card = replace(
        card,
        architecture=SPARSE,
        dimension=card.network.vocabulary,
        similarity="dot",
        # Such models are trained on texts with plain spaces between title and text.
        separator="",
        prompts=read_prompts(folder),
        heads=dict.fromkeys((Format.PRX, Format.QRY), HEAD),
        network=replace(card.network, options=options),
        settings_sha256=sha256_of_text(json.dumps(settings, sort_keys=True)),
    )
    weights = functools.partial(_table, parts.table, parts.network, card) if parts.table else None
    return Model(card, parts.network, functools.partial(read_masked, path), query_weights=weights)


def _routes(folder: Path) -> Mapping[str, list[Module]]:
    """Return the modules of queries and of papers."""
    listed = listed_modules(folder)
    if not listed or listed[0].kind != _ROUTER:
        return {"query": listed, "document": listed}
    routes = read_json(folder / _ROUTES, dict)
    types, structure = routes.get("types"), routes.get("structure")
    try:
        return {
            route: [Module(class_name(types[part]), str(part)) for part in structure[route]]
            for route in ("query", "document")
        }
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder / _ROUTES} has no routes for queries and documents; fetch it again.") from error


def _parts(folder: Path) -> _Parts:
    routes = _routes(folder)
    table = next((folder / name for name in _TABLES if (folder / name).is_file()), None)
    document = routes["document"]
    if not document:
        return _Parts(folder, table=table)
    if [one.kind for one in document] not in [[network, _POOLING] for network in _NETWORKS]:
        kinds = ", ".join(one.kind for one in document)
        raise InputError(f"{folder} has sentence-transformers modules that ses can't run for sparse vectors: {kinds}.")
    network, pooling = (inside(folder, one.path) for one in document)
    if routes["query"] == document:
        return _Parts(network, pooling)
    if [one.kind for one in routes["query"]] != [_STATIC]:
        raise InputError(f"{folder} has another network for queries, which ses can't run for sparse vectors.")
    static = inside(folder, routes["query"][0].path)
    named = read_json(static / "config.json", dict, missing={}).get("path")
    found = [folder / named] if isinstance(named, str) and inside(folder, named).is_file() else []
    found += [weights for weights in (static / "model.safetensors",) if weights.is_file()]
    table = next(iter(found), table)
    require(table is not None, f"{folder} lacks the weights of the tokens of queries; fetch the complete model.")
    return _Parts(network, pooling, table)


def _logarithms(parts: _Parts) -> int:
    """Return how often the logarithm is taken; `InputError` if the model pools in a way that ses can't."""
    settings = read_json(parts.pooling / "config.json", dict) if parts.pooling else {}
    strategy, activation = settings.get("pooling_strategy", "max"), settings.get("activation_function", "relu")
    if strategy != "max" or activation not in _LOGARITHMS:
        raise InputError(f"{parts.pooling} pools by {strategy} of {activation}, and ses by max of relu or log1p_relu.")
    return _LOGARITHMS[activation]


def _table(path: Path, tokens: Path, card: ModelCard) -> np.ndarray:
    """Read the weights of the tokens of queries, float32 (vocabulary,)."""
    if path.suffix == ".safetensors":
        arrays = read_weights(path)
        weights = arrays.get("weight", np.empty(0, np.float32))
    else:
        tokenizer = load_tokenizer(tokens, card)
        weights = np.zeros(card.dimension, np.float32)
        for token, weight in _named(path).items():
            if (number := tokenizer.token_to_id(token)) is not None and number < len(weights):
                weights[number] = weight
    if weights.shape != (card.dimension,) or not (np.abs(weights) <= _MOST_WEIGHT).all():  # also true for NaN
        raise InputError(f"{path} does not hold a weight for each of {card.dimension} tokens; fetch the model again.")
    above: np.ndarray = np.maximum(weights, 0.0)
    return above


def _named(path: Path) -> dict[str, float]:
    """Read weights by token, from JSON or from lines of a token, a tab and its weight."""
    if path.suffix == ".json":
        pairs: Any = read_json(path, dict).items()
    else:
        try:
            lines = documents.read_text(path).splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"{path} can't be read ({error}); fetch the model again.") from error
        pairs = [line.rpartition("\t")[::2] for line in lines if line.strip()]
    try:
        return {str(token): float(weight) for token, weight in pairs}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} gives a token no weight ({error}); fetch the model again.") from error
