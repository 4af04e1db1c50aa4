"""Pairs of texts to tokens: the tokenizer joins the two, and cuts the longer one first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import require
from corpora.lazy import np
from encoders.models.card import ModelCard
from encoders.tokens.batching import Batch, batches
from encoders.tokens.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_LEAST = 4
"""Tokens of both texts together, beside the special ones, that a model has to leave room for."""


def load_pair_tokenizer(folder: Path, card: ModelCard, cache_dir: Path | None = None) -> Tokenizer:
    """Load a folder's tokenizer, which cuts pairs to `card.max_tokens`, the longer text first.

    Raises `InputError` as `load_tokenizer` does, and if it has no form for pairs.
    """
    tokenizer = load_tokenizer(folder, card, cache_dir)
    alone, joined = (tokenizer.num_special_tokens_to_add(is_pair=pair) for pair in (False, True))
    require(joined > alone, f"The tokenizer in {folder} has no form for pairs of texts; fetch the model again.")
    require(
        card.max_tokens >= joined + _LEAST,
        f"The model in {folder} reads {card.max_tokens} tokens, too few for a pair of texts; choose another model.",
    )
    tokenizer.enable_truncation(card.max_tokens, strategy="longest_first")
    return tokenizer


def pair_batches(pairs: Sequence[Encoding], *, segments: bool) -> Iterator[Batch]:
    """Yield pairs in batches by length; with `segments`, the mask has 2 where a token is of the second text."""
    for batch in batches([pair.ids for pair in pairs]):
        if not segments:
            yield batch
            continue
        mask = batch.mask.copy()
        for place, row in enumerate(batch.rows):
            kinds = np.minimum(np.array(pairs[row].type_ids, dtype=np.int64), 1)
            mask[place, : len(kinds)] += kinds
        yield replace(batch, mask=mask)
