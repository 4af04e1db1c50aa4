"""Late interaction: each token of the query meets the paper's token most like it (Khattab and Zaharia 2020, eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, require
from corpora.lazy import np
from encoders.architectures.tokens import TOKENS
from encoders.models.card import ModelCard
from encoders.models.folder import read_json
from encoders.models.formats import Precision
from encoders.models.model import Model
from encoders.rerankers.scorer import check_numbers
from encoders.runtimes.sessions import Sessions, make_sessions
from encoders.tokens.batching import batches, pieces
from encoders.tokens.tokenizer import content, load_tokenizer, tokenized, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MASKS = ("[MASK]", f"<{'mask'}>")  # a plain string would look like a setting of a hint
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before a text: the id of a token after the first special one, if there is one, and text."""

    token: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """A late-interaction model ready to score; see `PairScorer`.

    Use it when each word of a query should find its match, as in long questions with several conditions.

    Attributes:
        card: What the model declares; its network's options are the layout's settings.
        runtime: Runtime and precision, such as `onnx-int8`.
        tokenizer: The tokenizer, which neither pads nor cuts.
        sessions: What gives the vectors of a batch's tokens.
        query: What stands before a query.
        document: What stands before a paper.
        filler: Id of the token that fills a query up.
        skipped: Ids of a paper's tokens that match nothing.
    """

    card: ModelCard
    runtime: str
    tokenizer: Tokenizer
    sessions: Sessions
    query: Prefix
    document: Prefix
    filler: int
    skipped: frozenset[int]

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return for each text the sum, over the query's tokens, of the largest cosine to a token of it.

        float32 (texts,); for some models the mean over the query's tokens.
        """
        wanted, found = self._query_vectors(query), np.empty(len(texts), dtype=np.float32)
        if not texts:
            return found
        options, session = self.card.network.options, self.sessions((TOKENS,))
        ids = self._ids(texts, self.document, options["document_tokens"])
        for batch, (vectors,) in session.each(batches(ids)):
            for row, of_text in zip(batch.rows.tolist(), vectors, strict=True):
                kept = [place for place, token in enumerate(ids[row]) if token not in self.skipped]
                found[row] = (wanted @ of_text[kept].T).max(axis=1).sum() if kept else 0.0
        if options["mean"]:
            found /= len(wanted)
        check_numbers(self.card, found)
        return found

    def _query_vectors(self, query: str) -> np.ndarray:
        """Return the vectors of a query's tokens and of those that fill it up, float32 (tokens, dimension)."""
        options = self.card.network.options
        (tokens,) = self._ids([query], self.query, options["query_tokens"])
        missing = max(self._limit(options["query_tokens"]) - len(tokens), 0) if options["expands"] else 0
        ids = np.array([[*tokens, *[self.filler] * missing]], dtype=np.int64)
        mask = np.ones_like(ids)
        if not options["attends"]:
            mask[0, len(tokens) :] = 0
        (vectors,) = self.sessions((TOKENS,))(ids, mask)
        return np.asarray(vectors[0, : ids.shape[1]])

    def _ids(self, texts: Sequence[str], prefix: Prefix, most: int) -> list[list[int]]:
        """Return the token ids of texts with their prefix, cut to a number of tokens."""
        added = [] if prefix.token is None else [prefix.token]
        limit = self._limit(most) - len(added)
        found = []
        for encoding in tokenized(self.tokenizer, [prefix.text + well_formed(text) for text in texts]):
            first, *rest = pieces(encoding.ids, limit, 1, "start")[0]
            found.append([first, *added, *rest])
        return found

    def _limit(self, most: int) -> int:
        network = self.card.network
        return min(most, network.positions - network.first_position) if most else self.card.max_tokens


def load(
    model: Model, cache_dir: Path, runtime: str | None, precision: Precision | None, threads: int
) -> LateInteraction:
    """Prepare a late-interaction model; arguments and errors as of `encoders.rerankers.registry.load_reranker`."""
    card, options = model.card, model.card.network.options
    tokenizer = load_tokenizer(model.folder, card, cache_dir)
    shortest = min(one for one in (options["query_tokens"], options["document_tokens"], card.max_tokens) if one)
    require(shortest >= _FEWEST, f"The model in {model.folder} reads {shortest} tokens, too few; choose another one.")
    skipped = [tokenizer.token_to_id(word) for word in options["skipped"]]
    made_by, sessions = make_sessions(model, tokenizer, cache_dir, runtime, precision, threads)
    sessions((TOKENS,))  # so that the first search within a time does not pay for it
    return LateInteraction(
        card,
        made_by,
        tokenizer,
        sessions,
        _prefix(tokenizer, options["query_prefix"]),
        _prefix(tokenizer, options["document_prefix"]),
        _filler(tokenizer, model.folder, options["filler"]) if options["expands"] else 0,
        frozenset(one for one in skipped if one is not None),
    )


def _prefix(tokenizer: Tokenizer, given: str) -> Prefix:
    """Return a prefix as a token and the text after it, if it begins with a token of the vocabulary."""
    for token in (given, *given.split(None, 1)[:1]):
        if token and (number := tokenizer.token_to_id(token)) is not None:
            return Prefix(number, given[len(token) :].lstrip())
    return Prefix(None, given)


def _filler(tokenizer: Tokenizer, folder: Path, given: str) -> int:
    named = content(read_json(folder / "tokenizer_config.json", dict, missing={}).get("mask_token"))
    for token in [given] if given else [named, *_MASKS]:
        if token and (number := tokenizer.token_to_id(token)) is not None:
            return int(number)
    raise InputError(f"The tokenizer in {folder} has no token to fill queries up with; fetch the complete model.")
