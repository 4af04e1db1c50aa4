"""Control codes: a token for each format before a text. The last state of the token is the text's vector.

SciRepEval's codes (section 4.2) are special tokens with new rows of the word table, N(0, 0.02). All weights are
trained, as in the paper; with the option `frozen`, the new rows alone.

Codes over a shared trunk (our method) attend to the text, and the network stays as it is. A row starts as that of
[CLS], so training starts at the plain network's first-token vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.architectures.bert import WORDS
from encoders.layouts.network_writing import card_of, write_network
from encoders.layouts.own_card import CARD_FILE
from encoders.layouts.shared_codes import CODES_FILE
from encoders.models.card import ModelCard
from encoders.models.folder import bert_config, write_json, writing
from encoders.models.formats import Format
from encoders.models.model import Model, Weights
from encoders.models.weights import write_safetensors
from encoders.tokens.tokenizer import load_tokenizer
from training.trainables.base import DEVIATION, Trainable, TrainableOptions

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def _start(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    words, (_, first) = base.read()[WORDS], _with_codes(base, formats)
    if len(words) < first:
        raise InputError(f"{base.card.name} has {first} tokens and only {len(words)} rows for them; name another base.")
    rows = np.random.default_rng(seed).normal(0, DEVIATION, (len(formats), words.shape[1])).astype(np.float32)
    # Rows without a token are removed, as in SciRepEval's code.
    return {WORDS: np.concatenate([words[:first], rows])}


def _write(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    tokenizer, _ = _with_codes(base, formats)
    config = bert_config(base.card, weights)
    card = {**card_of(base.card), "pooling": "code"}
    del card["prompts"]  # the codes stand there instead, as the tokenizer tells
    write_network(folder, weights, config, card, base.folder, tokenizer, _codes(formats))


def _trained(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:
    if options["frozen"]:
        return {WORDS: card.network.vocabulary - len(card.formats)}
    return dict.fromkeys(weights, 0)


def _with_codes(base: Model, formats: Sequence[Format]) -> tuple[Tokenizer, int]:
    """Return the base's tokenizer with the codes added, and the first's id."""
    tokenizer = load_tokenizer(base.folder, base.card)
    codes = _codes(formats)
    if any(tokenizer.token_to_id(code) is not None for code in codes):
        raise InputError(f'{base.card.name} has control codes already; train it with trains = "all".')
    tokenizer.add_special_tokens(codes)
    return tokenizer, tokenizer.encode(codes[0], add_special_tokens=False).ids[0]


def _codes(formats: Sequence[Format]) -> list[str]:
    """Return the codes in the order in which SciRepEval's training adds them."""
    return sorted(task_format.code for task_format in formats)


def _start_shared(base: Model, formats: Sequence[Format], options: TrainableOptions, seed: int) -> dict[str, Any]:  # noqa: ARG001
    words = base.read()[WORDS]
    first = load_tokenizer(base.folder, base.card).encode("").ids[0]
    return {WORDS: np.concatenate([words, np.repeat(words[first][None], len(formats), axis=0)])}


def _write_shared(base: Model, formats: Sequence[Format], weights: Weights, folder: Path) -> None:
    rows = weights[WORDS][base.card.network.vocabulary :]
    codes = {f"codes.{task_format}": row for task_format, row in zip(formats, rows, strict=True)}
    with writing(folder):
        write_json(folder / CARD_FILE, {"architecture": "shared-codes", "base": base.card.name})
        write_safetensors(folder / CODES_FILE, codes)


def _trained_shared(card: ModelCard, options: TrainableOptions, weights: Weights) -> dict[str, int]:  # noqa: ARG001
    return {WORDS: card.network.vocabulary - len(card.network.options["codes"])}


CODES = Trainable({"frozen": 0}, _write, _trained, _start)
SHARED_CODES = Trainable({}, _write_shared, _trained_shared, _start_shared)
