"""Embedding files: what is written is what is read, to the last bit, and what others wrote is read too."""

from __future__ import annotations

import gzip
import json
import math
import resource
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from corpora.errors import InputError, UnavailableError
from corpora.paper import Accepted, Deleted, Paper, Rejected
from encoders.encoder import load_encoder
from encoders.files import encoding
from encoders.files.embeddings import LAYOUTS, Embeddings, ids_beside, layout_of, open_writer, read_embeddings
from encoders.files.encoding import EncodeReport, encode_texts
from encoders.files.texts import TextRecord, papers_as_texts, read_json_texts, read_plain_texts
from encoders.models.formats import Format
from tests.tiny import make_model, papers


def write_embeddings(embeddings, path, layout=None):
    with open_writer(path, layout or layout_of(path)) as writer:
        writer.write(embeddings.ids, embeddings.vectors)


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VECTORS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 4)),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
)
ONCE_ROUNDED = np.uint32(363742205)  # its shortest decimals, 7.038531e-26, are another float32 by way of float64


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    model = make_model(tmp_path_factory.mktemp("coded"), codes=True)
    return load_encoder(str(model), cache_dir=tmp_path_factory.mktemp("cache"), precision="fp32")


def bits(vectors):
    return np.ascontiguousarray(vectors).view(np.uint32).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_and_values_come_back_to_the_bit(tmp_path, layout, data):
    vectors = data.draw(VECTORS)
    names = IDS.filter(lambda name: layout != "npy" or not set(name) & set("\r\n\ufeff"))
    ids = data.draw(st.lists(names, min_size=len(vectors), max_size=len(vectors), unique=True))
    path = tmp_path / ("x.npy" if layout == "npy" else "x.jsonl")
    write_embeddings(Embeddings(ids, vectors), path, layout)
    back = read_embeddings(path)
    assert back.ids == ids
    assert back.vectors.dtype == np.float32
    assert bits(back.vectors) == bits(vectors)


def test_decimals_that_are_rounded_twice_come_back(tmp_path):
    vectors = np.array([[ONCE_ROUNDED, 1]], dtype=np.uint32).view(np.float32)
    assert np.float32(float(str(vectors[0, 0]))) != vectors[0, 0]  # the trap itself
    write_embeddings(Embeddings(["a"], vectors), tmp_path / "x.jsonl")
    assert bits(read_embeddings(tmp_path / "x.jsonl").vectors) == bits(vectors)


@pytest.mark.parametrize(("layout", "key"), [("scirepeval", "doc_id"), ("specter", "paper_id")])
def test_lines_have_the_keys_that_others_read(tmp_path, layout, key):
    ids, vectors = ['a "b"\t\u2028ü', "2"], np.float32([[0.1, -0.0], [3.5e-12, 7]])
    write_embeddings(Embeddings(ids, vectors), tmp_path / "x.jsonl", layout)
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().split("\n")[:-1]]
    assert [list(line) for line in lines] == [[key, "embedding"]] * 2
    assert [line[key] for line in lines] == ids
    assert bits(np.array([line["embedding"] for line in lines], np.float32)) == bits(vectors)


def test_numpy_reads_the_matrix_that_grew_block_by_block(tmp_path):
    rows = np.arange(30, dtype=np.float32).reshape(10, 3)
    with open_writer(tmp_path / "new" / "x.npy", "npy") as writer:
        for start, end in ((0, 0), (0, 4), (4, 4), (4, 10)):
            writer.write([f"p{i}" for i in range(start, end)], rows[start:end])
    np.testing.assert_array_equal(np.load(tmp_path / "new" / "x.npy", allow_pickle=False), rows)
    assert (tmp_path / "new" / "x.ids.txt").read_text().split() == [f"p{i}" for i in range(10)]
    assert len(list((tmp_path / "new").iterdir())) == 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_that_fails_leaves_what_was_there(tmp_path, layout):
    path = tmp_path / ("x.npy" if layout == "npy" else "x.jsonl")
    old = Embeddings(["old"], np.ones((1, 2), np.float32))
    write_embeddings(old, path, layout)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def fail():
        with open_writer(path, layout) as writer:
            writer.write(["new"], np.zeros((1, 2), np.float32))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_link_is_followed_and_no_device_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "x.jsonl").symlink_to(tmp_path / "there" / "y.jsonl")
    write_embeddings(Embeddings(["a"], np.ones((1, 1), np.float32)), tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").is_symlink()
    assert read_embeddings(tmp_path / "there" / "y.jsonl").ids == ["a"]
    for path in ("/dev/null", tmp_path):
        with pytest.raises(InputError, match="no file that can be replaced"), open_writer(tmp_path / path, "specter"):
            pass


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, layout):
    rows = np.ones((2000, 64), np.float32)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(UnavailableError, match="free some disk"):
            write_embeddings(Embeddings(list(map(str, range(2000))), rows), tmp_path / "x.out", layout)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ids", "vectors", "layout", "part"),
    [
        (["a\nb"], [[1.0]], "npy", "line break"),
        (["a\rb"], [[1.0]], "npy", "line break"),
        (["\ufeffa"], [[1.0]], "npy", "byte order mark"),
        (["\ud800"], [[1.0]], "scirepeval", "not valid text"),
        ([""], [[1.0]], "npy", "is empty"),
        (["a"], [[math.nan]], "specter", "aren't numbers"),
        (["a", "b"], [[1.0]], "npy", "2 ids for vectors"),
    ],
)
def test_what_a_layout_cannot_hold_is_refused(tmp_path, ids, vectors, layout, part):
    with pytest.raises(InputError, match=part):
        write_embeddings(Embeddings(ids, np.array(vectors, np.float32)), tmp_path / "x", layout)
    assert list(tmp_path.iterdir()) == []


def test_reads_what_others_write(tmp_path):
    lines = [
        {"doc_id": "a", "embedding": [1, 2.5]},
        {"paper_id": "b", "title": "T", "embedding": [0.0, -1.0]},
        {"paper_id": "untitled", "embedding": []},
        {"corpusid": 17, "doi": "10.1/x", "embedding": [3, 4]},
        {"paperId": "c", "corpusId": 5, "embedding": {"model": "specter_v2", "vector": [5, 6]}},
        {"d": [7, 8], "e": [9, 10]},
    ]
    text = "\ufeff" + "\n\n".join(map(json.dumps, lines))
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    back = read_embeddings(tmp_path / "x.jsonl.gz")
    assert back.ids == ["a", "b", "17", "c", "d", "e"]
    assert back.without == ("untitled",)
    assert back.vectors.tolist() == [[1, 2.5], [0, -1], [3, 4], [5, 6], [7, 8], [9, 10]]


@pytest.mark.parametrize("kind", [">f4", "<f2", "<f8"])
def test_reads_a_matrix_of_any_floats_in_any_order(tmp_path, kind):
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(6).reshape(2, 3).astype(kind)))
    (tmp_path / "x.ids.txt").write_bytes(b"a\r\nb\r\n")
    back = read_embeddings(tmp_path / "x.npy")
    assert (back.ids, back.vectors.dtype, back.vectors.tolist()) == (["a", "b"], np.float32, [[0, 1, 2], [3, 4, 5]])


GOOD = '{"doc_id": "a", "embedding": [1, 2]}\n'


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (GOOD + '{"doc_id": "b", "embedding": [1]}', "line 2: the vector has 1 values where those before have 2"),
        (GOOD + "\n" + GOOD, "line 3: the id a came before, in line 1"),
        (GOOD + '{"paper_id": "a", "embedding": []}', "line 2: the id a came before"),
        (GOOD + '{"doc_id": "b", "embedding": [1, NaN]}', "line 2: a number is NaN or infinite"),
        (GOOD + '{"doc_id": "b", "embedding": [-Infinity,2]}', "line 2: a number is NaN or infinite"),
        (GOOD + '{"doc_id": "b", "embedding": [1, null]}', "line 2: the vector holds something that isn't a number"),
        (GOOD + '{"doc_id": "b", "embedding": [1, "2"]}', "line 2: the vector holds something that isn't a number"),
        (GOOD + '{"doc_id": "b", "embedding": [1, [2]]}', "line 2: the vector holds something that isn't a number"),
        (GOOD + '{"doc_id": "b", "embedding": [1, true]}', "line 2: the vector holds something that isn't a number"),
        (GOOD + '{"doc_id": "b", "embedding": [1, 1e39]}', "line 2: the vector holds a number too large"),
        (GOOD + '{"doc_id": "b", "embedding": [1, 2', "line 2: this isn't JSON"),
        (GOOD + '{"doc_id": "b", "embedding": "1 2"}', "line 2: there is no list of numbers"),
        (GOOD + '{"doc_id": "b", "vector": 3}', "line 2: there is no list of numbers"),
        (GOOD + '{"embedding": [1, 2]}', "line 2: the embedding has no id"),
        (GOOD + '{"doc_id": true, "embedding": [1, 2]}', "line 2: the embedding has no id"),
        (GOOD + "[1, 2]", "line 2: an embedding is an object"),
        ('{"doc_id": "a", "embedding": []}', "holds no embeddings"),
        ("", "is empty"),
    ],
)
def test_damaged_lines_are_named(tmp_path, text, part):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(InputError) as told:
        read_embeddings(tmp_path / "x.jsonl")
    assert part in str(told.value)


def npy(path, matrix, ids="a\nb\n"):
    np.save(path, matrix, allow_pickle=True)
    if ids is not None:
        ids_beside(path).write_text(ids)


@pytest.mark.parametrize(
    ("matrix", "ids", "part"),
    [
        (np.array([[1.0], [{}]], dtype=object), "a\nb\n", "Python objects"),
        (np.float32([1, 2]), "a\nb\n", "shape (2,)"),
        (np.array([["x"], ["y"]]), "a\nb\n", "rows of floating-point numbers"),
        (np.zeros((0, 4), np.float32), "", "shape (0, 4)"),
        (np.float32([[1], [math.inf]]), "a\nb\n", "row 2: the vector of b"),
        (np.float64([[1e300], [1]]), "a\nb\n", "row 1: the vector of a"),
        (np.float32([[1], [2]]), None, "no x.ids.txt beside"),
        (np.float32([[1], [2]]), "a\nb\nc\n", "3 ids for 2 vectors"),
        (np.float32([[1], [2]]), "a\na\n", "line 2: the id a came before"),
        (np.float32([[1], [2]]), "a\n\n", "line 2: there is no id"),
    ],
)
def test_a_matrix_that_cannot_be_used_is_refused(tmp_path, matrix, ids, part):
    npy(tmp_path / "x.npy", matrix, ids)
    with pytest.raises(InputError) as told:
        read_embeddings(tmp_path / "x.npy")
    assert part in str(told.value)


def test_a_matrix_cut_off_or_boasting_is_refused(tmp_path):
    npy(tmp_path / "x.npy", np.ones((2, 100), np.float32))
    whole = (tmp_path / "x.npy").read_bytes()
    for damaged in (whole[:500], whole[:60], whole.replace(b"(2, 100)", b"(9999999999, 100)")[: len(whole)]):
        (tmp_path / "x.npy").write_bytes(damaged)
        with pytest.raises(InputError, match=r"is damaged, or a \.npy file of Python objects"):
            read_embeddings(tmp_path / "x.npy")


def texts_of(path, content, **columns):
    path.write_text(content if isinstance(content, str) else "\n".join(map(json.dumps, content)), encoding="utf-8")
    return list(read_json_texts(path, columns))


def test_reads_papers_and_queries_in_everybodys_shapes(tmp_path):
    read = texts_of(
        tmp_path / "x.jsonl",
        [
            {"paper_id": "s", "title": "A  title", "abstract": "An abstract."},
            {"doc_id": 7, "corpus_id": 9, "title": "T", "abstract": None},
            {"_id": "b", "title": "", "text": "BEIR's text", "metadata": {"title": "no"}},
            {"query_id": "q", "doc_id": "d", "query": "masks", "format": "qry"},
            {"id": "r", "title": "R", "format": "rgn"},
        ],
    )
    assert read == [
        TextRecord(1, "s", "A title", "An abstract."),
        TextRecord(2, "7", "T", ""),
        TextRecord(3, "b", "BEIR's text"),
        TextRecord(4, "q", "masks", task_format=Format.QRY),
        TextRecord(5, "r", "R", "", task_format=Format.RGN),
    ]
    by_id = json.dumps({"x1": {"title": "T1", "abstract": "A1"}, "x2": {"paper_id": "x2", "title": "T2"}}, indent=1)
    assert [(text.id, text.title, text.abstract) for text in texts_of(tmp_path / "x.json", by_id)] == [
        ("x1", "T1", "A1"),
        ("x2", "T2", ""),
    ]
    (own,) = texts_of(tmp_path / "x.json", '[{"nr": 1, "body": "words"}]', id="nr", abstract="body")
    assert (own.id, own.title) == ("1", "words")


def test_reads_bare_texts_by_the_number_of_their_line(tmp_path):
    wanted = [TextRecord(1, "1", 'heart, "blood" \u2028 virus'.replace("\u2028 ", "")), TextRecord(3, "3", "{lung}")]
    (tmp_path / "x.txt").write_text('heart, "blood" \u2028 virus\n\n {lung}\r\n', encoding="utf-8")
    assert list(read_plain_texts(tmp_path / "x.txt")) == wanted
    assert [type(text) for text in texts_of(tmp_path / "x.jsonl", '"a"\n""\n')] == [TextRecord, Rejected]
    strings = ['heart, "blood" \u2028 virus', "{lung}"]
    assert texts_of(tmp_path / "x.jsonl", "\n\n".join(map(json.dumps, strings))) == wanted
    (tmp_path / "x.txt").write_bytes(b"fine\n\xff\xfe bad\n")
    assert [type(text) for text in read_plain_texts(tmp_path / "x.txt")] == [TextRecord, Rejected]


def test_what_cannot_be_encoded_is_rejected_with_its_line(tmp_path):
    lines = [
        '{"id": "a", "title": "T"}',
        "not json",
        '{"title": "T"}',
        '{"id": "c"}',
        '{"id": "d\\u0007", "query": "x"}',
        '{"id": "e", "title": "x", "format": "qyr"}',
        json.dumps({"id": "f", "text": "x" * 1_000_001}),
        '"a string"',
        "[1]",
        json.dumps({"query": "without id"}),
    ]
    read = texts_of(tmp_path / "x.jsonl", "\n".join(lines))
    assert [type(text) for text in read] == [TextRecord] + [Rejected] * 9
    assert [text.line for text in read] == list(range(1, 11))
    for line, part in {2: "JSON", 3: "no id", 4: "no query", 5: "control", 6: "'qyr'", 7: "1,000,000"}.items():
        assert part in read[line - 1].reason
    string, other = texts_of(tmp_path / "x.jsonl", '"a string"\n{"id": "a", "title": "T"}')
    assert (string.title, other.line) == ("a string", 2)
    with pytest.raises(InputError, match="corpus=csv"):
        texts_of(tmp_path / "x.csv", "id,title\na,b\n")


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_of_any_member_breaks_the_reading(tmp_path, value):
    keys = ("id", "query_id", "title", "text", "query", "format")
    records = [{"id": "a", "title": "t"}, *({"id": "a", "text": "b", key: value} for key in keys)]
    read = texts_of(tmp_path / "x.jsonl", records)
    assert len(read) == len(records)
    assert (read[0].id, read[0].title) == ("a", "t")
    assert all(isinstance(text, Rejected) or (text.id and text.title) for text in read)


class Kept:
    """A writer that keeps what it is given."""

    def __init__(self):
        self.ids, self.rows = [], []

    def write(self, ids, vectors):
        self.ids += ids
        self.rows += list(vectors)


def test_vectors_are_those_of_the_encoder_in_every_format_asked_for(coded, monkeypatch):
    monkeypatch.setattr(encoding, "BLOCK", 8)
    made = papers(20)
    records = [*papers_as_texts(Accepted(i, paper) for i, paper in enumerate(made, start=1))]
    query = TextRecord(21, "q", "virus lung", task_format=Format.QRY)
    records[10:10] = [query, Rejected(99, "Broken."), TextRecord(22, made[0].id, "another of the same id")]
    writers, rejected = {Format.PRX: Kept(), Format.CLF: Kept()}, []
    report = encode_texts(records, coded, writers, rejected.append)
    assert report == EncodeReport(encoded=21, duplicates=1, rejected=1)
    assert rejected == [Rejected(99, "Broken.")]
    ids = [paper.id for paper in made]
    ids.insert(10, "q")
    for task_format, kept in writers.items():
        assert kept.ids == ids
        wanted = coded.encode([coded.card.text(paper.title, paper.abstract) for paper in made], task_format)
        wanted = np.insert(wanted, 10, coded.encode(["virus lung"], Format.QRY), axis=0)
        np.testing.assert_allclose(kept.rows, wanted, atol=1e-5)
    assert np.abs(np.array(writers[Format.PRX].rows[:10]) - writers[Format.CLF].rows[:10]).max() > 0.01


@pytest.mark.parametrize("name", ["x.jsonl", "x.npy"])
def test_a_file_is_exactly_what_the_encoder_gave(coded, tmp_path, name):
    texts = [TextRecord(i, paper.id, paper.title, paper.abstract) for i, paper in enumerate(papers(30))]
    with open_writer(tmp_path / name, "npy" if name.endswith("npy") else "scirepeval") as writer:
        encode_texts(texts, coded, {Format.RGN: writer}, pytest.fail)
    wanted = coded.encode([coded.card.text(text.title, text.abstract) for text in texts], Format.RGN)
    back = read_embeddings(tmp_path / name)
    assert back.ids == [text.id for text in texts]
    assert bits(back.vectors) == bits(wanted)


def test_no_more_is_read_than_the_block_at_work(coded, monkeypatch):
    monkeypatch.setattr(encoding, "BLOCK", 4)
    taken, most = 0, []

    def endless():
        nonlocal taken
        for taken in range(1, 41):
            yield TextRecord(taken, str(taken), "virus")

    class Counting(Kept):
        def write(self, ids, vectors):
            super().write(ids, vectors)
            most.append(taken - len(self.ids))

    encode_texts(endless(), coded, {Format.PRX: Counting()}, pytest.fail)
    assert most == [0] * 10


def test_a_format_that_the_model_lacks_rejects_the_record_alone(coded):
    from dataclasses import replace

    heads = {name: head for name, head in coded.card.heads.items() if name is not Format.QRY}
    lacking = replace(coded, card=replace(coded.card, heads=heads))
    kept, rejected = Kept(), []
    records = [TextRecord(1, "a", "virus"), TextRecord(2, "b", "lung", task_format=Format.QRY)]
    encode_texts(records, lacking, {Format.PRX: kept}, rejected.append)
    assert kept.ids == ["a"]
    assert [(bad.line, bad.id) for bad in rejected] == [(2, "b")]
    assert "no qry vectors" in rejected[0].reason


def test_a_corpus_keeps_its_rejections():
    records = [Accepted(1, Paper("a", "T", "A")), Rejected(2, "No.")]
    assert list(islice(papers_as_texts(records), 3)) == [TextRecord(1, "a", "T", "A"), Rejected(2, "No.")]


def test_a_deleted_paper_can_not_be_encoded_and_is_told():
    records = [Accepted(1, Paper("a", "T", "A")), Deleted(2, "b")]
    told = Rejected(2, "The corpus has deleted this paper.", "b")
    assert list(papers_as_texts(records)) == [TextRecord(1, "a", "T", "A"), told]


@pytest.mark.parametrize(
    ("name", "layout"),
    [("a.npy", "npy"), ("a.jsonl", "scirepeval"), ("a.json", "scirepeval"), ("a.NDJSON", "scirepeval")],
)
def test_the_suffix_chooses_the_layout(name, layout):
    assert layout_of(Path(name)) == layout
