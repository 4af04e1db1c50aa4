"""Trains a table that stands in for a model where queries are encoded: a text is the sum of its tokens' rows.

A query is short, so the order of its words says little, and the sum of trained rows comes near to the vector that the
model makes of it (LightRetriever, arXiv:2505.12260, section 3). Papers keep the vectors of the model. The loss is the
cosine to the model's vector of the same text: a title, a sentence, or some words of a paper. Rows begin as what the
model makes of the token alone, times its inverse document frequency. At the end they are product-quantised, and the
centroids are trained once more with the codes as they are.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from corpora.errors import UnavailableError, require
from corpora.installed import extra
from corpora.lazy import faiss, np, torch
from encoders.architectures.registry import STATIC
from encoders.layouts.own_card import CARD_FILE
from encoders.layouts.static import CENTROIDS, CODES, WEIGHTS
from encoders.models.folder import write_json, writing
from encoders.models.formats import Format
from encoders.models.weights import SAFETENSORS
from encoders.tokens.tokenizer import load_tokenizer, tokenized, well_formed
from training.strict import Strict

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from encoders.models.card import ModelCard
    from encoders.text_encoder import TextEncoder
    from training.preparing import Say

_CENTROIDS = 256
"""Centroids of each part, so that the number of one takes a byte."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_SHORTEST, _LONGEST = 20, 250
"""Characters of a sentence that is like a query."""

_MOST_WORDS = 5
_FEWEST = 512
_BLOCK = 1024
_HELD_OUT = 0.03
_NEAREST = 10
_LEAST_FREQUENCY = 0.1
_LAST_RATE = 0.02


class TableSettings(Strict):
    """How a table is trained.

    Attributes:
        texts: Most texts to learn from.
        bytes_a_token: Most bytes of a quantised row: parts of the same length that it is cut into.
        batch_size: Texts of a step.
        epochs: Passes over the texts.
        learning_rate: Rate of the first step; it falls to a fiftieth.
        seed: Seed of everything drawn at random.
    """

    texts: int = Field(default=200_000, ge=1)
    bytes_a_token: int = Field(default=96, ge=1)
    batch_size: int = Field(default=2048, ge=1)
    epochs: int = Field(default=5, ge=1)
    learning_rate: float = Field(default=0.005, gt=0)
    seed: int = 42


@dataclass(frozen=True, slots=True)
class TableLoss:
    """What a table loses against its model, on texts that it has not learned from.

    Attributes:
        train: Texts to learn from.
        test: Texts that only measure.
        cosine: Mean cosine of the table's vector to the model's.
        nearest: Mean share of the ten nearest test texts of the model that the table's vector finds too.
        bytes: Size of the table's file.
    """

    train: int
    test: int
    cosine: float
    nearest: float
    bytes: int

    @property
    def sentence(self) -> str:
        """What the table loses, in a line."""
        return (
            f"On {self.test:,} texts that it has not seen, the cosine to the model's vectors is {self.cosine:.3f}, and "
            f"{self.nearest:.0%} of the {_NEAREST} nearest texts are the same; the file has {self.bytes / 1e6:.1f} MB."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "sentence": self.sentence}


def texts_of(papers: Iterable[tuple[str, str]], most: int, seed: int) -> list[str]:
    """Return short texts of papers, each once, in random order: titles, sentences, and some words in a row.

    A paper is its title and abstract. There are `most` texts at most; of the same papers and seed, they are the same.
    """
    draw = random.Random(seed)  # noqa: S311 - no secret
    found = list(dict.fromkeys(text for title, abstract in papers for text in _parts(draw, title, abstract)))
    draw.shuffle(found)
    return found[:most]


def _parts(draw: random.Random, title: str, abstract: str) -> Iterator[str]:
    words = f"{title} {abstract}".split()
    if title:
        yield title
    if sentences := [one for one in _SENTENCE.split(abstract) if _SHORTEST < len(one) < _LONGEST]:
        yield draw.choice(sentences)
    count = draw.randint(1, _MOST_WORDS)
    start = draw.randrange(max(1, len(words) - count))
    if some := " ".join(words[start : start + count]).strip(".,;:()[]"):
        yield some


def train_table(
    encoder: TextEncoder,
    tokenizer_folder: Path,
    texts: Sequence[str],
    folder: Path,
    settings: TableSettings,
    *,
    say: Say = lambda _: None,
) -> TableLoss:
    """Train a table that stands in for a model at queries, and measure what it loses.

    Args:
        encoder: The model, whose queries the table imitates.
        tokenizer_folder: Folder of the model's tokenizer.
        texts: Short texts in random order.
        folder: The folder that the table is written into.
        settings: How it is trained.
        say: Receives a report of each part of the work.

    Returns:
        What it loses.

    Raises:
        InputError: If there are too few texts, or the model's vectors are not compared by the cosine.
        UnavailableError: If torch is not installed, or the folder can't be written.
    """
    card = encoder.card
    require(len(texts) >= _FEWEST, f"A table can't be learned from {len(texts):,} texts", f"give {_FEWEST} or more")
    require(
        card.similarity == "cosine",
        f"The vectors of {card.name} are compared by {card.similarity}, and a table imitates only their directions, "
        "which the cosine compares.",
    )
    tokenizer = load_tokenizer(tokenizer_folder, card)
    vectors = _encoded(encoder, texts, say)
    vocabulary = tokenizer.get_vocab_size(with_added_tokens=True)
    tokens = [tokenizer.id_to_token(number) or "" for number in range(vocabulary)]
    ids = token_ids(tokenizer, card, texts)
    alone = _encoded(encoder, [one.removeprefix("##") or " " for one in tokens], say)
    counted = np.array([bool(token) and not _is_special(tokenizer, number) for number, token in enumerate(tokens)])
    fitted = fit(ids, vectors, alone, counted, settings, say=say)
    write_table(folder, fitted, card, tokenizer, tokenizer_folder, texts)
    return fitted.loss((folder / SAFETENSORS).stat().st_size)


def token_ids(tokenizer: Tokenizer, card: ModelCard, texts: Sequence[str]) -> list[np.ndarray]:
    """Return the tokens of texts as queries, int64 (tokens,), without those that the tokenizer adds."""
    prompts = [card.prompt(well_formed(text), Format.QRY) for text in texts]
    return [np.array(one.ids, np.int64) for one in tokenized(tokenizer, prompts, special=False)]


def _is_special(tokenizer: Tokenizer, number: int) -> bool:
    token = tokenizer.get_added_tokens_decoder().get(number)
    return bool(token and token.special)


def _encoded(encoder: TextEncoder, texts: Sequence[str], say: Say) -> np.ndarray:
    """Return the model's vectors of texts as queries, float32 (texts, dimension), of unit length."""
    made = np.empty((len(texts), encoder.card.dimension), np.float32)
    for start in range(0, len(texts), _BLOCK):
        part = encoder.encode(texts[start : start + _BLOCK], Format.QRY)
        made[start : start + len(part)] = part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12)
        say({"encoded": {"texts": start + len(part), "of": len(texts)}})
    return made


@dataclass(frozen=True, slots=True, eq=False)
class FittedTable:
    """A table in its quantised form, and how near its vectors come to the model's.

    Attributes:
        codes: uint8 (tokens, parts).
        centroids: float16 (parts, 256, dimension / parts).
        weights: float16 (tokens,).
        train: Texts to learn from.
        made: Vectors of the texts that only measure, float32 (texts, dimension).
        wanted: The model's vectors of these, float32 (texts, dimension).
    """

    codes: np.ndarray
    centroids: np.ndarray
    weights: np.ndarray
    train: int
    made: np.ndarray
    wanted: np.ndarray

    def loss(self, size: int) -> TableLoss:
        """Return what the table loses, given the bytes of its file."""
        cosine = float((self.made * self.wanted).sum(axis=1).mean())
        among = self.wanted[: 10 * _BLOCK]
        ranks = []
        for vectors in (self.made[:_BLOCK], self.wanted[:_BLOCK]):
            scores = vectors @ among.T
            np.fill_diagonal(scores, -2.0)
            ranks.append(np.argpartition(-scores, _NEAREST, axis=1)[:, :_NEAREST])
        same = [
            len(np.intersect1d(one, other)) / _NEAREST
            for one, other in zip(*map(np.ndarray.tolist, ranks), strict=True)
        ]
        return TableLoss(self.train, len(self.made), cosine, float(np.mean(same)), size)


def fit(
    ids: Sequence[np.ndarray],
    vectors: np.ndarray,
    alone: np.ndarray,
    counted: np.ndarray,
    settings: TableSettings,
    *,
    say: Say = lambda _: None,
) -> FittedTable:
    """Fit the rows of a table to the vectors of texts; `UnavailableError` if torch is not installed.

    Args:
        ids: Tokens of each text, int64 (tokens,); the last texts only measure.
        vectors: The model's vectors of the texts, float32 (texts, dimension), of unit length.
        alone: The model's vectors of each token alone, float32 (tokens, dimension).
        counted: Which tokens count, bool (tokens,).
        settings: How the table is trained.
        say: Receives the loss of each epoch.

    Returns:
        The table.
    """
    try:
        import torch
    except ImportError:
        raise UnavailableError(f"Training needs torch: run `pip install {extra('train')}`.") from None
    train = len(ids) - max(1, int(_HELD_OUT * len(ids)))
    counts = np.bincount(np.concatenate([np.unique(one) for one in ids[:train]]), minlength=len(alone))
    frequency = np.maximum(np.log(train / (1 + counts)), _LEAST_FREQUENCY)
    begun = (alone - alone.mean(axis=0)) * (frequency / frequency.max())[:, None]
    begun[~counted] = 0.0
    learner = _Learner(ids, torch.from_numpy(vectors), settings, say)
    rows = torch.nn.Parameter(torch.from_numpy(begun.astype(np.float32)))
    learner.run([rows], lambda: rows, range(train), settings.epochs)
    found = rows.detach().numpy() * counted[:, None]
    weights = np.linalg.norm(found, axis=1)
    codes, centroids = _quantised(found / np.maximum(weights, 1e-12)[:, None], weights * counts, settings)
    held, scale = torch.nn.Parameter(torch.from_numpy(centroids)), torch.nn.Parameter(torch.from_numpy(weights))
    numbers, parts = torch.from_numpy(codes.astype(np.int64)), torch.arange(codes.shape[1])
    kept = torch.from_numpy(counted.astype(np.float32))

    def put_together() -> Any:
        return held[parts, numbers].reshape(len(codes), -1) * (scale * kept)[:, None]

    learner.run([held, scale], put_together, range(train), 1)
    small = [one.detach().numpy().astype(np.float16) for one in (held, scale * kept)]
    held.data, scale.data = (torch.from_numpy(one.astype(np.float32)) for one in small)
    with torch.no_grad():
        made = learner.made(put_together(), np.arange(train, len(ids))).numpy()
    return FittedTable(codes, small[0], small[1], train, made, vectors[train:])


@dataclass(frozen=True, slots=True)
class _Learner:
    ids: Sequence[np.ndarray]
    vectors: Any
    settings: TableSettings
    say: Say

    def run(self, weights: Sequence[Any], table: Callable[[], Any], texts: range, epochs: int) -> None:
        size, draw = min(self.settings.batch_size, len(texts)), np.random.default_rng(self.settings.seed)
        steps = epochs * (len(texts) // size)
        optimizer = torch.optim.Adam(weights, lr=self.settings.learning_rate)
        falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(_LAST_RATE, 1 - step / steps))
        for epoch in range(epochs):
            order, losses = draw.permutation(len(texts)), []
            for start in range(0, len(texts) - size + 1, size):
                batch = order[start : start + size]
                loss = 1 - (self.made(table(), batch) * self.vectors[batch]).sum(dim=1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                falling.step()
                losses.append(float(loss.detach()))
            self.say({"epoch": {"number": epoch + 1, "of": epochs, "loss": float(np.mean(losses))}})

    def made(self, rows: Any, texts: np.ndarray) -> Any:
        """Return the table's vectors of texts, given its rows: a tensor (texts, dimension)."""
        own = [self.ids[number] for number in texts]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in own])[:-1]])
        flat = torch.from_numpy(np.concatenate(own))
        summed = torch.nn.functional.embedding_bag(flat, rows, torch.from_numpy(starts), mode="sum")
        return torch.nn.functional.normalize(summed, dim=1)


def _quantised(rows: np.ndarray, importance: np.ndarray, settings: TableSettings) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of rows, uint8 (rows, parts), and the centroids, float32 (parts, 256, numbers).

    Centroids are fitted to rows drawn by their importance, float (rows,), beside each row once.
    """
    size = rows.shape[1]
    parts = max(number for number in range(1, settings.bytes_a_token + 1) if size % number == 0)
    share = np.sqrt(importance) + 1e-9
    draw = np.random.default_rng(settings.seed)
    chosen = draw.choice(len(rows), size=max(len(rows), 40 * _CENTROIDS), p=share / share.sum())
    quantizer = faiss.ProductQuantizer(size, parts, 8)
    quantizer.train(np.concatenate([rows, rows[chosen]]).astype(np.float32))
    codes = quantizer.compute_codes(rows.astype(np.float32))
    centroids = faiss.vector_to_array(quantizer.centroids).reshape(parts, _CENTROIDS, size // parts)
    return codes, centroids.copy()


def write_table(
    folder: Path,
    table: FittedTable,
    card: ModelCard,
    tokenizer: Tokenizer,
    tokenizer_folder: Path,
    texts: Sequence[str],
) -> None:
    """Write a table's folder, which stands in for a model; `UnavailableError` if it can't be written.

    Where the vocabulary alone makes the same tokens of the texts, the folder has no more of the tokenizer, so that
    other programs can read it.
    """
    from safetensors.numpy import save

    arrays = {CODES: table.codes, CENTROIDS: table.centroids, WEIGHTS: table.weights}
    with writing(folder):
        (folder / SAFETENSORS).write_bytes(save({name: np.ascontiguousarray(one) for name, one in arrays.items()}))
        stands = {"model": card.name, "fingerprint": card.fingerprint}
        prompt = card.prompts.get(Format.QRY, "")
        write_json(
            folder / CARD_FILE,
            {
                "architecture": STATIC,
                "stands_in_for": stands,
                "separator": card.separator,
                "empty_parts": card.empty_parts,
                "licence": card.licence,
                **({"prompts": {Format.QRY.value: prompt}} if prompt else {}),
            },
        )
        if _plain(tokenizer, tokenizer_folder, card, texts):
            shutil.copyfile(tokenizer_folder / "vocab.txt", folder / "vocab.txt")
        else:
            tokenizer.save(str(folder / "tokenizer.json"))


def _plain(tokenizer: Tokenizer, folder: Path, card: ModelCard, texts: Sequence[str]) -> bool:
    """Return whether the vocabulary in a folder alone makes the tokens of a tokenizer."""
    from tokenizers import BertWordPieceTokenizer

    vocabulary = folder / "vocab.txt"
    if card.family != "bert" or not card.lowercase or not vocabulary.is_file():
        return False
    plain = BertWordPieceTokenizer(str(vocabulary), lowercase=True)._tokenizer
    tried = list(texts[: 10 * _BLOCK])
    both = [[one.ids for one in tokenized(each, tried, special=False)] for each in (tokenizer, plain)]
    return both[0] == both[1]
