"""Terminals, pipes, settings and paths as people have them: always a plain sentence, never a traceback."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from ses.terminal.messages import FAULT, explained
from tests.commands import PLAIN, fails, in_a_process, of, ses
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with an index `jsonl` in it, whose papers have letters beyond ASCII, its corpus and its model."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", papers(300))
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "greek", "title": "virus β-catenin · Żółć", "authors": ["Müller"]}) + "\n")
    done = ses(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_a_terminal_of_ascii_shows_what_it_can(home, environment):
    done = in_a_process(["search", "β-catenin", "--mode", "lexical"], of(home, **environment))
    assert (done.returncode, done.stderr) == (0, "")
    assert "?-catenin" in done.stdout
    done = in_a_process(["search", "x", "--filter", "β=3"], of(home, **environment))
    fails(done, 2, "Error: ")
    done = in_a_process(["search", "β-catenin", "--mode", "lexical", "--json"], of(home, **environment))
    assert json.loads(done.stdout)["hits"][0]["paper"]["id"] == "greek"
    done = in_a_process(["search", "--help"], of(home, **environment))
    assert (done.returncode, done.stderr) == (0, "")


def shell(home, line):
    command = f"{shlex.quote(sys.executable)} -m ses {line}"
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command],
        env={**os.environ, **PLAIN, **of(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "search virus --mode lexical --size 100 | head -1",
        "search virus --mode lexical --size 100 --json | head -1",
        "search --help | head -1",
        "indexes list | true",
    ],
)
def test_a_reader_that_leaves_is_no_error(home, line):
    done = shell(home, line)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("search virus --mode lexical >&-", 0),
        ("search virus --mode lexical --json >&-", 0),
        ("indexes list <&- >&- 2>&-", 0),
        ("search virus --fusion sum >&- 2>&-", 2),
        ("--help >&-", 0),
        ("delete none --index jsonl <&- >&-", 1),
        ("index --corpus jsonl --path {home}/corpus.jsonl --model {home}/model >&- 2>&-", 0),
        ("encode {home}/corpus.jsonl --model {home}/model >&-", 0),
    ],
)
def test_closed_streams_are_no_error(home, line, code):
    done = shell(home, line.format(home=home))
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_mistyped_variable_names_the_nearest_setting(home):
    fails(ses(home, "search", "x", SES_MODLE="y"), 2, "There is no setting SES_MODLE, the nearest is SES_MODEL;")
    fails(
        ses(home, "search", "x", ses_data_dri="y"), 2, "There is no setting SES_DATA_DRI, the nearest is SES_DATA_DIR;"
    )
    # Of another program, Amazon's SES.
    done = ses(home, "search", "x", "--mode", "lexical", SES_FROM_EMAIL="y")
    assert (done.returncode, done.stderr) == (0, "")
    done = ses(home, "doctor", SES_FROM_EMAIL="y", SES_MODEL=str(home / "model"))
    assert "SES_FROM_EMAIL is no setting of ses, and is ignored." in done.stdout


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b'modle = "x"', ["There is no setting modle, the nearest is model; correct it in ses.toml."]),
        (b'[engine]\nurl = "x"', ["The setting engine can't be {'url': 'x'}"]),
        (b"= 3", ["ses.toml can't be read"]),
        (b"\xff\xfe", ["ses.toml can't be read"]),
        (b"a = " + b"[" * 5_000, ["ses.toml can't be read"]),
        (b"threads = -1", ["The setting threads can't be -1"]),
        (b"engine_token = 3", ["The setting engine_token can't be so"]),
        (b'data_dir = "a\\u0000b"', ["can't hold a null character; correct it in ses.toml."]),
        (b'cache_dir = "a\\u0000b"', ["can't hold a null character; correct it in ses.toml."]),
        (b'engine = "embedded:a\\u0000b"', ["can't hold a null character; correct it in ses.toml."]),
        (b'index = "A B"', ["An index can't be named 'A B'"]),
        (b'tuned = "none.json"', ["none.json"]),
    ],
)
def test_a_broken_file_of_settings_is_told(home, content, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ses.toml").write_bytes(content)
    environment = of(home)
    if b"data_dir" in content:
        environment.pop("SES_DATA_DIR")
    if b"cache_dir" in content:
        environment.pop("SES_CACHE_DIR")
    from tests.commands import call

    done = call(["search", "virus"], environment)
    assert done.returncode in (2, 3), done.stderr
    fails(done, done.returncode, *parts)
    assert done.stderr.count("\n") == 1


def test_a_folder_in_place_of_the_file_of_settings(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ses.toml").mkdir()
    done = ses(home, "search", "virus", "--mode", "lexical")
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["cord19", "pubmed", "beir", "jsonl", "csv"])
@pytest.mark.parametrize("path", ["/", "/dev/null", ".", "/proc/self/mem", "~nobody/x", "", "a\udcffb"])
def test_odd_paths_are_told(home, corpus, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ses(home, "index", "--corpus", corpus, "--path", path, "--index", "odd", "--model", home / "model")
    fails(done, done.returncode, "Error: ")
    assert done.returncode in (2, 3)
    assert "has a fault" not in done.stderr
    assert "odd" not in ses(home, "doctor", SES_MODEL=str(home / "model")).stdout


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["openvino", "torch", "torch-cuda", "onnx-cuda", "optimum", "transformers", "auto"])
def test_a_runtime_that_can_not_run_here_is_told(home, runtime):
    done = ses(home, "search", "virus", "--runtime", runtime)
    assert done.returncode in (0, 2, 3)
    if done.returncode:
        fails(done, done.returncode, "Error: ")
        assert "has a fault" not in done.stderr


def test_an_unforeseen_error_is_a_sentence_with_its_place():
    try:
        json.loads("{")
    except ValueError as error:
        told, code = explained(error)
    assert code == FAULT
    assert "tests/ses/terminal/test_streams.py of ses has a fault (JSONDecodeError: Expecting" in told
    assert explained(MemoryError()) == (
        "The memory is full; close other programs, or take a smaller part of the corpus.",
        3,
    )
    told, code = explained(PermissionError(13, "Permission denied", "/x/y"))
    assert (told, code) == ("/x/y can't be used (Permission denied); check it, and run the same command again.", 3)
    told, code = explained(ConnectionResetError(104, "Connection reset"))
    assert (told.startswith("A file or a connection failed (Connection reset)"), code) == (True, 3)


@pytest.mark.slow
def test_control_c_answers_at_once_and_says_what_is_kept(home, tmp_path):
    make_model(tmp_path / "model", width=256, layers=6)
    write_jsonl(tmp_path / "corpus.jsonl", papers(30_000))
    command = [sys.executable, "-m", "ses", "index", "--corpus", "jsonl", "--path", str(tmp_path / "corpus.jsonl")]
    environment = {**os.environ, **PLAIN, **of(tmp_path, SES_MODEL=str(tmp_path / "model"))}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        # Until vectors were kept: the first line that shows progress would come later.
        for line in run.stderr:
            if line.startswith("indexing"):
                break
        while run.poll() is None and sum(path.stat().st_size for path in tmp_path.rglob("embeddings.*")) < 200_000:
            time.sleep(0.05)
        begun = time.monotonic()
        run.send_signal(signal.SIGINT)
        _, rest = run.communicate(timeout=60)
    assert time.monotonic() - begun < 15, "an idle machine needs two seconds, and minutes for all papers"
    assert run.returncode == 130, rest
    assert "Traceback" not in rest
    assert "Error: Stopped: the vectors of about" in rest or "papers are in the unfinished index jsonl" in rest
    assert rest.rstrip().endswith("index the same papers again to resume.")
