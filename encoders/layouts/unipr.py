"""Instructions that papers attend to: UniPR's and SciMult's checkpoints, or any network its card says so of.

A folder's `ses_card.json` makes a plain network one, in the folder or named as its base:
`{"architecture": "instructions", "instructions": {"prx": "Find ...", "qry": "Find ...", "clf": "Tag ..."}}`.
With the architecture `instruction-encoder`, another network, named as `instructor`, reads the instructions.

UniPR, later Chain-of-Factors, reads papers under three instructions, one for each factor by which papers are compared
(UniPR section 3.2.1, table 1). Only two of the three vectors are task formats of ses; the third, citation, is available
by its instruction only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from corpora.checksums import sha256_of_text
from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.bert import layer_name
from encoders.architectures.instructions import INSTRUCTOR
from encoders.layouts.encoder_params import EncoderParams, special_layers
from encoders.layouts.huggingface import base_of, located
from encoders.layouts.own_card import CARD_FILE, by_format, read_own
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Find, Model, Weights, is_of_task_head
from encoders.tokens.batching import pieces
from encoders.tokens.tokenizer import load_tokenizer, well_formed

MAX_TOKENS = 32
"""The longest instruction in tokens, special ones included, as in the papers' code."""

TOPICS = "Tag a scientific paper with relevant scientific topic classes."
SEMANTIC = "Retrieve a scientific paper that is relevant to the query."
_PAIRS = {
    "semantic": "Find a pair of papers that one paper is relevant to the other paper.",
    "topic": "Find a pair of papers that one paper shares similar scientific topic classes with the other paper.",
    "citation": "Find a pair of papers that one paper cites the other paper.",
}
"""Instructions for SIGIR, SciRepEval, and any other data set."""

_FACTORS = {Format.CLF: _PAIRS["topic"], Format.PRX: SEMANTIC, Format.QRY: SEMANTIC}
"""UniPR table 1. Both sides of a search read the same instruction, so papers read that of search, too; the third
factor, citation, is proximity by another measure, and none was trained for regression."""


def read(folder: Path, name: str, find: Find) -> Model:
    """Read a plain network whose papers attend to the instructions of a folder's own card."""
    base, own = base_of(folder, find), read_own(folder)
    layers = range(base.card.network.layers)
    card = _instructed(replace(base.card, name=name), base.folder, folder, layers, {})
    if own["architecture"] == "instructions":
        if "instructor" in own:
            raise InputError(f"{folder / CARD_FILE} names an instructor; its architecture must be instruction-encoder.")
        return Model(card, base.folder, base.read)
    instructor = _instructor(folder, find, base)
    both = f"{base.card.weights_sha256} {instructor.card.weights_sha256}"
    card = replace(card, architecture="instruction-encoder", weights_sha256=sha256_of_text(both), licence="")
    return Model(card, base.folder, lambda: {**base.read(), **instructor_weights(card, instructor.read())})


def with_instructions(card: ModelCard, folder: Path, path: Path, params: EncoderParams) -> ModelCard:
    """Return a card with instructions, of the checkpoint's own card or UniPR's; `InputError` if a layer is unknown."""
    layers = _layers(card, path, params)
    return _instructed(card, folder, path.parent, layers, _FACTORS)


def instruction_weights(card: ModelCard, path: Path, params: EncoderParams, weights: Weights) -> Weights:
    """Return weights with a gate for each column; `InputError` if gates or adaptors are not where the settings say."""
    given, heads = dict(weights), card.network.attention_heads
    for layer in _layers(card, path, params):
        name = f"{layer_name(layer)}.attention.self"
        for part, wanted in (("gate", params.use_attn_gate), ("adaptor.weight", params.proj_adaptor)):
            if (f"{name}.{part}" in given) != bool(wanted):
                verb = "lacks" if wanted else "holds"
                raise InputError(f"{path} {verb} {name}.{part}, unlike its encoder_params say; fetch it again.")
        if params.use_attn_gate:
            gate = given[f"{name}.gate"]
            if gate.size != heads:
                raise InputError(f"{path} holds {name}.gate of shape {gate.shape}, and there are {heads} heads.")
            given[f"{name}.gate"] = np.repeat(gate.ravel(), card.network.width // heads)
    return given


def instructor_weights(card: ModelCard, weights: Weights) -> Weights:
    """Return what of a second network's weights reads the instructions, under the names of the architecture."""
    layers = range(max(card.network.options["layers"], default=0))
    used = ("embeddings.", *(f"{layer_name(layer)}." for layer in layers))
    return {
        f"{INSTRUCTOR}{name}": array
        for name, array in weights.items()
        if name.startswith(used) and not is_of_task_head(name)
    }


def _instructor(folder: Path, find: Find, base: Model) -> Model:
    """Return the network that a card names as its `instructor`; it must be as large as the base, with its words."""
    path, name = folder / CARD_FILE, read_own(folder).get("instructor")
    if not isinstance(name, str):
        raise InputError(f"{path} must name the network that reads the instructions as its instructor.")
    found = find(located(folder, name))
    own, others = (replace(one.card.network, pooling="cls", normalize=False) for one in (base, found))
    if found.card.architecture != "plain" or own != others:
        raise InputError(f"{path} names {name} as its instructor; name a plain network of the base's family and size.")
    words = [load_tokenizer(one.folder, one.card).get_vocab() for one in (base, found)]
    if words[0] != words[1]:
        raise InputError(f"{path} names {name} as its instructor, whose tokenizer has other words than the base's.")
    return found


def _instructed(
    card: ModelCard, tokenizer: Path, folder: Path, layers: Sequence[int], usual: Mapping[Format, str]
) -> ModelCard:
    path = folder / CARD_FILE
    given = read_own(folder).get("instructions", {task_format.value: text for task_format, text in usual.items()})
    if not given or not isinstance(given, dict):
        raise InputError(f'{path} must give each format its instruction, such as {{"instructions": {{"prx": "..."}}}}.')
    texts = by_format(path, "instructions", given)
    heads: dict[str, str] = {}
    # Formats with the same instruction share one vector, named after the first of them.
    for task_format in [task_format for task_format in Format if task_format in texts]:
        heads.setdefault(texts[task_format], task_format.value)
    read = _reader(tokenizer, card)
    ids = {head: read(text) for text, head in heads.items()}
    network = replace(
        card.network,
        shared_layers=min(layers, default=card.network.layers),
        options={"instructions": ids, "layers": list(layers)},
    )
    by = {task_format: heads[texts[task_format]] for task_format in Format if task_format in texts}
    return replace(card, architecture="instructions", heads=by, network=network)


def _reader(folder: Path, card: ModelCard) -> Callable[[str], list[int]]:
    """Return what turns an instruction into token ids, given the folder of the tokenizer."""
    encode, limit = load_tokenizer(folder, card).encode, min(MAX_TOKENS, card.max_tokens)
    return lambda text: pieces(encode(well_formed(text)).ids, limit, 1, "start")[0]


def _layers(card: ModelCard, path: Path, params: EncoderParams) -> list[int]:
    return special_layers(path, (params.instruct_type or "all").partition(":")[0], card.network.layers)


_BY_DATA_SET = {
    "NIPS": {
        "semantic": SEMANTIC,
        "topic": "Retrieve a scientific paper that shares similar scientific topic classes with the query.",
        "citation": "Retrieve a scientific paper that is cited by the query.",
    },
    "KDD": {
        "semantic": "Retrieve a scientific paper that is semantically relevant to the query scientific paper.",
        "topic": "Retrieve a scientific paper that is topically relevant to the query scientific paper.",
        "citation": "Retrieve a scientific paper that is most likely cited by the query scientific paper.",
    },
}


def instructions_for(data_set: str) -> Mapping[str, str]:
    """Return the instruction of each factor that the papers' program reads a data set with (CoF:get_paper_emb.py)."""
    return _BY_DATA_SET.get(data_set, _PAIRS)


def instructions_by_factor(data_set: str) -> Mapping[str, str]:
    """Return the instruction of each factor for tasks of one factor (UniPR, section 4.4).

    Of topics the paper takes another one there, since names of topics are found, and not papers.
    """
    return {**instructions_for(data_set), "topic": TOPICS}


def factor_models(model: Model, instructions: Mapping[str, str]) -> dict[str, Model]:
    """Return a model for each factor, whose PRX vectors are under its instruction; none unless it is UniPR's."""
    card = model.card
    if card.architecture != "instructions" or model.exported:
        return {}
    ids = _reader(model.folder, card)
    head, options = Format.PRX.value, card.network.options
    if list(options["instructions"].get(card.heads.get(Format.PRX, ""), ())) != ids(SEMANTIC):
        return {}
    networks = {
        factor: replace(card.network, options={**options, "instructions": {head: ids(text)}})
        for factor, text in instructions.items()
    }
    return {
        factor: replace(model, card=replace(card, heads={Format.PRX: head}, network=network))
        for factor, network in networks.items()
    }
