import hashlib
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version

import pytest

from corpora.checksums import data_hash
from corpora.errors import InputError
from encoders.registry import find_model
from eval.reports.provenance import Provenance, gather_provenance
from tests.tiny import make_model


def test_tells_what_it_takes_to_do_it_again(tmp_path, monkeypatch):
    (tmp_path / "qrels").write_bytes(b"q 0 d 1\n")
    card = find_model(str(make_model(tmp_path / "model"))).card
    monkeypatch.setattr(
        sys, "argv", ["/bin/ses", "eval", "retrieval", "--engine", "https://ada:secret@host:9200", "a b"]
    )
    before = datetime.now(UTC).replace(microsecond=0)
    found = gather_provenance(data=[tmp_path / "qrels"], cards=[card], engine="Lance 1", settings={"seed": "7"})
    assert found.command == "ses eval retrieval --engine 'https://***@host:9200' 'a b'"
    assert before <= datetime.fromisoformat(found.date) <= datetime.now(UTC)
    assert found.data == {str(tmp_path / "qrels"): hashlib.sha256(b"q 0 d 1\n").hexdigest()}
    assert found.models == {card.name: card.fingerprint}
    assert found.packages["numpy"] == version("numpy")
    rows = dict(found.table().rows)
    assert rows[f"model {card.name}"] == f"fingerprint {card.fingerprint}"
    assert rows["engine"] == "Lance 1"
    assert rows["seed"] == "7"
    assert f"numpy {version('numpy')}" in rows["packages"]
    assert dict(gather_provenance().table().rows)["model"] == "none: the input doesn't tell"


def test_all_that_is_gathered_by_name(monkeypatch):
    names = """ses numpy scipy scikit-learn ir-measures pytrec-eval-terrier rank-bm25 matplotlib onnxruntime openvino
    torch tokenizers tantivy faiss-cpu opensearch-py elasticsearch8 elasticsearch9 mteb"""
    monkeypatch.setattr(
        "eval.reports.provenance.installed_version", lambda name: "" if name == "torch" else f"{name}-1"
    )
    found = gather_provenance(engine="E", runtime="R", settings={"a": "b"}, command=["ses", "a b", "c\nd"])
    assert found == Provenance(
        command="ses 'a b' 'c d'",
        date=found.date,
        data={},
        models={},
        engine="E",
        runtime="R",
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages={name: f"{name}-1" for name in names.split() if name != "torch"},
        settings={"a": "b"},
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", found.date)
    empty = gather_provenance()
    assert (empty.engine, empty.runtime, empty.settings, empty.models) == ("", "", {}, {})


def test_a_password_with_an_at_sign_does_not_show():
    for url in ("http://u:p@ss@host:1", "https://u:p@one:1,two:2", "http://u:a/b@host"):
        told = gather_provenance(command=["ses", "--engine", url]).command
        assert "***@" in told
        assert not any(part in told for part in ("p@", "ss@", "a/b"))


NAMED = {"corpus.jsonl": b"2", "qrels/test.tsv": b"1"}


def test_hash_of_a_folder_is_of_names_and_contents(tmp_path):
    folder = tmp_path / "a"
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text("1")
    (folder / "corpus.jsonl").write_text("2")
    first = data_hash(folder)
    lines = [f"{name}\0{hashlib.sha256(text).hexdigest()}\n" for name, text in NAMED.items()]
    assert first == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert first == data_hash(folder.rename(tmp_path / "b"))
    (tmp_path / "b" / "corpus.jsonl").rename(tmp_path / "b" / "other.jsonl")
    second = data_hash(tmp_path / "b")
    (tmp_path / "b" / "other.jsonl").write_text("3")
    assert len({first, second, data_hash(tmp_path / "b")}) == 3
    with pytest.raises(InputError, match="none can't be read: No such file"):
        data_hash(tmp_path / "none")
