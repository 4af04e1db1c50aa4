"""Texts to token ids with the Rust `tokenizers` library, from the files a model folder has.

A folder without `tokenizer.json` may add tokens to its `vocab.txt`, which are read as transformers reads them. Since
release 4.34 `tokenizer_config.json` lists them with all their properties under `added_tokens_decoder`. Before,
`added_tokens.json` gave their ids, and `special_tokens_map.json` said which of them are special.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, require
from encoders.architectures.registry import STATIC
from encoders.models.card import ModelCard
from encoders.models.folder import LARGEST_TOKENIZER, read_json, transformer_settings
from encoders.tokens.batching import LongText, pieces
from encoders.tokens.checking import check_description

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_OLDER = ("sentencepiece.bpe.model", "spiece.model", "spm.model", "vocab.txt", "vocab.json")
"""Vocabularies for which only transformers knows how its families use them."""

_TRIAL = "A word, 12 numbers and \u2603, which few vocabularies have."

_MOST_SPECIAL = 64

CONTINUES = "##"
"""What a piece begins with that continues a word."""

_LONGEST_SPLIT = 100
"""Characters of the longest word that has pieces; longer ones are unknown as a whole."""


def well_formed(text: str) -> str:
    """Return the text in Unicode that the tokenizer takes: surrogate pairs joined, lone surrogates as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def load_tokenizer(folder: Path, card: ModelCard, cache_dir: Path | None = None) -> Tokenizer:
    """Load the tokenizer of a model's folder: special tokens added, nothing cut or padded.

    What is remembered of tokenizers is in `cache_dir`; nothing if None. Raises `InputError` if a file is damaged, or
    the tokenizer takes time or memory without end.
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
        raise InputError(f"{folder} has no tokenizer.json: fetch the complete model.")
    read = full if full.exists() else vocabulary
    require(
        read.stat().st_size <= LARGEST_TOKENIZER,
        f"{read} is larger than {LARGEST_TOKENIZER >> 20} MiB; fetch the model from a source you trust.",
    )
    if full.exists():
        check_description(full, cache_dir)
    try:
        if full.exists():
            tokenizer = Tokenizer.from_file(str(full))
        else:
            tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=card.lowercase)._tokenizer
            add_to(tokenizer, read_added(folder), folder)
        # Before any text, since a file can have short texts padded to any length.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # Some damage shows only when a text is read.
        special = tokenizer.encode("").ids
        tokenizer.encode(_TRIAL)
    except (InputError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # The Rust library raises Exception itself, and where it panics something that is not even one.
        raise InputError(f"The tokenizer in {folder} can't be read ({error}); fetch the model again.") from error
    require(
        special or card.architecture == STATIC,
        f"The tokenizer in {folder} adds no special tokens, which encoders need; fetch the model again.",
    )
    require(
        len(special) <= _MOST_SPECIAL,
        f"The tokenizer in {folder} adds {len(special):,} special tokens to each text; fetch the model again.",
    )
    if transformer_settings(folder).get("do_lower_case") is True:
        _fold_case(tokenizer)
    return tokenizer


def tokenized(
    tokenizer: Tokenizer, texts: Sequence[str] | Sequence[tuple[str, str]], *, special: bool = True
) -> list[Encoding]:
    """Return the tokens of texts, or of pairs of texts, with or without those that it adds to every text.

    Raises `InputError` if the tokenizer fails on a text.
    """
    try:
        return tokenizer.encode_batch_fast(texts, add_special_tokens=special)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # as above
        raise InputError(
            f"The model's tokenizer fails on a text ({error}); fetch the model from a source you trust."
        ) from error


def cut_texts(
    tokenizer: Tokenizer, texts: Sequence[str], limit: int, prompt: int, policy: LongText
) -> tuple[list[list[int]], list[int]]:
    """Return the token ids that a network reads, and the number of the text that each list is of.

    A text of more than `limit` tokens is cut by `encoders.tokens.batching.pieces`, to which `prompt` and `policy` go.
    Raises `InputError` if the tokenizer fails on a text.
    """
    token_ids: list[list[int]] = []
    owners: list[int] = []
    for owner, encoding in enumerate(tokenized(tokenizer, texts)):
        cut = pieces(encoding.ids, limit, prompt, policy)
        token_ids += cut
        owners += [owner] * len(cut)
    return token_ids, owners


def splits_as_bert(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer splits words into pieces as BERT's does, which programs have code for."""
    described = json.loads(tokenizer.to_str())
    model, before = described["model"], described["pre_tokenizer"] or {}
    return (
        model["type"] == "WordPiece"
        and model["continuing_subword_prefix"] == CONTINUES
        and model["max_input_chars_per_word"] == _LONGEST_SPLIT
        and before.get("type") == "BertPreTokenizer"
    )


def _fold_case(tokenizer: Tokenizer) -> None:
    """Fold the case of all text but special tokens, before any other step of the tokenizer."""
    from tokenizers import normalizers

    own = [tokenizer.normalizer] if tokenizer.normalizer else []
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])


_CONFIG, _IDS, _SPECIAL = "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"
_EXTRA = ("additional_special_tokens", "extra_special_tokens")  # the latter since transformers 5
_MOST_DIGITS = 9
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that the tokenizer finds in a text before it splits words.

    Attributes:
        content: The token in a text.
        id: Its row of the word table; None if it has the id of the vocabulary, or the next free one.
        special: Whether it is found in the text as given; others in the text as the tokenizer normalizes it.
        flags: Other properties that the file sets, by the names of the library tokenizers.
    """

    content: str
    id: int | None
    special: bool
    flags: tuple[tuple[str, bool], ...] = ()


def read_added(folder: Path) -> tuple[AddedToken, ...]:
    """Return the tokens that a folder adds, by id, those without one last; `InputError` if a file is damaged."""
    config, ids, special = (read_json(folder / name, dict, missing={}) for name in (_CONFIG, _IDS, _SPECIAL))
    named = [content(token) for part in (config, special) for key in _EXTRA for token in _listed(part.get(key))]
    if decoder := config.get("added_tokens_decoder"):
        found = [_described(folder, number, token) for number, token in _pairs(folder, _CONFIG, decoder)]
    else:
        found = [_numbered(folder, name, number, named) for name, number in _pairs(folder, _IDS, ids)]
    known = {token.content for token in found}
    rest = [AddedToken(name, None, special=True) for name in dict.fromkeys(named) if name and name not in known]
    return (*sorted(found, key=lambda token: token.id or 0), *rest)


def add_to(tokenizer: Tokenizer, added: Iterable[AddedToken], folder: Path) -> None:
    """Add tokens to a tokenizer, or raise `InputError` if one can't have the id that its file gives it."""
    from tokenizers import AddedToken as Token

    for token in added:
        flags = {"normalized": not token.special} | dict(token.flags)
        tokenizer.add_tokens([Token(token.content, special=token.special, **flags)])
        if token.id not in (None, tokenizer.token_to_id(token.content)):
            raise InputError(
                f"{folder} gives its token {token.content} the id {token.id}, and its vocabulary ends elsewhere; "
                "fetch the complete model again."
            )


def content(token: Any) -> str:
    """Return a token as it stands in a text, given as transformers writes it: a string, or an object that holds it."""
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list) else list(given.values()) if isinstance(given, dict) else []


def _pairs(folder: Path, name: str, given: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(given, dict):
        raise _damaged(folder, name)
    return given.items()


def _described(folder: Path, number: str, token: Any) -> AddedToken:
    if not isinstance(token, dict) or not content(token) or not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise _damaged(folder, _CONFIG)
    flags = tuple((flag, token[flag]) for flag in _FLAGS if isinstance(token.get(flag), bool))
    return AddedToken(content(token), int(number), token.get("special") is True, flags)


def _numbered(folder: Path, name: str, number: Any, special: Sequence[str]) -> AddedToken:
    if not name or type(number) is not int:
        raise _damaged(folder, _IDS)
    return AddedToken(name, number, name in special)


def _damaged(folder: Path, name: str) -> InputError:
    return InputError(f"{folder / name} doesn't tell its added tokens by id; fetch the model again.")
