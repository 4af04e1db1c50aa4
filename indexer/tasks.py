"""A block of papers as a task: texts in a file that machines share, encoded by any process into a block file there.

So little passes between processes: the place, the number of the block and the plan there, a count back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from corpora.errors import InputError, SesError
from corpora.lazy import np
from corpora.paper import Paper
from encoders.text_encoder import EncodingProgress, ignore
from indexer.block_files import intact_block, write_block
from indexer.blocks import PaperBlock, PaperEncoder, VectorPlan
from indexer.storage import storage_at
from indexer.work import Halt


@dataclass(frozen=True, slots=True)
class BlockTask:
    """A block to encode.

    Attributes:
        shards: Where block files are, as `indexer.storage.storage_at` takes it; the same on all machines.
        number: The block's number.
        plan: The vectors to make.
        careful: Whether each paper is encoded alone first, and noted before, since the block has ended processes.
    """

    shards: str
    number: int
    plan: VectorPlan
    careful: bool = False

    @property
    def texts(self) -> str:
        """Name of the file of the papers to encode, with those that are known to be unfit."""
        return f"{self.number:07d}.texts.json"

    @property
    def trying(self) -> str:
        """Name of the file that names the paper being tried."""
        return f"{self.number:07d}.trying"


@dataclass(frozen=True, slots=True)
class BlockResult:
    """What became of a task.

    Attributes:
        failure: Why it was not done, as a sentence; empty if it was.
        hint: Advice for the user, as of `SesError`.
        final: Whether another worker would fail too.
        place: The machine that it failed on.
    """

    failure: str = ""
    hint: str = ""
    final: bool = False
    place: str = ""


def write_texts(task: BlockTask, block: PaperBlock, unfit: Mapping[str, str]) -> None:
    """Write what a worker needs of a block; `UnavailableError` if it can't be written."""
    papers = [(paper.content_hash(), paper.title, paper.abstract) for paper in block.papers]
    storage_at(task.shards).write(task.texts, json.dumps({"papers": papers, "unfit": dict(unfit)}).encode("ascii"))


def run_task(task: BlockTask, load: Callable[[VectorPlan], PaperEncoder], place: str = "") -> BlockResult:
    """Encode a block by the encoder of its plan; all failures are results, except that the process ends."""
    try:
        _run(task, load)
    except SesError as error:
        return BlockResult(error.sentence, error.hint, isinstance(error, InputError), place)
    except Exception as error:  # noqa: BLE001 - whatever happened, another worker may do better
        return BlockResult(f"{type(error).__name__}: {error}", place=place)
    return BlockResult(place=place)


def _run(task: BlockTask, load: Callable[[VectorPlan], PaperEncoder]) -> None:
    storage = storage_at(task.shards)
    held = json.loads(storage.read(task.texts))
    papers = {hash_: Paper(hash_, title, abstract) for hash_, title, abstract in held["papers"]}
    stored = intact_block(storage, task.number)
    if stored and stored.plan == task.plan and {*stored.hashes, *stored.unfit} == papers.keys():
        return  # a worker wrote it, and ended before it could say so
    encoder = load(task.plan)
    unfit: Mapping[str, str] = held["unfit"]
    if task.careful:
        for hash_ in [hash_ for hash_ in papers if hash_ not in unfit]:
            storage.write(task.trying, hash_.encode("ascii"))
            unfit = {**unfit, **_alone({hash_: papers[hash_]}, encoder)}
        storage.delete(task.trying)
    hashes, vectors, unfit = encode_fit(papers, encoder, unfit)
    write_block(storage, task.number, task.plan, hashes, vectors, unfit)


def encode_fit(
    papers: Mapping[str, Paper], encoder: PaperEncoder, unfit: Mapping[str, str], done: EncodingProgress = ignore
) -> tuple[Sequence[str], Mapping[str, Sequence[np.ndarray]], Mapping[str, str]]:
    """Encode papers, by content hash, without those that can't be.

    `unfit` are the reasons by hash of papers that are known to be unfit. Returns the hashes of the encoded papers in
    order, their vectors by format, and the reasons of all unfit papers. Raises `SesError` if the model or a disk is at
    fault, and not a paper.
    """
    fit = {hash_: paper for hash_, paper in papers.items() if hash_ not in unfit}
    if not fit:
        return (), {}, unfit
    try:
        return list(fit), encoder.encode(list(fit.values()), done), unfit
    except (SesError, OSError, MemoryError, Halt):
        raise
    except Exception:
        found = _alone(fit, encoder)
        if not found:
            raise
        return encode_fit(papers, encoder, {**unfit, **found}, done)


def _alone(papers: Mapping[str, Paper], encoder: PaperEncoder) -> dict[str, str]:
    """Return the reasons, by content hash, of papers that can't be encoded even alone."""
    unfit = {}
    for hash_, paper in papers.items():
        try:
            encoder.encode([paper])
        except (SesError, OSError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - a paper must not end a long run
            unfit[hash_] = f"It can't be encoded ({type(error).__name__}: {error})."
    return unfit
