"""Shards: a corpus encoded in parts by independent runs, as of a Slurm array, into one storage of block files.

Shard i of n encodes the blocks whose number is i - 1 modulo n, and then writes a manifest. Blocks are known by the
content of their papers, so a repeated shard makes only what is missing, damaged or changed, and shards of another n
use the same blocks. Each shard surveys the whole corpus, since a later record may replace an earlier one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpora.errors import InputError, NotFoundError, require
from corpora.paper import Record, Rejected
from corpora.progress import Progress, Silent
from corpora.writing import WRITABLE_DATA, explaining
from encoders.text_encoder import TextEncoder
from indexer.block_files import block_name, intact_block, read_block, write_block
from indexer.blocks import BLOCK, BlockStream, EncodedBlock, PaperEncoder, VectorPlan, cut_blocks
from indexer.pipeline import prefetch
from indexer.storage import Storage
from indexer.survey import Survey, open_survey, size_of
from indexer.tasks import encode_fit
from indexer.work import DeadLetter, Work

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a corpus.

    Attributes:
        number: Which part, from 1.
        count: Number of parts.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        require(
            1 <= self.number <= self.count,
            f"There is no shard {self.number}/{self.count}",
            "give <shard=I/N>, where I counts from 1 to N",
        )

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that a text such as `3/16` names, or raise `InputError`."""
        number, _, count = text.partition("/")
        if not (number.isascii() and number.isdigit() and count.isascii() and count.isdigit()):
            raise InputError(f"{text!r} is no shard", "give <shard=I/N>, such as 1/4 for the first of four")
        return cls(int(number), int(count))

    @classmethod
    def here(cls, variables: Mapping[str, str] = os.environ) -> Shard:
        """Return the shard of this task of a Slurm array, whose lowest number is shard 1; outside of one, the whole."""
        if "SLURM_ARRAY_TASK_ID" not in variables:
            return cls(1, 1)
        task, count, least, step = (
            int(variables.get(f"SLURM_ARRAY_TASK_{name}", 1)) for name in ("ID", "COUNT", "MIN", "STEP")
        )
        place, between = divmod(task - least, step)
        if between or place >= count:
            raise InputError(
                f"The numbers of this Slurm array have gaps, so task {task} is no shard by its place",
                "give <shard=I/N> with the numbers of the whole array",
            )
        return cls(place + 1, count)

    def has(self, block: int) -> bool:
        """Return whether a block is in this part."""
        return block % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What to encode into a storage of shards.

    Attributes:
        records: Reads the corpus from its beginning; called for the survey, and again if there is something to encode.
        storage: Where the shards are.
        shard: The part to encode.
        plan: The vectors to make.
        encoder: Loads the model; called only if there is something to encode.
        state_dir: Folder for the survey's notes.
        block: Papers of a block.
    """

    records: Callable[[], Iterator[Record]]
    storage: Storage
    shard: Shard
    plan: VectorPlan
    encoder: Callable[[], TextEncoder]
    state_dir: Path
    block: int = BLOCK


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a run did for a shard.

    Attributes:
        shard: The shard, such as `3/16`.
        papers: Papers of its blocks.
        blocks: Its blocks.
        encoded: Blocks that this run encoded; the others were there.
        rejected: Records of the whole corpus that can't become papers, and papers of the shard that can't be encoded.
        dead_letter: Path or URL of the file that lists the rejected, where there are any.
        manifest: Path or URL of the file that lists the blocks.
    """

    shard: str
    papers: int
    blocks: int
    encoded: int
    rejected: int
    dead_letter: str | None
    manifest: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ShardManifest:
    """What a finished shard holds.

    Attributes:
        shard: The shard.
        plan: The plan of its vectors.
        corpus: Digest of the content of all papers of the corpus.
        papers: Number of papers of the corpus.
        last: Number of the corpus's last block.
        empty: Numbers of its blocks without papers, since later records replace all of them.
        size: Positions in the corpus that a block has.
        blocks: Checksums of the shard's blocks, by number.
        rejected: Papers of the shard that can't be encoded.
    """

    shard: Shard
    plan: VectorPlan
    corpus: str
    papers: int
    last: int
    empty: tuple[int, ...]
    size: int
    blocks: Mapping[int, str]
    rejected: int = 0

    @property
    def version(self) -> tuple[object, ...]:
        """What all shards of a corpus share."""
        return self.plan, self.corpus, self.size

    def write(self, storage: Storage) -> None:
        """Write the manifest as JSON, whole or not at all."""
        text = json.dumps({"version": _VERSION, **asdict(self)}, indent=1)
        storage.write(_manifest_of(self.shard), text.encode("ascii"))

    @classmethod
    def read(cls, storage: Storage, name: str) -> ShardManifest:
        """Read a manifest; `InputError` if it is damaged or of another version of ses."""
        try:
            held = json.loads(storage.read(name))
            if held.pop("version") != _VERSION:
                raise ValueError("it is of another version of ses")  # noqa: TRY301 - the same advice
            held |= {"shard": Shard(**held["shard"]), "plan": VectorPlan.from_dict(held["plan"])}
            held |= {"empty": tuple(held["empty"]), "blocks": {int(one): sum_ for one, sum_ in held["blocks"].items()}}
            return cls(**held)
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"The manifest {storage}/{name} is damaged ({error})", "delete it, and encode its shard again"
            ) from error


@dataclass(frozen=True, slots=True)
class ShardsStatus:
    """The state of a storage of shards; the newest manifest says what the corpus is, and how many shards there are.

    Attributes:
        folder: Its path or URL.
        shards: Number of shards.
        blocks: Number of blocks of the corpus.
        papers: Number of papers of the corpus.
        model: The model's name.
        vectors: Formats of the vectors.
        unfinished: Shards to encode, such as `3/16`: those without a manifest of this version of the corpus.
        missing: Numbers of blocks that a manifest lists and that are not there.
        damaged: Numbers of blocks that can't be read, or are not what the manifest lists.
        rejected: Papers that can't be encoded.
    """

    folder: str
    shards: int
    blocks: int
    papers: int
    model: str
    vectors: tuple[str, ...]
    unfinished: tuple[str, ...]
    missing: tuple[int, ...]
    damaged: tuple[int, ...]
    rejected: int

    @property
    def again(self) -> list[str]:
        """The shards to encode again, such as `3/16`; none if all is there."""
        blocks = {number % self.shards + 1 for number in (*self.missing, *self.damaged)}
        return sorted({*self.unfinished, *(f"{number}/{self.shards}" for number in blocks)}, key=_place)


def _place(shard: str) -> int:
    return Shard.parse(shard).number


def _manifest_of(shard: Shard) -> str:
    """Return the name of a shard's manifest."""
    return f"shard-{shard.number}-of-{shard.count}.json"


def encode_shard(job: ShardJob, progress: Progress | None = None) -> ShardReport:
    """Encode the blocks of a shard that are not there, and write its manifest.

    If a run was stopped, run the same job again: what it has finished is kept. Raises `InputError` if the corpus can't
    be read or holds no papers; `UnavailableError` if the model or a disk fails.
    """
    progress = progress or Silent()
    manifest = _manifest_of(job.shard)
    rejected = manifest.replace(".json", ".rejected.jsonl")
    job.storage.clean(lambda name: name in (manifest, rejected) or _is_block_of(job.shard, name))
    with open_survey(job.state_dir, "") as survey, _dead_letter(job, rejected) as dead:
        progress.stage("reading", None)
        survey.read(job.records(), dead.add, progress)
        numbers, digest, lacking = _compared(job, survey)
        require(numbers, "The corpus holds no papers", "look whether <path> and <corpus> are right")
        if lacking:
            job.storage.delete(manifest)
            _encode(job, survey, lacking, progress)
        checksums, papers, unfit = dict[int, str](), 0, 0
        for number in filter(job.shard.has, numbers):
            block = read_block(job.storage, number)
            checksums[number] = block.checksum
            papers += len(block.hashes)
            unfit += len(block.unfit)
            for hash_, reason in block.unfit.items():
                id_, line = survey.of_hash(hash_)
                dead.add(Rejected(line, reason, id_))
        ShardManifest(
            shard=job.shard,
            plan=job.plan,
            corpus=digest,
            papers=survey.counts()["new"],
            last=numbers[-1],
            empty=tuple(sorted(set(range(numbers[-1])).difference(numbers))),
            size=job.block,
            blocks=checksums,
            rejected=unfit,
        ).write(job.storage)
    return ShardReport(
        shard=str(job.shard),
        papers=papers,
        blocks=len(checksums),
        encoded=len(lacking),
        rejected=dead.count,
        dead_letter=f"{job.storage}/{rejected}" if dead.count else None,
        manifest=f"{job.storage}/{manifest}",
    )


def _is_block_of(shard: Shard, name: str) -> bool:
    number = name.partition(".")[0]
    return number.isascii() and number.isdigit() and name == block_name(int(number)) and shard.has(int(number))


@contextmanager
def _dead_letter(job: ShardJob, name: str) -> Iterator[DeadLetter]:
    """Provide the list of rejected records, which is put beside the manifest at the end, if there are any.

    It is there and empty meanwhile, so that a place that can't be written is found before the corpus is read.
    """
    job.storage.write(name, b"")
    with explaining(f"The folder {job.state_dir}", WRITABLE_DATA):
        job.state_dir.mkdir(parents=True, exist_ok=True)
        scratch = TemporaryDirectory(dir=job.state_dir, prefix="rejected-")
    with scratch as folder, closing(DeadLetter(Path(folder) / name)) as dead:
        try:
            yield dead
        finally:
            dead.close()
            if dead.count:
                job.storage.write(name, dead.path.read_bytes())
            else:
                job.storage.delete(name)


def _compared(job: ShardJob, survey: Survey) -> tuple[list[int], str, set[int]]:
    """Return the numbers of all blocks, the digest of the corpus, and the numbers of the shard's blocks that lack."""
    digest, numbers, lacking = hashlib.blake2b(digest_size=16), [], set()
    for number, rows in groupby(survey.hashes(), key=lambda row: row[0] // job.block):
        hashes = [hash_ for _, hash_ in rows]
        digest.update("".join(hashes).encode())
        numbers.append(number)
        if job.shard.has(number):
            held = intact_block(job.storage, number)
            if held is None or held.plan != job.plan or {*held.hashes, *held.unfit} != {*hashes}:
                lacking.add(number)
    return numbers, digest.hexdigest(), lacking


def _encode(job: ShardJob, survey: Survey, lacking: set[int], progress: Progress) -> None:
    def wanted() -> Iterator[tuple[int, tuple[str, ...]]]:
        return ((ordinal, origins) for ordinal, origins in survey.work() if ordinal // job.block in lacking)

    work = Work(progress, cached=False, total=sum(1 for _ in wanted()))
    progress.stage("encoding", work.total)
    encoder = PaperEncoder(job.plan, job.encoder())
    with closing(prefetch(cut_blocks(job.records(), wanted(), job.block))) as blocks:
        for block in blocks:
            papers = {paper.content_hash(): paper for paper in block.papers}
            hashes, vectors, unfit = encode_fit(papers, encoder, {}, work.done)
            write_block(job.storage, block.number, job.plan, hashes, vectors, unfit)


def from_shards(storage: Storage, blocks: BlockStream, plan: VectorPlan, work: Work) -> Iterator[EncodedBlock]:
    """Yield blocks with the vectors of a storage of shards, as `indexer.blocks.BlockEncoding`; nothing is encoded.

    Raises `InputError` for a block that is not there, or is damaged, or does not hold the papers or vectors wanted.
    """
    with closing(blocks):
        for block in blocks:
            work.begin([size_of(paper) for paper in block.papers])
            work.done(0, block=len(block.papers))
            with work.timed():
                stored = read_block(storage, block.number)
                if not stored.plan.covers(plan):
                    raise InputError(
                        f"The shards in {storage} hold vectors of {', '.join(stored.plan.names)} by the model "
                        f"{stored.plan.model} ({stored.plan.fingerprint}), and the index needs those of "
                        f"{', '.join(plan.names)} by {plan.model} ({plan.fingerprint})",
                        "encode the shards for this index, or index with the model of the shards",
                    )
                if not stored.holds(block.papers):
                    raise InputError(
                        f"The shards in {storage} are of another version of the corpus: papers of block {block.number} "
                        "are not in them",
                        "encode the shards again, which makes only what has changed",
                    )
                made = stored.encoded(block.papers, plan)
            work.done(len(block.papers))
            yield made


def status_of(storage: Storage) -> ShardsStatus:
    """Return what a storage of shards lacks; all blocks are read. `InputError` if no shard was finished there."""
    names = storage.names("shard-*-of-*.json")
    require(names, f"No shard is finished in {storage}", "encode one into it, or look whether it is the right place")
    manifests = [ShardManifest.read(storage, name) for name in names]
    newest = manifests[-1]
    current = [one for one in manifests if one.version == newest.version]
    listed: dict[int, str] = {}
    for manifest in current:
        listed |= manifest.blocks
    unlisted = set(range(newest.last + 1)).difference(newest.empty, listed)
    shards = newest.shard.count
    missing, damaged = [], []
    for number, checksum in sorted(listed.items()):
        try:
            if read_block(storage, number).checksum != checksum:
                damaged.append(number)
        except NotFoundError:
            missing.append(number)
        except InputError:
            damaged.append(number)
    return ShardsStatus(
        folder=str(storage),
        shards=shards,
        blocks=newest.last + 1 - len(newest.empty),
        papers=newest.papers,
        model=newest.plan.model,
        vectors=newest.plan.names,
        unfinished=tuple(f"{number}/{shards}" for number in sorted({one % shards + 1 for one in unlisted})),
        missing=tuple(missing),
        damaged=tuple(damaged),
        rejected=sum(manifest.rejected for manifest in current),
    )
