"""What stands for UniPR's factors: a checkpoint's own instructions, formats that are named, files; and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.layouts.unipr import factor_models, instructions_for
from encoders.models.formats import Format
from encoders.registry import find_model
from ses.evaluation.factors import Factor
from ses.evaluation.vectors import VectorSource
from ses.terminal.commands.eval import eval_
from tests.encoders.checkpoints import make_unipr
from tests.eval.vectors_by_hand import write_lines, write_vectors
from tests.tiny import make_model

FACTORS = ("semantic", "topic", "citation")
PAPERS = [f"virus {word} {number}" for number in range(4) for word in ("mask", "lung", "query")]
NIPS = {
    # Word by word as in get_paper_emb.py of yuzhimanhua/CoF.
    "semantic": "Retrieve a scientific paper that is relevant to the query.",
    "topic": "Retrieve a scientific paper that shares similar scientific topic classes with the query.",
    "citation": "Retrieve a scientific paper that is cited by the query.",
}


@pytest.fixture(scope="module")
def unipr(tmp_path_factory):
    return make_unipr(tmp_path_factory.mktemp("unipr") / "cof.ckpt", seed=1, layers=2)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("plain") / "model")


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    """A model whose formats read different texts."""
    folder = make_model(tmp_path_factory.mktemp("codes") / "model")
    (folder / "ses_card.json").write_text(json.dumps({"prompts": {"prx": "cite: ", "clf": "topic: ", "qry": "find: "}}))
    return folder


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [{"paper": f"p{row}", "title": title, "abstract": "x"} for row, title in enumerate(PAPERS)]
    write_lines(folder / "NIPS_papers_test.json", rows)
    reviewers = [{"reviewer": f"r{row}", "papers": [f"p{row}"]} for row in range(1, 12)]
    write_lines(folder / "NIPS_reviewers_test.json", reviewers)
    for kind in ("soft", "hard"):
        scores = {f"r{row}": int(row in (3, 8)) for row in range(1, 12)}
        write_lines(folder / f"NIPS_queries_test_{kind}.json", [{"query_id": "p0", "score": scores}])
    return folder


def invoke(data, *arguments):
    return CliRunner().invoke(
        eval_,
        ["reviewers", "--data", str(data), "--protocol", "unipr", *map(str, arguments)],
        env={"SES_CACHE_DIR": str(data.parent / "cache"), "COLUMNS": "300"},
    )


def told(run):
    assert run.exit_code == 0, run.exception or run.output
    return json.loads(run.stdout)


def refused(run):
    assert isinstance(run.exception, InputError), run.output
    return str(run.exception)


@pytest.mark.torch
def test_a_checkpoint_reads_each_factor_under_its_own_instruction(unipr, data, tmp_path):
    """The same figures as from three cards that give proximity each of the instructions the script gives."""
    got = told(invoke(data, "--model", unipr, "--precision", "fp32", "--json"))
    assert {name: one["instruction"] for name, one in got["factors"].items()} == NIPS
    assert {one["model"] for one in got["factors"].values()} == {str(unipr.resolve())}
    assert len({one["fingerprint"] for one in got["factors"].values()}) == 3
    files = []
    for factor, text in NIPS.items():
        (unipr.parent / "ses_card.json").write_text(json.dumps({"instructions": {"prx": text}}))
        encoder = load_encoder(str(unipr), cache_dir=tmp_path / "cache", precision="fp32")
        texts = [encoder.card.text(title, "x") for title in PAPERS]
        made = dict(zip([f"p{row}" for row in range(12)], encoder.encode(texts, Format.PRX), strict=True))
        files += ["--embeddings", f"{factor}={write_vectors(tmp_path / f'{factor}.jsonl', made)}"]
    (unipr.parent / "ses_card.json").unlink()
    wanted = told(invoke(data, *files, "--json"))
    assert got["rows"] == wanted["rows"]
    assert {name: set(one) for name, one in wanted["factors"].items()} == {factor: {"file"} for factor in FACTORS}


@pytest.mark.torch
def test_the_three_vectors_of_a_checkpoint_differ(unipr, tmp_path):
    models = factor_models(find_model(str(unipr)), NIPS)
    made = [
        load_encoder(model, cache_dir=tmp_path, precision="fp32").encode(PAPERS[:2], Format.PRX)
        for model in models.values()
    ]
    assert list(models) == list(FACTORS)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(made[one] - made[other]).max() > 1e-3
    assert models["citation"].card.formats == (Format.PRX,)


def test_instructions_are_chosen_by_the_data_set():
    assert instructions_for("NIPS") == NIPS
    assert instructions_for("KDD")["citation"].endswith("that is most likely cited by the query scientific paper.")
    assert instructions_for("SIGIR") == instructions_for("SciRepEval") == instructions_for("")
    assert instructions_for("")["citation"] == "Find a pair of papers that one paper cites the other paper."


def test_a_model_without_factors_is_refused_and_told_what_to_do(plain, data):
    reason = refused(invoke(data, "--model", plain))
    assert "has no vectors made for the factor semantic" in reason
    assert "--factor semantic=" in reason
    assert "--embeddings semantic=FILE" in reason


@pytest.mark.torch
def test_instructions_of_other_words_are_not_taken_for_unipr(unipr, data):
    (unipr.parent / "ses_card.json").write_text(json.dumps({"instructions": {"prx": "Find similar papers."}}))
    try:
        assert "no vectors made for the factor semantic" in refused(invoke(data, "--model", unipr))
    finally:
        (unipr.parent / "ses_card.json").unlink()


def test_formats_stand_for_the_factors_they_are_named_for(codes, data, tmp_path):
    report = tmp_path / "report.md"
    run = invoke(
        data, "--model", codes, "--factor", "topic=clf", "--factor", "citation=prx", "--json", "--report", report
    )
    got = told(run)
    assert {name: one["format"] for name, one in got["factors"].items()} == {"topic": "clf", "citation": "prx"}
    assert got["rows"][0]["protocol"] == "unipr, only topic and citation"
    assert (got["data"], got["protocol"]) == (str(data), "unipr")
    assert "factor topic" in report.read_text()
    assert "format clf, model" in report.read_text()
    table = invoke(data, "--model", codes, "--factor", "topic=clf", "--factor", "citation=prx")
    assert f"citation: format prx, model {codes.resolve()}, fingerprint" in table.stdout
    three = ("--factor", "semantic=qry", "--factor", "topic=clf", "--factor", "citation=prx")
    assert told(invoke(data, "--model", codes, *three, "--json"))["rows"][0]["protocol"] == "unipr"


@pytest.mark.parametrize("task_format", Format)
def test_a_source_is_asked_for_the_format_that_was_named(task_format):
    factor = Factor(VectorSource(lambda texts, asked: (texts, asked), {}), {}, task_format)
    assert factor.embed(["text"]) == (["text"], task_format)


@pytest.mark.torch
def test_fewer_instructions_and_files_beside_them(unipr, data, tmp_path):
    file = write_vectors(tmp_path / "topic.jsonl", {f"p{row}": [1, row] for row in range(12)})
    got = told(invoke(data, "--model", unipr, "--factor", "citation", "--embeddings", f"topic={file}", "--json"))
    assert got["factors"]["citation"]["instruction"] == NIPS["citation"]
    assert got["factors"]["topic"] == {"file": str(file)}
    assert list(got["factors"]) == ["topic", "citation"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--factor", "topic=clf", "--factor", "citation=prx"], "topic and citation would have the same vectors"),
        (["--embeddings", "topic=FILE", "--embeddings", "citation=FILE"], "would have the same vectors"),
        (["--factor", "topic=abc"], "There is no format 'abc'"),
        (["--factor", "subject=clf"], "names 'subject'; name each of the factors semantic, topic, citation once"),
        (["--factor", "topic=clf", "--factor", "topic=prx"], "names 'topic'; name each of the factors"),
        (["--factor", "topic=clf", "--embeddings", "topic=FILE"], "has both --embeddings and --factor"),
        (["--embeddings", "FILE"], "--embeddings names "),
        (["--embeddings", "topic"], "names no file"),
        (["--embeddings", "topic=FILE", "--model", "minilm"], "leave --model out"),
        (["--protocol", "scirepeval", "--factor", "topic=clf"], "--factor is for --protocol cof and unipr"),
    ],
)
def test_what_can_not_stand_for_factors_is_refused(arguments, reason, plain, data, tmp_path):
    file = write_vectors(tmp_path / "v.jsonl", {f"p{row}": [1, row] for row in range(12)})
    model = [] if any("--embeddings" in one or one == "--model" for one in arguments) else ["--model", plain]
    assert reason in refused(invoke(data, *(one.replace("FILE", str(file)) for one in arguments), *model))


def test_each_data_set_has_an_instruction_of_its_own_for_each_factor():
    nips, kdd, sigir = (instructions_for(name) for name in ("NIPS", "KDD", "SIGIR"))
    assert nips == NIPS
    assert instructions_for("SciRepEval") == sigir
    assert [tuple(given) for given in (nips, kdd, sigir)] == [FACTORS] * 3
    assert len({*nips.values(), *kdd.values(), *sigir.values()}) == 9
