"""Shards give the index of a whole run, to the last bit; a repeated shard makes only what is missing or damaged."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from corpora.paper import Accepted, Deleted
from encoders.models.formats import Format
from indexer.block_files import block_name, read_block
from indexer.blocks import VectorPlan
from indexer.shards import Shard, ShardJob, ShardManifest, encode_shard, from_shards, status_of
from indexer.storage import storage_at
from tests.indexer.jobs import contents, make_job, run_job
from tests.tiny import papers, write_jsonl

IDS = [paper.id for paper in papers(400)]


@pytest.fixture
def corpus(tmp_path):
    """Papers of seven blocks; a later record replaces one of the first block, and one of the last."""
    written = papers(200)
    doubled = [replace(written[0], title="first"), *written, replace(written[3], title="last")]
    return write_jsonl(tmp_path / "corpus.jsonl", doubled)


def shard_job(folder, corpus, shard="1/1", **options):
    job = make_job(folder, corpus)
    given = {
        "records": job.records,
        "storage": storage_at(folder / "shards"),
        "shard": Shard.parse(shard),
        "plan": VectorPlan(job.card.name, job.card.fingerprint, ("prx",)),
        "encoder": job.encoder,
        "state_dir": folder / "state",
        "block": 32,
    }
    return ShardJob(**{**given, **options})


def index_shards(folder, corpus, name, place=None, **options):
    encoding = partial(from_shards, storage_at(place or folder / "shards"))
    return run_job(folder, make_job(folder, corpus, name, encoding=encoding, **options))


def unusable():
    pytest.fail("the model is loaded for nothing")


@pytest.mark.slow
def test_an_index_of_shards_is_that_of_a_whole_run(tmp_path, corpus):
    for shard in ("1/3", "3/3", "2/3"):
        encode_shard(shard_job(tmp_path, corpus, shard))
    whole = run_job(tmp_path, make_job(tmp_path, corpus, "whole"))
    made = index_shards(tmp_path, corpus, "sharded", encoder=unusable)
    assert (made.new, made.duplicates, made.papers) == (whole.new, whole.duplicates, whole.papers) == (200, 2, 200)
    assert contents(tmp_path, "sharded", IDS) == contents(tmp_path, "whole", IDS)
    again = index_shards(tmp_path, corpus, "sharded")
    assert (again.new, again.unchanged) == (0, 200)


@pytest.mark.slow
def test_shards_behind_a_url_are_those_of_a_folder(tmp_path, corpus):
    place = f"memory://{tmp_path}"
    storage = storage_at(place)
    done = [encode_shard(shard_job(tmp_path, corpus, shard, storage=storage)) for shard in ("1/2", "2/2")]
    assert [one.encoded for one in done] == [4, 3]
    assert done[0].manifest == f"{place}/shard-1-of-2.json"
    found = status_of(storage)
    assert (found.folder, found.papers, found.again) == (place, 200, [])
    run_job(tmp_path, make_job(tmp_path, corpus, "whole"))
    with pytest.raises(InputError, match=f"There is no block {tmp_path}/shards/0000000.safetensors; encode the shard"):
        index_shards(tmp_path, corpus, "sharded")
    assert index_shards(tmp_path, corpus, "sharded", place, encoder=unusable).papers == 200
    assert contents(tmp_path, "sharded", IDS) == contents(tmp_path, "whole", IDS)
    storage.delete(block_name(3))
    storage.write(block_name(4), storage.read(block_name(4))[:-1])
    found = status_of(storage)
    assert (found.missing, found.damaged, found.again) == ((3,), (4,), ["1/2", "2/2"])
    assert encode_shard(shard_job(tmp_path, corpus, "1/2", storage=storage)).encoded == 1
    assert storage.names("*.rejected.jsonl") == []


def test_a_place_that_cannot_be_written_is_found_before_the_corpus_is_read(tmp_path, corpus):
    (tmp_path / "shards").write_bytes(b"")
    with pytest.raises(UnavailableError, match=r"shards/shard-1-of-1\.rejected\.jsonl can't be written"):
        encode_shard(shard_job(tmp_path, corpus, records=unusable))


def test_a_place_that_cannot_be_read_does_not_have_its_blocks_encoded_again(tmp_path, corpus, monkeypatch):
    encode_shard(shard_job(tmp_path, corpus))

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(UnavailableError, match=r"0000000\.safetensors can't be read \(Permission denied\)"):
        encode_shard(shard_job(tmp_path, corpus, encoder=unusable))


def test_a_repeated_shard_deletes_what_a_killed_one_left(tmp_path, corpus):
    folder = tmp_path / "shards"
    folder.mkdir()
    names = ("0000002.safetensors", "0000003.safetensors", "shard-1-of-2.json", "shard-2-of-2.json", "notes")
    parts = [folder / f".{name}.00ff00ff.part" for name in names]
    for part in parts:
        part.write_bytes(b"half")
    encode_shard(shard_job(tmp_path, corpus, "1/2"))
    assert [part.exists() for part in parts] == [False, True, False, True, True]
    encode_shard(shard_job(tmp_path, corpus, "2/2"))
    assert [part.exists() for part in parts] == [False, False, False, False, True]


def test_what_a_later_record_deletes_is_in_no_shard(tmp_path):
    written = papers(70)
    records = [*(Accepted(i, one) for i, one in enumerate(written, 1)), Deleted(71, written[40].id)]
    encode_shard(shard_job(tmp_path, tmp_path, records=lambda: iter(records)))
    made = index_shards(tmp_path, tmp_path, "sharded", records=lambda: iter(records))
    assert (made.new, made.deletions) == (69, 1)
    run_job(tmp_path, make_job(tmp_path, tmp_path, "whole", records=lambda: iter(records)))
    assert contents(tmp_path, "sharded", IDS) == contents(tmp_path, "whole", IDS)


def test_a_block_whose_papers_are_all_replaced_is_not_missing(tmp_path):
    written = [*papers(40), *(replace(one, title="again") for one in papers(40))]
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)
    report = encode_shard(shard_job(tmp_path, corpus))
    assert (report.papers, report.blocks) == (40, 2)
    manifest = ShardManifest.read(storage_at(tmp_path / "shards"), "shard-1-of-1.json")
    assert (manifest.last, manifest.empty, sorted(manifest.blocks)) == (2, (0,), [1, 2])
    found = status_of(storage_at(tmp_path / "shards"))
    assert (found.blocks, found.papers, found.again) == (2, 40, [])


def test_a_repeated_shard_makes_only_what_is_missing_or_damaged(tmp_path, corpus):
    folder = tmp_path / "shards"
    first = encode_shard(shard_job(tmp_path, corpus))
    assert (first.papers, first.blocks, first.encoded, first.rejected, first.dead_letter) == (200, 7, 7, 0, None)
    assert status_of(storage_at(folder)).again == []
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}

    assert encode_shard(shard_job(tmp_path, corpus, encoder=unusable)).encoded == 0
    (folder / block_name(2)).unlink()
    damaged = bytearray((folder / block_name(5)).read_bytes())
    damaged[-3] ^= 1
    (folder / block_name(5)).write_bytes(damaged)
    found = status_of(storage_at(folder))
    assert (found.missing, found.damaged, found.again) == ((2,), (5,), ["1/1"])
    with pytest.raises(InputError, match=r"0000005\.safetensors is damaged \(its checksum differs\); encode the shard"):
        read_block(storage_at(folder), 5)

    assert encode_shard(shard_job(tmp_path, corpus)).encoded == 2
    found = status_of(storage_at(folder))
    assert found.again == []
    after = {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}
    assert {path.name for path in before if before[path] != after[path]} == {
        "0000002.safetensors",
        "0000005.safetensors",
    }


@pytest.mark.slow
def test_a_stopped_repetition_leaves_no_manifest_that_says_all_is_there(tmp_path, corpus):
    encode_shard(shard_job(tmp_path, corpus, "1/2"))
    encode_shard(shard_job(tmp_path, corpus, "2/2"))
    (tmp_path / "shards" / block_name(0)).unlink()

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_shard(shard_job(tmp_path, corpus, "1/2", encoder=stop))
    assert status_of(storage_at(tmp_path / "shards")).unfinished == ("1/2",)


def test_a_block_that_is_not_what_the_manifest_lists_is_damaged(tmp_path, corpus):
    encode_shard(shard_job(tmp_path, corpus))
    (tmp_path / "shards" / block_name(1)).replace(tmp_path / "shards" / block_name(0))
    found = status_of(storage_at(tmp_path / "shards"))
    assert (found.missing, found.damaged) == ((1,), (0,))


@pytest.mark.slow
def test_other_numbers_of_shards_use_the_same_blocks(tmp_path, corpus):
    assert encode_shard(shard_job(tmp_path, corpus, "1/2")).encoded == 4
    found = status_of(storage_at(tmp_path / "shards"))
    assert (found.unfinished, found.again, found.shards) == (("2/2",), ["2/2"], 2)
    assert [encode_shard(shard_job(tmp_path, corpus, f"{i}/3")).encoded for i in (1, 2, 3)] == [1, 1, 1]
    found = status_of(storage_at(tmp_path / "shards"))
    assert (found.again, found.shards) == ([], 3)


@pytest.mark.slow
def test_a_corpus_that_has_changed_makes_the_changed_blocks_again(tmp_path, corpus):
    for shard in ("1/2", "2/2"):
        encode_shard(shard_job(tmp_path, corpus, shard))
    write_jsonl(corpus, [*papers(200), *papers(230)[200:]])
    with pytest.raises(InputError, match="another version of the corpus: papers of block 0 are not in them"):
        index_shards(tmp_path, corpus, "sharded")
    assert encode_shard(shard_job(tmp_path, corpus, "1/2")).encoded == 4
    assert status_of(storage_at(tmp_path / "shards")).unfinished == ("2/2",)
    assert encode_shard(shard_job(tmp_path, corpus, "2/2")).encoded == 4
    assert status_of(storage_at(tmp_path / "shards")).again == []
    assert index_shards(tmp_path, corpus, "sharded").papers == 230
    run_job(tmp_path, make_job(tmp_path, corpus, "whole"))
    assert contents(tmp_path, "sharded", IDS) == contents(tmp_path, "whole", IDS)


def test_a_manifest_of_an_older_version_does_not_count(tmp_path):
    written = papers(100)
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)
    for shard in ("1/2", "2/2"):
        encode_shard(shard_job(tmp_path, corpus, shard))
    write_jsonl(corpus, [*written[:40], replace(written[40], title="changed"), *written[41:]])
    assert encode_shard(shard_job(tmp_path, corpus, "1/2")).encoded == 0
    assert status_of(storage_at(tmp_path / "shards")).unfinished == ("2/2",)
    assert encode_shard(shard_job(tmp_path, corpus, "2/2")).encoded == 1
    assert status_of(storage_at(tmp_path / "shards")).again == []


@pytest.mark.slow
def test_shards_of_another_model_or_without_a_format_are_refused(tmp_path, corpus):
    plan = VectorPlan("other", "print", ("prx",))
    encode_shard(shard_job(tmp_path, corpus, plan=plan))
    with pytest.raises(
        InputError, match=r"vectors of prx by the model other \(print\), and the index needs those of prx"
    ):
        index_shards(tmp_path, corpus, "sharded")
    encode_shard(shard_job(tmp_path, corpus))
    with pytest.raises(InputError, match=r"index needs those of prx, sentences by"):
        index_shards(tmp_path, corpus, "sharded", passages="sentences")
    with pytest.raises(InputError, match=r"index needs those of prx, clf by"):
        index_shards(tmp_path, corpus, "sharded", formats=(Format.PRX, Format.CLF))
    plan = shard_job(tmp_path, corpus).plan
    running = replace(plan, model="another name of it", running=(("precision", "int8"),))
    assert encode_shard(shard_job(tmp_path, corpus, plan=running)).encoded == 7
    assert index_shards(tmp_path, corpus, "sharded").papers == 200


def test_a_paper_that_cannot_be_encoded_is_a_dead_letter_and_not_a_dead_shard(tmp_path):
    written = papers(64)
    written[40] = replace(written[40], title="poison")
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)

    class Picky:
        def __init__(self, encoder):
            self._encoder, self.card = encoder, encoder.card

        def encode_formats(self, texts, formats, *more):
            if any(text.startswith("poison") for text in texts):
                raise RuntimeError("poisoned")
            return self._encoder.encode_formats(texts, formats, *more)

    job = shard_job(tmp_path, corpus)
    report = encode_shard(replace(job, encoder=lambda: Picky(job.encoder())))
    assert (report.papers, report.rejected) == (63, 1)
    reason = "It can't be encoded (RuntimeError: poisoned)."
    assert json.loads(Path(report.dead_letter).read_text()) == {"line": 41, "reason": reason, "id": "p00040"}
    assert status_of(storage_at(tmp_path / "shards")).rejected == 1
    made = index_shards(tmp_path, corpus, "sharded")
    assert (made.new, made.rejected, made.papers) == (63, 1, 63)
    assert json.loads(made.dead_letter.read_text()) == {"line": 41, "reason": reason, "id": "p00040"}


def test_a_model_at_fault_is_no_fault_of_the_papers(tmp_path, corpus):
    class Damaged:
        card = make_job(tmp_path, corpus).card

        def encode_formats(self, *given):
            raise InputError("The weights are damaged.")

    with pytest.raises(InputError, match="weights are damaged"):
        encode_shard(shard_job(tmp_path, corpus, encoder=Damaged))


@pytest.mark.slow
def test_all_kinds_of_vectors_are_kept_to_the_last_bit(tmp_path, corpus):
    job = make_job(tmp_path, corpus, "sentences", formats=(Format.PRX,))
    plan = VectorPlan(job.card.name, job.card.fingerprint, ("prx",), sentences=True)
    encode_shard(shard_job(tmp_path, corpus, plan=plan))
    run_job(tmp_path, job)
    expected = contents(tmp_path, "sentences", IDS)
    index_shards(tmp_path, corpus, "sentences-sharded")
    assert contents(tmp_path, "sentences-sharded", IDS) == expected


def test_a_manifest_that_is_damaged_says_so(tmp_path, corpus):
    report = encode_shard(shard_job(tmp_path, corpus))
    Path(report.manifest).write_text(Path(report.manifest).read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(
        InputError, match=r"shard-1-of-1\.json is damaged \(it is of another version of ses\); delete it"
    ):
        status_of(storage_at(tmp_path / "shards"))
    with pytest.raises(InputError, match="No shard is finished in"):
        status_of(storage_at(tmp_path))


def test_a_corpus_without_papers_is_refused(tmp_path):
    with pytest.raises(InputError, match="The corpus holds no papers"):
        encode_shard(shard_job(tmp_path, tmp_path, records=lambda: iter(())))


@given(st.integers(1, 50), st.integers(0, 500), st.integers(1, 5), st.data())
def test_tasks_of_a_slurm_array_count_from_its_lowest_number(count, least, step, data):
    place = data.draw(st.integers(0, count - 1))
    variables = {"ID": least + place * step, "COUNT": count, "MIN": least, "STEP": step}
    shard = Shard.here({f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in variables.items()})
    assert str(shard) == f"{place + 1}/{count}"
    assert [shard.has(block) for block in range(2 * count)] == 2 * [one == place for one in range(count)]


def test_where_there_is_no_array_the_shard_is_the_whole_and_arrays_with_gaps_need_a_number():
    assert str(Shard.here({})) == "1/1"
    with pytest.raises(InputError, match=r"gaps, so task 7 is no shard by its place; give shard=I/N with the numbers"):
        Shard.here({"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "3"})


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "1/", "-1/2", "1/2/3", "²/2"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(InputError, match="give shard=I/N"):
        Shard.parse(text)
