"""What the layers below the first trained one make of each text: computed once and kept on disk, in float16.

A folder of kept states holds `states.bin`, the states of all tokens of all texts, and `manifest.json`, which says what
they are. Its name is a hash of the weights that made them and of the tokens, so runs with the same base and the same
texts share it, whatever else they train. Equal texts, of one task or of several, are kept once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from training.batches import padded
from training.data.packed import KeptStates, Packed
from training.learner import Learner

if TYPE_CHECKING:
    import numpy as np

    from encoders.card import ModelCard

_FORM = 1
"""Raised when states of before can't be used any more."""

_TOKENS_AT_ONCE = {"cpu": 2_048, "cuda": 131_072}
_BYTES = 2
_FILE, _PART = "states.bin", "states.part"
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class _Text:
    """Where a text's tokens are: the first pack that has it, and its row there."""

    packed: Packed
    row: int

    @property
    def ids(self) -> np.ndarray:
        return self.packed.tokens[self.packed.starts[self.row] : self.packed.starts[self.row + 1]]


def frozen_layers(card: ModelCard, trained: Mapping[str, int]) -> int:
    """Return how many of the first layers training leaves as they are, for all formats alike.

    Args:
        card: Of the model.
        trained: The names of the trained weights.

    Returns:
        Layers, fewer than the model has; 0 if a trained weight stands before the first.
    """
    found = [_LAYER.match(name) for name in trained]
    lowest = min((int(one.group(1)) if one else 0 for one in found), default=0)
    return min(lowest, card.network.shared_layers, card.network.layers - 1)


def keep_states(
    learner: Learner, packs: Sequence[Packed | None], folder: Path, say: Callable[[Mapping[str, Any]], None]
) -> list[Packed | None]:
    """Compute the states of all texts, or open them if that was done before; an interrupted computation resumes.

    Args:
        learner: Its network makes them, without dropout.
        packs: The examples of all tasks.
        folder: Of kept states.
        say: Told how many texts there are and what their states take.

    Returns:
        The packs with their states.

    Raises:
        InputError: If training changes what all layers compute.
        UnavailableError: If the folder can't be written or has no room.
    """
    import numpy as np

    layers = frozen_layers(learner.card, learner.rows)
    if not layers:
        raise InputError(
            "keep_states needs frozen layers below the first trained one, and the recipe trains from the first layer "
            "on: train the last layers only (layers in [options]), or remove keep_states."
        )
    texts, numbers = _texts([one for one in packs if one])
    lengths = np.array([len(text.ids) for text in texts.values()], dtype=np.int64)
    starts, width = np.concatenate([[0], lengths.cumsum()]), learner.card.network.width
    place = folder / _key(learner, layers, texts)
    with _told(folder):
        from filelock import FileLock

        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / ".lock"):
            size = int(starts[-1]) * width * _BYTES
            facts = {"texts": len(texts), "tokens": int(starts[-1]), "layers": layers, "width": width, "bytes": size}
            say({"states": facts})
            if not (place / _FILE).is_file():
                (place / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")
                _write(learner, layers, list(texts.values()), starts, place)
    states = np.memmap(place / _FILE, dtype=np.float16, mode="r").reshape(-1, width)
    rows = iter(numbers)
    return [one and replace(one, kept=KeptStates(layers, states, starts[next(rows)])) for one in packs]


def _texts(packs: Sequence[Packed]) -> tuple[dict[bytes, _Text], list[np.ndarray]]:
    """Return the different texts by hash, the longest first, and the number of each row of each pack among them."""
    import numpy as np

    found: dict[bytes, _Text] = {}
    rows: list[list[bytes]] = []
    for packed in packs:
        mine = [_Text(packed, row) for row in range(len(packed.starts) - 1)]
        rows.append([hashlib.blake2b(text.ids.tobytes(), digest_size=16).digest() for text in mine])
        for digest, text in zip(rows[-1], mine, strict=True):
            found.setdefault(digest, text)
    order = sorted(found, key=lambda digest: (-len(found[digest].ids), digest))
    number = {digest: place for place, digest in enumerate(order)}
    numbers = [np.array([number[digest] for digest in of_pack], dtype=np.int64) for of_pack in rows]
    return {digest: found[digest] for digest in order}, numbers


def _key(learner: Learner, layers: int, texts: Mapping[bytes, _Text]) -> str:
    network = learner.card.network
    facts = [_FORM, learner.recipe.precision, layers, network.attention_heads, network.epsilon, network.first_position]
    found = hashlib.sha256(json.dumps(facts).encode())
    for name, tensor in learner.module.named_parameters():
        number = _LAYER.match(name)
        if name.startswith("embeddings.") or (number and int(number.group(1)) < layers):
            found.update(name.encode())
            found.update(tensor.detach().cpu().numpy().tobytes())
    for digest in texts:
        found.update(digest)
    return found.hexdigest()[:24]


def _write(learner: Learner, layers: int, texts: Sequence[_Text], starts: np.ndarray, place: Path) -> None:
    """Append the states of batch after batch to the file; those of whole batches in it already are kept."""
    import torch

    row = learner.card.network.width * _BYTES
    part = place / _PART
    done = part.stat().st_size if part.is_file() else 0
    left = int(starts[-1]) * row - done
    if shutil.disk_usage(place).free < left:
        raise UnavailableError(
            f"The states take {left / 1e9:.1f} GB in {place.parent}, and it has less room: free some space, name "
            "another folder as keep_states, or lower max_tokens."
        )
    learner.module.eval()
    try:
        with part.open("r+b" if done else "wb") as file, torch.inference_mode():
            for first, end in _batches(starts, _TOKENS_AT_ONCE[learner.device]):
                if int(starts[end]) * row <= done:
                    continue
                file.seek(int(starts[first]) * row)
                file.write(_computed(learner, layers, [text.ids for text in texts[first:end]]).tobytes())
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
    finally:
        learner.module.train()
    part.rename(place / _FILE)


def _batches(starts: np.ndarray, at_once: int) -> Iterator[tuple[int, int]]:
    """Yield the first text of each batch and the first after it; they depend on the lengths alone."""
    first = 0
    while first < len(starts) - 1:
        end = min(first + max(1, at_once // max(1, int(starts[first + 1] - starts[first]))), len(starts) - 1)
        yield first, end
        first = end


def _computed(learner: Learner, layers: int, texts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the states of the texts' tokens one after another, float16 (tokens, width)."""
    import torch

    values, found = padded(texts)
    ids, mask = (torch.from_numpy(one).to(learner.device) for one in (values.astype("int64"), found))
    with torch.autocast(learner.device, torch.bfloat16, enabled=learner.recipe.precision == "bf16"):
        hidden = learner.module.trunk(ids, mask, layers).hidden
    kept: np.ndarray = hidden[mask.bool()].to(torch.float16).cpu().numpy()
    return kept


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnavailableError(
            f"The states can't be written to {folder} ({error}): free some space, or name another folder as "
            "keep_states."
        ) from error
