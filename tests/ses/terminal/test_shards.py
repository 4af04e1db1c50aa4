"""`ses encode --shards`, `ses shards status` and `ses index --shards`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from search_plugin.engines.registry import connect
from tests.commands import ses
from tests.disks import mounted
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture
def given(tmp_path):
    """Arguments that name a corpus of three blocks, with a record that is none, and the model."""
    corpus = write_jsonl(tmp_path / "corpus.jsonl", [*papers(1100), replace(papers(1)[0], title="")])
    return ["--corpus", "jsonl", "--path", corpus, "--model", make_model(tmp_path / "model")]


@pytest.mark.slow
def test_shards_are_encoded_listed_and_indexed(tmp_path, given):
    folder = tmp_path / "shards"
    done = ses(tmp_path, "encode", *given, "--shards", folder, "--shard", "1/2")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "Shard 1/2: 588 papers in 2 blocks, 2 encoded now; rejected records: 1",
        f"The rejected records, with line and reason: {folder}/shard-1-of-2.rejected.jsonl",
    ]
    listed = ses(tmp_path, "shards", "status", folder)
    assert (listed.returncode, listed.stdout.splitlines()) == (
        1,
        [
            f"1,100 papers in 3 blocks and 2 shards: vectors prx by {tmp_path}/model",
            "Shards that are not finished: 2/2",
            "To encode again: --shard 2/2",
        ],
    )
    early = ses(tmp_path, "index", *given, "--shards", folder)
    assert early.returncode == 2
    assert "There is no block" in early.stderr

    task = {"SLURM_ARRAY_TASK_ID": "8", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "7"}
    done = ses(tmp_path, "encode", *given, "--shards", folder, "--json", **task)
    assert {**json.loads(done.stdout), "manifest": ""} == {
        "shard": "2/2",
        "papers": 512,
        "blocks": 1,
        "encoded": 1,
        "rejected": 1,
        "dead_letter": f"{folder}/shard-2-of-2.rejected.jsonl",
        "manifest": "",
    }
    listed = ses(tmp_path, "shards", "status", folder, "--json")
    assert listed.returncode == 0
    assert json.loads(listed.stdout)["again"] == []
    indexed = ses(tmp_path, "index", *given, "--shards", folder, "--json")
    assert indexed.returncode == 1
    assert [json.loads(indexed.stdout)[name] for name in ("papers", "rejected")] == [1100, 1]

    (folder / "0000001.safetensors").write_bytes(b"nothing")
    (folder / "0000002.safetensors").unlink()
    listed = ses(tmp_path, "shards", "status", folder)
    assert listed.stdout.splitlines()[1:] == [
        "Missing blocks: 2",
        "Damaged blocks: 1",
        "To encode again: --shard 1/2, 2/2",
    ]


@pytest.mark.slow
def test_shards_behind_a_url_are_encoded_listed_and_indexed(tmp_path, given):
    url = f"memory://{tmp_path}/shards"
    done = ses(tmp_path, "encode", *given, "--shards", url, "--shard", "1/1")
    assert done.stdout.splitlines() == [
        "Shard 1/1: 1,100 papers in 3 blocks, 3 encoded now; rejected records: 1",
        f"The rejected records, with line and reason: {url}/shard-1-of-1.rejected.jsonl",
    ]
    listed = ses(tmp_path, "shards", "status", url)
    assert (listed.returncode, listed.stdout.splitlines()) == (
        0,
        [f"1,100 papers in 3 blocks and 1 shard: vectors prx by {tmp_path}/model", "Nothing is missing."],
    )
    assert json.loads(ses(tmp_path, "index", *given, "--shards", url, "--json").stdout)["papers"] == 1100
    for words in (["encode", *given], ["index", *given]):
        wrong = ses(tmp_path, *words, "--shards", "s4://bucket/x")
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "no storage of the kind s4://; give a folder, or a URL such as s3://BUCKET/FOLDER." in wrong.stderr
    empty = ses(tmp_path, "shards", "status", tmp_path / "nowhere")
    assert empty.returncode == 2
    assert f"No shard is finished in {tmp_path}/nowhere; encode one into it" in empty.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "kilobytes", "said"),
    [
        (["encode", "--shard", "1/1"], 250, "Error: {}/shards/0000"),
        # Workers have the texts there too.
        (["index", "--workers", "1"], 420, "Error: The workers could not encode"),
    ],
)
def test_a_full_folder_of_shards_is_told_and_resumed_once_there_is_room(tmp_path, given, command, kilobytes, said):
    ses(tmp_path, "index", *given, "--index", "whole")
    with mounted(tmp_path / "disk", kilobytes) as remount:
        arguments = [*command, *given, "--shards", tmp_path / "disk" / "shards"]
        full = ses(tmp_path, *arguments)
        assert (full.returncode, full.stdout) == (3, "")
        (error,) = [line for line in full.stderr.splitlines() if "Error" in line]
        assert error.startswith(said.format(tmp_path / "disk"))
        assert "No space left on device" in error
        kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "disk" / "shards").glob("*.safetensors")}
        assert 0 < len(kept) < 3
        remount("size=8m")
        assert ses(tmp_path, *arguments).returncode == 1  # for the record that is no paper
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        ses(tmp_path, "index", *given, "--index", "sharded", "--shards", tmp_path / "disk" / "shards")
    whole, sharded = (exported(tmp_path, name) for name in ("whole", "sharded"))
    assert len(whole) == 1100
    assert sharded == whole


def exported(folder, name):
    """Vector of each paper of an index."""
    index = connect(f"embedded:{folder / 'data' / 'indexes'}").open(name)
    return {id_: row.tobytes() for id_, row in index.vectors(sorted(index.ids()), "prx").items()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shard", "1/2"], "A part of a corpus needs a folder; name it with --shards."),
        (["--shards", "x", "--shard", "3/2"], "There is no shard 3/2; give --shard I/N"),
        (["--shards", "x", "--output", "y.npy"], "go into their folder; leave --output out."),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, given, arguments, said):
    done = ses(tmp_path, "encode", *given, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "x").exists()


def test_shards_without_a_corpus_need_workers(tmp_path):
    done = ses(tmp_path, "index", "--index", "papers", "--fresh", "--shards", "x")
    assert done.returncode == 2
    assert "Shards are parts of a corpus, and here the papers of an index are encoded; give --workers" in done.stderr


def test_shards_need_a_corpus(tmp_path):
    done = ses(tmp_path, "encode", "--shards", "x")
    assert done.returncode == 2
    assert "Shards are parts of a corpus; name it with --corpus" in done.stderr
