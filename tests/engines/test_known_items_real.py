"""Known items of every kind among real papers: each at rank 1, on every engine; and no judged query taken for one."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from corpora.paper import Accepted
from corpora.registry import get_corpus
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.filters.parse import parse_filter
from search_plugin.filters.resolve import resolve
from search_plugin.request import make_request
from search_plugin.search import search
from search_plugin.understanding.meaning import look_up
from search_plugin.understanding.preferences.recognise import recognise
from search_plugin.words.names import stored_readings
from tests.chance import effort
from tests.engines.conftest import NEWEST_STORED, emptied

WIDTH = 16
SCHEMA = IndexSchema("random", "f", (paper_vector("prx", WIDTH, "cosine"),))


class Encoder:
    """Gives every text a random vector of its own."""

    card = type("Card", (), {"name": "random", "fingerprint": "f", "papers_by": ""})

    @staticmethod
    def encode(texts, _format=None):
        seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") for text in texts]
        return np.stack([np.random.default_rng(seed).standard_normal(WIDTH) for seed in seeds]).astype(np.float32)


def fill(engine, papers):
    index = engine.build("real", SCHEMA, "source")
    vectors = Encoder.encode([paper.title for paper in papers])
    assert index.upsert([Document(p, "h", {"prx": v}) for p, v in zip(papers, vectors, strict=True)]) == []
    index.finish()
    engine.publish(index)
    return engine.open("real")


@pytest.fixture
def papers(data_dir):
    return real_papers(data_dir)


@pytest.fixture(scope="module", params=NEWEST_STORED)
def index(request, tmp_path_factory):
    """The papers of CORD-19's sample, which no test changes."""
    for engine in emptied(request.param, tmp_path_factory.mktemp("real")):
        # `data_dir` is a test's own.
        yield fill(engine, real_papers(Path(os.environ["SES_TEST_DATA"])))


def real_papers(data_dir):
    """The papers of CORD-19's sample."""
    read = get_corpus("cord19").read(data_dir / "corpora" / "cord19-sample", {})
    return list({record.paper.id: record.paper for record in read if isinstance(record, Accepted)}.values())


def named(paper, kind):
    return next(name.partition(":")[2] for name in paper.identifiers if name.startswith(f"{kind}:"))


def forms(author):
    """The forms in which people type a name that a corpus writes as "Family, Given"."""
    family, _, given = author.partition(", ")
    initials = "".join(word[0] for word in given.replace("-", " ").split())
    return [author, f"{family} {initials}", f"{given} {family}", f"papers by {author}", f"{initials[0]}. {family}"]


def known_items(papers):
    """40 queries of every kind, and the paper of each."""
    kinds = [
        ("DOI", lambda p: named(p, "doi")),
        ("DOI", lambda p: f"doi:{named(p, 'doi').upper()}"),
        ("DOI", lambda p: f"https://doi.org/{named(p, 'doi')}"),
        ("PMID", lambda p: named(p, "pmid")),
        ("PMID", lambda p: f"PMID: {named(p, 'pmid')}"),
        ("PMCID", lambda p: named(p, "pmc")),
        ("PMCID", lambda p: f"https://www.ncbi.nlm.nih.gov/pmc/articles/{named(p, 'pmc')}/"),
        ("id", lambda p: p.id),
        ("id", lambda p: f"cord_uid:{p.id}"),
        ("title", lambda p: p.title),
        ("title", lambda p: p.title.upper()),
        ("title", lambda p: "".join(c if c.isalnum() else " " for c in p.title.lower())),
        ("DOI and words", lambda p: f"{' '.join(p.title.split()[:4])} doi: {named(p, 'doi')}"),
    ]
    long = [paper for paper in papers if len(paper.title.split()) > 5]
    return [(kind, form(paper), paper.id) for n, (kind, form) in enumerate(kinds) for paper in long[n : n + 90 : 30]]


def test_known_items_are_at_rank_1(index, papers):
    failed = []
    items = known_items(papers)
    assert len(items) == 39
    for kind, query, id_ in items:
        page = search(index, make_request(query[:10_000]), Encoder())
        if not page.hits or page.hits[0].id != id_:
            failed.append((kind, query, [hit.id for hit in page][:3], page.notes))
    assert failed == []
    asked = ", ".join(named(paper, "doi") for paper in papers[:5])
    assert [hit.id for hit in search(index, make_request(asked), Encoder())] == [paper.id for paper in papers[:5]]


def test_authors_papers_come_first(index, papers):
    failed = []
    usual = re.compile(r"[A-Z][a-z]+, [A-Z][a-z]+(-[A-Z][a-z]+| [A-Z]\.?)?")
    chosen = [paper for paper in papers if paper.authors and usual.fullmatch(paper.authors[0])][::30][:10]
    assert len(chosen) == 10
    for paper in chosen:
        author = paper.authors[0]
        for typed in forms(author):
            page = search(index, make_request(typed, size=20), Encoder())
            if paper.id not in {hit.id for hit in page if hit.known_by == "author"}:
                failed.append((typed, page.notes))
            where = resolve(parse_filter(f'author="{typed.removeprefix("papers by ")}"'), index).filter
            if paper.id not in set(index.ids(where)):
                failed.append(("filter", typed))
        topic = " ".join(paper.title.split()[:3])
        page = search(index, make_request(f"{topic.lower()} by {author}"), Encoder())
        if not any(stored_readings(author) & stored_readings(other) for other in page.hits[0].paper.authors):
            failed.append(("topic", author, page.notes))
    assert failed == []


def test_judged_queries_are_left_alone(tmp_path, papers, data_dir):
    from search_plugin.engines.registry import connect

    index = fill(connect(f"embedded:{tmp_path}"), papers)
    taken = []
    for name in ("scifact", "cranfield", "nfcorpus-preprocessed"):
        lines = (data_dir / "eval" / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines[:: effort(4, 4, 1)]:
            text = json.loads(line)["text"]
            known = recognise(index, look_up(index, text), None)
            named = [one for one in known.preferences if one.kind != "compared"]
            if known.papers or named or known.topic != text:
                taken.append((name, text))
    # None of 4,544 in their own indexes, which have no authors; one in an index of other papers, by an author Atkins.
    assert taken in ([], [("nfcorpus-preprocessed", "Atkins diet")])
