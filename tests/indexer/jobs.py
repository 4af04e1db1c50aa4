"""Jobs over tiny corpora, written in many small commits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from encoders.registry import find_model
from indexer.job import IndexJob
from indexer.options import SETTINGS
from indexer.pipeline import index_corpus
from search_plugin.engines.registry import connect
from tests.tiny import make_model


def make_job(folder: Path, corpus: Path, index: str = "papers", *, fresh: bool = False, **options) -> IndexJob:
    """A job in a folder that holds everything: model, cache, indexes. int8, whose vectors depend on their batch.

    Options are settings of an index, or other attributes of the job.

    An index whose name begins with "sentences" has vectors of them, in a child's process too.
    """
    settings = {"passages": "sentences"} if index.startswith("sentences") else {}
    model = folder / "model"
    if not model.exists():
        make_model(model)
    job = IndexJob(
        records=lambda: get_corpus("jsonl").read(corpus, {}),
        source=str(corpus),
        index=index,
        card=find_model(str(model)).card,
        encoder=lambda: load_encoder(str(model), cache_dir=folder / "cache", precision="int8", threads=1),
        state_dir=folder / "state",
        origin="tiny",
        settings=settings | {name: options.pop(name) for name in SETTINGS if name in options},
        fresh=fresh,
        block=32,
        bulk_bytes=20_000,
    )
    return replace(job, **options)


def engine_in(folder: Path, url: str = ""):
    """The engine at a URL, or the embedded one in the folder."""
    return connect(url or f"embedded:{folder / 'indexes'}")


def run_job(folder: Path, job: IndexJob, url: str = ""):
    return index_corpus(job, engine_in(folder, url))


def run_in_child(folder: Path, corpus: Path, index: str, flag: str = "", url: str = "", *, meanwhile):
    """Index in a process of its own, which `meanwhile` may kill once it begins; return its report, if any."""
    command = [sys.executable, "-m", "tests.indexer.child", str(folder), str(corpus), index, flag, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        meanwhile(child)
        said = child.stdout.read()
    assert child.returncode in (0, -signal.SIGKILL)
    return json.loads(said) if child.returncode == 0 else None


def contents(folder: Path, index: str, ids: list[str], url: str = "") -> dict[str, tuple]:
    """Everything an index holds, by id: paper, hash and the bytes of its vectors."""
    opened = engine_in(folder, url).open(index)
    papers, hashes = opened.papers(ids), opened.hashes(ids)
    vectors = [opened.vectors(ids, leg) for leg in opened.schema.legs]
    assert opened.count() == len(papers)
    return {id_: (paper, hashes[id_], *(held[id_].tobytes() for held in vectors)) for id_, paper in papers.items()}
