"""Examples tokenised once and kept in arrays on disk, so that training reads any of them without parsing.

A pack is a folder: `tokens.bin` holds the token ids of all texts, `starts.npy` where each text begins, `targets.npy`
the numbers of all examples, `ends.npy` where each example's numbers end; `manifest.json` tells what it was made of.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError
from corpora.lazy import np
from corpora.writing import replacing
from encoders.architectures.registry import PAIRS
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.tokens.batching import pieces
from encoders.tokens.pairs import load_pair_tokenizer
from encoders.tokens.tokenizer import load_tokenizer, tokenized, well_formed
from training.data.examples import Example, read_examples
from training.data.records import files_of
from training.objectives import OBJECTIVES
from training.task import FILES, TrainingTask

_EXAMPLES_AT_ONCE = 256
_FORM = 2
"""Increase this number when older packs can no longer be used."""


_Tokenize = Callable[[Sequence[Example]], Iterator[tuple[list[int], int]]]
"""From a block of examples to the token ids of each text, and where the second text of a pair begins."""


@dataclass(frozen=True, slots=True)
class PackManifest:
    """What a pack was made from, and what it contains.

    Attributes:
        key: Hash over all that decides the content.
        source_sha256: SHA-256 of the file of records.
        examples: How many there are.
        unusable: Records that gave no example, by reason.
        labels: Labels of the head's outputs, in order.
    """

    key: str
    source_sha256: str
    examples: int
    unusable: Mapping[str, int]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptStates:
    """The output of the first layers for the texts of a pack (`training.states`).

    Attributes:
        layers: How many layers computed them.
        states: States of the tokens of all texts, float16 (tokens, width), mapped from disk.
        starts: Where those of each text begin, int64 (texts of the pack,).
    """

    layers: int
    states: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True, slots=True)
class Packed:
    """Tokenised examples.

    Attributes:
        columns: Number of texts per example.
        manifest: What the examples were made from.
        tokens: int32 (tokens of all texts,), mapped from disk.
        starts: int64 (texts + 1,).
        targets: float64 (numbers of all examples,).
        ends: int64 (examples,).
        seconds: Where the second text of each pair begins in its tokens, int64 (texts,); None unless texts are pairs.
        kept: States used in place of the tokens, if they are stored.
    """

    columns: int
    manifest: PackManifest
    tokens: np.ndarray
    starts: np.ndarray
    targets: np.ndarray
    ends: np.ndarray
    seconds: np.ndarray | None = None
    kept: KeptStates | None = None

    def __len__(self) -> int:
        """Return how many examples there are."""
        return len(self.ends)

    def text(self, example: int, column: int) -> np.ndarray:
        """Return the token ids of one text, int32 (tokens,)."""
        row = example * self.columns + column
        return self.tokens[self.starts[row] : self.starts[row + 1]]

    def input(self, example: int, column: int) -> np.ndarray:
        """Return the network's input for one text: its token ids (tokens,), or the states (tokens, width) if kept."""
        if self.kept is None:
            return self.text(example, column)
        row = example * self.columns + column
        start = self.kept.starts[row]
        return self.kept.states[start : start + self.starts[row + 1] - self.starts[row]]

    def second(self, example: int, column: int) -> int:
        """Return at which token the second text of a pair begins."""
        assert self.seconds is not None  # noqa: S101
        return int(self.seconds[example * self.columns + column])

    def numbers(self, example: int) -> list[float]:
        """Return the targets of an example."""
        start = self.ends[example - 1] if example else 0
        found: list[float] = self.targets[start : self.ends[example]].tolist()
        return found


def pack(task: TrainingTask, path: Path, labels: Sequence[str], model: Model, max_tokens: int, cache: Path) -> Packed:
    """Tokenise the examples of a task's files, in order, or open the pack if it is in a folder of packs already.

    Texts of more than `max_tokens` tokens, special tokens included, are cut. For a model that scores pairs, each
    candidate is joined with its query. `InputError` if the file gives no example,
    or examples with different numbers of texts.
    """
    source = " ".join(map(sha256_of, files_of(path)))
    facts = [
        _FORM,
        source,
        task.model_dump(mode="json", exclude={*FILES, "build"}),
        list(labels),
        model.card.settings_sha256,
        max_tokens,
        *([model.card.architecture] if model.card.architecture == PAIRS else []),
    ]
    key = sha256_of_text(json.dumps([*facts, sorted(model.card.prompts.items())]))[:24]
    folder = cache / key
    if not (folder / "manifest.json").is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with replacing(folder, locked=True) as part:
            part.mkdir()
            _write(part, task, path, labels, model, max_tokens, key, source)
    return _open(folder)


def _write(
    folder: Path,
    task: TrainingTask,
    path: Path,
    labels: Sequence[str],
    model: Model,
    max_tokens: int,
    key: str,
    source: str,
) -> None:
    pairs = model.card.architecture == PAIRS
    tokenize = _pairs(model, max_tokens) if pairs else _texts(task, model, max_tokens)
    separator = "" if pairs else model.card.separator
    starts, targets, ends, seconds = array("q", [0]), array("d"), array("q"), array("q")
    unusable: Counter[str] = Counter()
    columns = 0
    limited = islice(_usable(read_examples(task, path, separator, labels), unusable), task.limit)
    with (folder / "tokens.bin").open("wb") as tokens:
        for block in iter(lambda: list(islice(limited, _EXAMPLES_AT_ONCE)), []):
            for example in block:
                columns = columns or len(example.texts)
                if len(example.texts) != columns:
                    raise InputError(
                        f"{path} has examples of {columns} and of {len(example.texts)} texts; give every query of the "
                        f"task {task.name} as many candidates."
                    )
            for ids, second in tokenize(block):
                tokens.write(np.array(ids, dtype=np.int32).tobytes())
                starts.append(starts[-1] + len(ids))
                seconds.append(second)
            for example in block:
                targets.extend(example.targets)
                ends.append(len(targets))
    if not ends:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in unusable.most_common(3)) or "it has no records"
        raise InputError(f"The task {task.name} gets no example from {path}: {reasons}.")
    for name, values, kind in (
        ("starts", starts, np.int64),
        ("targets", targets, np.float64),
        ("ends", ends, np.int64),
        ("seconds", seconds, np.int64),
    ):
        if name != "seconds" or pairs:
            np.save(folder / f"{name}.npy", np.frombuffer(values, dtype=kind) if values else np.empty(0, dtype=kind))
    manifest = PackManifest(key, source, len(ends), dict(unusable), tuple(labels))
    facts = asdict(manifest) | {"columns": columns - pairs, "pairs": pairs}
    (folder / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")


def _texts(task: TrainingTask, model: Model, max_tokens: int) -> _Tokenize:
    """Return what tokenises the texts of examples, each with its format's prompt."""
    tokenizer, card = load_tokenizer(model.folder, model.card), model.card
    formats = (task.query_format or task.format, task.format)

    def tokenize(block: Sequence[Example]) -> Iterator[tuple[list[int], int]]:
        prompts = [
            card.prompt(well_formed(text), formats[min(column, 1)])
            for example in block
            for column, text in enumerate(example.texts)
        ]
        for encoding in tokenized(tokenizer, prompts):
            yield pieces(encoding.ids, max_tokens, 1, "start")[0], 0

    return tokenize


def _pairs(model: Model, max_tokens: int) -> _Tokenize:
    """Return what joins the candidates of examples with their query, as a reranker reads them."""
    tokenizer = load_pair_tokenizer(model.folder, replace(model.card, max_tokens=max_tokens))

    def tokenize(block: Sequence[Example]) -> Iterator[tuple[list[int], int]]:
        pairs = [(well_formed(example.texts[0]), well_formed(text)) for example in block for text in example.texts[1:]]
        for encoding in tokenized(tokenizer, pairs):
            kinds = encoding.type_ids
            yield encoding.ids, kinds.index(1) if 1 in kinds else len(kinds)

    return tokenize


def _usable(examples: Iterator[object], unusable: Counter[str]) -> Iterator[Example]:
    for example in examples:
        if isinstance(example, Example):
            yield example
        else:
            unusable[example.reason] += 1  # type: ignore[attr-defined]


def _open(folder: Path) -> Packed:
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    columns, pairs = content.pop("columns"), content.pop("pairs")
    manifest = PackManifest(**content | {"labels": tuple(content["labels"])})
    names = ("starts", "targets", "ends", *(["seconds"] if pairs else []))
    arrays = {name: np.load(folder / f"{name}.npy") for name in names}
    tokens = np.memmap(folder / "tokens.bin", dtype=np.int32, mode="r")
    return Packed(columns, manifest, tokens, **arrays)


def formats_of(task: TrainingTask, columns: int) -> list[Format]:
    """Return the format of each column's vectors."""
    if OBJECTIVES[task.objective].pairs:
        return [Format.QRY] * columns
    return [task.query_format or task.format, *[task.format] * (columns - 1)]
