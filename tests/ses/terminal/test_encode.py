"""`ses encode` as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.files.embeddings import read_embeddings
from encoders.models.formats import Format
from tests.commands import call, fails, of
from tests.tiny import make_model, papers, write_jsonl

PAPERS = papers(40)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model", codes=True)
    write_jsonl(folder / "papers.jsonl", PAPERS)
    return folder


@pytest.fixture(scope="module")
def encoder(home):
    return load_encoder(str(home / "model"), cache_dir=home / "cache", precision="fp32")


def variables(folder):
    return of(folder, SES_MODEL=str(folder / "model"), SES_PRECISION="fp32", SES_EMBEDDING_CACHE="false")


def encode(folder, *arguments, text=""):
    return call(("encode", *arguments), variables(folder), text)


def wanted(encoder, task_format, chosen=PAPERS):
    return encoder.encode([encoder.card.text(paper.title, paper.abstract) for paper in chosen], task_format)


def test_papers_into_lines_on_standard_output(home, encoder):
    done = encode(home, home / "papers.jsonl")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["doc_id"] for line in lines] == [paper.id for paper in PAPERS]
    vectors = np.array([line["embedding"] for line in lines], np.float32)
    np.testing.assert_array_equal(vectors, wanted(encoder, Format.PRX))
    assert "40 texts encoded" in done.stderr


def test_a_file_for_each_format(home, encoder, tmp_path):
    output = tmp_path / "out" / "x.npy"
    done = encode(home, home / "papers.jsonl", "--format", "prx,clf", "--format", "rgn", "--output", output, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["encoded"], told["dimension"], told["dead_letter"]) == (40, 64, None)
    assert told["files"] == {name: str(tmp_path / "out" / f"x.{name}.npy") for name in ("prx", "clf", "rgn")}
    for name, path in told["files"].items():
        np.testing.assert_array_equal(np.load(path), wanted(encoder, Format(name)))
        assert read_embeddings(tmp_path / "out" / f"x.{name}.npy").ids == [paper.id for paper in PAPERS]


def test_papers_and_queries_mixed_on_standard_input(home, encoder):
    records = [{"id": "p", "title": "virus", "abstract": "lung"}, {"query_id": "q", "query": "virus", "format": "qry"}]
    done = encode(home, "-", "--layout", "specter", text="\n".join(map(json.dumps, records)))
    assert done.returncode == 0, done.stderr
    paper, query = map(json.loads, done.stdout.splitlines())
    assert (paper["paper_id"], query["paper_id"]) == ("p", "q")
    np.testing.assert_array_equal(np.float32(paper["embedding"]), encoder.encode(["virus [SEP] lung"])[0])
    np.testing.assert_array_equal(np.float32(query["embedding"]), encoder.encode(["virus"], Format.QRY)[0])


def test_a_text_a_line_and_a_limit(home, encoder, tmp_path):
    (tmp_path / "queries.txt").write_text("virus lung\nheart\nbrain\n")
    from_file = encode(home, tmp_path / "queries.txt", "--format", "qry", "--limit", "2")
    piped = encode(home, "--text", "--format", "qry", text="virus lung\nheart\n")
    assert from_file.returncode == 0, from_file.stderr
    assert from_file.stdout == piped.stdout
    vectors = np.float32([json.loads(line)["embedding"] for line in piped.stdout.splitlines()])
    np.testing.assert_array_equal(vectors, encoder.encode(["virus lung", "heart"], Format.QRY))


def test_a_corpus_as_index_reads_it(home, encoder, tmp_path):
    (tmp_path / "t.csv").write_text("Nr;Titel\n1;virus\n2;heart\n")
    given = ("--corpus", "csv", "--path", tmp_path / "t.csv", "--column", "id=Nr", "--column", "title=Titel")
    done = encode(home, *given, "--output", tmp_path / "x.jsonl")
    assert done.returncode == 0, done.stderr
    back = read_embeddings(tmp_path / "x.jsonl")
    assert back.ids == ["1", "2"]
    np.testing.assert_array_equal(back.vectors, encoder.encode(["virus", "heart"]))


def test_rejected_and_doubled_records_are_told(home, tmp_path):
    (tmp_path / "bad.jsonl").write_text(
        '{"id": "a", "title": "virus"}\nnot json\n{"id": "b"}\n{"id": "a", "title": "heart"}\n'
    )
    done = encode(home, tmp_path / "bad.jsonl", "--output", tmp_path / "x.jsonl", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["encoded"], told["rejected"], told["duplicates"]) == (1, 2, 1)
    assert told["dead_letter"] == str(tmp_path / "x.rejected.jsonl")
    rejected = [json.loads(line) for line in (tmp_path / "x.rejected.jsonl").read_text().splitlines()]
    assert [line["line"] for line in rejected] == [2, 3]
    piped = encode(home, text=(tmp_path / "bad.jsonl").read_text())
    assert piped.returncode == 1
    assert len(piped.stdout.splitlines()) == 1
    assert str(home / "data" / "rejected" / "encode.jsonl") in " ".join(piped.stderr.split())


def test_nothing_to_encode_leaves_the_older_file(home, tmp_path):
    (tmp_path / "x.jsonl").write_text("older")
    fails(
        encode(home, "--output", tmp_path / "x.jsonl", text="{}\n"),
        2,
        "no records that can be encoded",
        "x.rejected.jsonl",
    )
    assert (tmp_path / "x.jsonl").read_text() == "older"


@pytest.mark.slow
def test_a_killed_run_leaves_no_half_file(home, tmp_path):
    write_jsonl(tmp_path / "many.jsonl", papers(30_000))
    command = [sys.executable, "-m", "ses", "encode", tmp_path / "many.jsonl", "--output", tmp_path / "x.jsonl"]
    run = subprocess.Popen(command, env=os.environ | variables(home), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        # So much that it is in the midst of writing.
        while sum(part.stat().st_size for part in tmp_path.glob(".x.jsonl.*")) < 100_000:
            assert time.monotonic() < deadline
            assert run.poll() is None
            time.sleep(0.02)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (["none.jsonl"], 2, ["none.jsonl", "does not exist"]),
        (["--format", "abc", "{papers}"], 2, ["clf, rgn, prx, qry"]),
        (["--format", "prx,clf", "{papers}"], 2, ["one format", "--output"]),
        (["--json", "{papers}"], 2, ["--output"]),
        (["--layout", "npy", "{papers}"], 2, ["--output", "papers.npy"]),
        (["{papers}", "--output", "x.parquet"], 2, ["--layout"]),
        (["{papers}", "--output", "{papers}"], 2, ["would be replaced"]),
        (["{papers}", "--output", "/dev/null", "--layout", "npy"], 2, ["no file that can be replaced"]),
        (["{papers}", "--output", "/dev/null/x.npy"], 3, ["can't be written"]),
        (["{papers}", "--corpus", "csv"], 2, ["either the input or --corpus"]),
        (["{papers}", "--path", "x"], 2, ["--path"]),
        (["--corpus", "csv"], 2, ["with --path"]),
        (["{papers}", "--model", "none"], 2, ["There is no model 'none'"]),
        (["{model}/config.json"], 2, ["no records that can be encoded"]),
        (["{model}/model.safetensors"], 2, ["binary"]),
        ([], 2, ["is empty"]),
    ],
)
def test_wrong_usage_is_one_plain_sentence(home, arguments, code, parts):
    places = {"papers": home / "papers.jsonl", "model": home / "model"}
    before = (home / "papers.jsonl").read_bytes()
    fails(encode(home, *(argument.format(**places) for argument in arguments)), code, *parts)
    assert (home / "papers.jsonl").read_bytes() == before
