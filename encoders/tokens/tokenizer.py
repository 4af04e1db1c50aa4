"""Texts to token ids with the Rust `tokenizers` library, from the files a model folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.errors import InputError, require
from encoders.models.json_files import LARGEST_TOKENIZER, transformer_settings
from encoders.tokens.added_tokens import add_to, read_added

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer

    from encoders.models.card import ModelCard

_OLDER = ("sentencepiece.bpe.model", "spiece.model", "spm.model", "vocab.txt", "vocab.json")
"""Vocabularies for which only transformers knows how its families use them."""

_TRIAL = "A word, 12 numbers and \u2603, which few vocabularies have."


def well_formed(text: str) -> str:
    """Return the text in Unicode that the tokenizer takes: surrogate pairs joined, lone surrogates as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def load_tokenizer(folder: Path, card: ModelCard) -> Tokenizer:
    """Load the tokenizer: special tokens added, nothing cut or padded (long texts and batches are others' work).

    Args:
        folder: Holds `tokenizer.json`, or the `vocab.txt` of a BERT model and what it adds to it.
        card: Gives family and case.

    Returns:
        The tokenizer.

    Raises:
        InputError: If neither file is there, or a file is damaged.
    """
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    full, vocabulary = folder / "tokenizer.json", folder / "vocab.txt"
    if not full.exists() and not (vocabulary.exists() and card.family == "bert"):
        other = next((name for name in _OLDER if (folder / name).exists()), None)
        if other:
            raise InputError(
                f"{folder} has no tokenizer.json, only {other}: let transformers write one, with `pip install "
                "transformers sentencepiece` and AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
            )
        raise InputError(f"{folder} has no tokenizer.json: fetch the whole model.")
    read = full if full.exists() else vocabulary
    require(
        read.stat().st_size <= LARGEST_TOKENIZER,
        f"{read} is larger than {LARGEST_TOKENIZER >> 20} MiB; fetch the model from a source you trust.",
    )
    try:
        if full.exists():
            tokenizer = Tokenizer.from_file(str(full))
        else:
            tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=card.lowercase)._tokenizer
            add_to(tokenizer, read_added(folder), folder)
        # Some damage shows only when a text is read.
        special = tokenizer.encode("").ids
        tokenizer.encode(_TRIAL)
    except (InputError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # The Rust library raises Exception itself, and where it panics something that is not even one.
        raise InputError(f"The tokenizer in {folder} can't be read ({error}); fetch the model again.") from error
    require(special, f"The tokenizer in {folder} adds no special tokens, which encoders need; fetch the model again.")
    if transformer_settings(folder).get("do_lower_case") is True:
        _fold_case(tokenizer)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _fold_case(tokenizer: Tokenizer) -> None:
    """Fold the case of all text but special tokens, before any other step of the tokenizer."""
    from tokenizers import normalizers

    own = [tokenizer.normalizer] if tokenizer.normalizer else []
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
