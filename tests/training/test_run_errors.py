"""Bad data and bad luck: what stops a run, what it says, and what it leaves behind."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from corpora.errors import InputError, StoppedError, UnavailableError
from tests.commands import fails, ses
from tests.training.recipes import read_recipe, write, write_recipe
from training import checkpoints
from training.log import read_log
from training.run_errors import plain_errors
from training.train import train

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]


def changed_record(path, line, **values):
    """Change a record of JSON lines; lines count from 1."""
    records = [json.loads(text) for text in path.read_text().splitlines()]
    records[line - 1] |= values
    write(path, records)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "no space"), "The disk is full, and .*run can't be written"),
        (OSError(errno.EDQUOT, "quota"), "The disk is full"),
        (OSError(errno.EFBIG, "too large"), "The disk is full"),
        (MemoryError(), "The memory does not hold a batch: lower batch_size"),
        *(
            (RuntimeError(f"[x] {words} [y]"), "The memory does not hold a batch")
            for words in ("can't allocate memory", "not enough memory", "bad_alloc", "CUBLAS_STATUS_ALLOC_FAILED")
        ),
    ],
)
def test_full_disks_and_memories_are_told(error, told):
    with pytest.raises(UnavailableError, match=told), plain_errors(Path("run")):
        raise error
    caused = UnavailableError("The state can't be written", "x")
    caused.__cause__ = error
    told = "The disk is full" if isinstance(error, OSError) else "The state"
    with pytest.raises(UnavailableError, match=told), plain_errors(Path("run")):
        raise caused


@pytest.mark.parametrize("error", [OSError(errno.EACCES, "no"), RuntimeError("shapes"), UnavailableError("gone", "x")])
def test_other_errors_are_left_as_they_are(error):
    with pytest.raises(type(error)) as raised, plain_errors(Path("run")):
        raise error
    assert raised.value is error


def test_a_loss_that_is_not_a_number_names_the_record(tmp_path):
    path = write_recipe(tmp_path, ("cross-entropy", "mse"), batch_size=12, validate_every=1, sampler="sequential")
    papers, numbers = tmp_path / "papers.jsonl", tmp_path / "numbers.jsonl"
    shutil.copy(papers, numbers)
    changed_record(numbers, 7, value=1e300)
    path.write_text(
        path.read_text()
        .replace('train = "papers.jsonl", label', "")
        .replace('type = "regression"\ntrain = "papers.jsonl"', 'type = "regression"\ntrain = "numbers.jsonl"')
    )
    with pytest.raises(InputError) as raised:
        train(read_recipe(path), tmp_path / "run")
    told = str(raised.value)
    assert "The loss of mse is not a number in batch 1 of step" in told
    assert f"with these records: {numbers}, line 7." in told
    # The sequential sampler takes the other task's two batches first.
    step = len(read_log(tmp_path / "run"))
    assert step >= 2
    assert f"The state of step {step} is kept in {tmp_path / 'run'}. Lower learning_rate, or correct those" in told
    assert checkpoints.last(tmp_path / "run") == step


def test_a_gradient_that_is_not_a_number_changes_no_weight(tmp_path):
    path = write_recipe(tmp_path, ("mse",), batch_size=24)
    papers = tmp_path / "papers.jsonl"
    papers.write_text("".join(papers.read_text().splitlines(keepends=True)[:9]))
    # The loss is a float32 still, and the square of the gradient is none any more.
    changed_record(papers, 3, value=1.8e19)
    lines = r"lines 1, 2, 3, 4, 5, 6, 7, 8 and 1 more"
    with pytest.raises(InputError, match=rf"The gradient is not a number in step 1, with these records: .*, {lines}"):
        train(read_recipe(path), tmp_path / "run")
    assert checkpoints.last(tmp_path / "run") is None


@pytest.mark.parametrize("objective", ["mse", "triplet", "bce"])
def test_weights_that_are_no_numbers_are_never_saved(tmp_path, objective):
    """The first step's rate is 0; after the second one everything overflows, and NaN would be nearest to anything."""
    path = write_recipe(
        tmp_path, (objective,), trains="all", epochs=9, validate_every=1, learning_rate=1e30, warmup=1, clip=0
    )
    told = "After step 2 the vectors of .* are not numbers; the state of step 1 is kept in .*Lower learning_rate"
    with pytest.raises(InputError, match=told):
        train(read_recipe(path), tmp_path / "run")
    assert checkpoints.last(tmp_path / "run") == 1
    assert [entry["step"] for entry in read_log(tmp_path / "run")] == [1]


def test_a_state_that_a_killed_run_left_half_written_is_none(tmp_path):
    (tmp_path / "state-00000002").mkdir()
    (tmp_path / "state-00000003.part").mkdir()
    assert checkpoints.last(tmp_path) == 2


def limited(code, *arguments):
    """Run Python code that limits itself, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


TRAIN = "import sys; sys.argv = ['ses', 'train', *sys.argv[1:]]; from ses.terminal.cli import main; main()"


def test_a_full_memory_says_which_settings_to_lower(tmp_path):
    path = write_recipe(tmp_path, ("contrastive",), batch_size=256, max_tokens=128)
    text = " ".join(["virus"] * 120)
    candidates = [{"title": text, "score": 1}, {"title": text, "score": 0}]
    write(tmp_path / "judged.jsonl", [{"query": text, "candidates": candidates}] * 256)
    # As much memory as the process has before its first step, and 50 MB.
    code = (
        "import resource, training.train as training\n"
        "run = training.run_steps\n"
        "def limited(*arguments):\n"
        "    size = next(line for line in open('/proc/self/status') if line.startswith('VmSize'))\n"
        "    most = 1024 * int(size.split()[1]) + 50_000_000\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "    return run(*arguments)\n"
        "training.run_steps = limited\n"
    )
    done = limited(code + TRAIN, path, "--output", tmp_path / "run", "--json")
    fails(
        done, 3, "The memory does not hold a batch: lower batch_size (and raise accumulation by as much)", "max_tokens"
    )


def test_a_disk_that_fills_while_saving_leaves_the_state_before(tmp_path):
    path = write_recipe(tmp_path, trains="all", epochs=1, validate_every=2)
    # No file may grow beyond the limit, as on a full disk, from step 3 on.
    code = (
        "import resource, training.checkpoints as kept\n"
        "save = kept.save\n"
        "def limited(folder, learner, progress):\n"
        "    if progress.step > 2: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "    save(folder, learner, progress)\n"
        "kept.save = limited\n"
    )
    done = limited(code + TRAIN, path, "--output", tmp_path / "run", "--json")
    fails(done, 3, "The state of step 4 can't be written to", "free some space, and train again with --resume")
    assert [path.name for path in (tmp_path / "run").glob("state*")] == ["state-00000002"]
    # With as many threads: sums of other parts round otherwise.
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.training.recipes import read_recipe; from training.train import train\n"
        "path, *folders = map(Path, sys.argv[1:])\n"
        "for resume, folder in enumerate(folders): print(train(read_recipe(path), folder, resume=bool(resume)).steps)\n"
    )
    done = limited(code, path, tmp_path / "whole", tmp_path / "run")
    whole, resumed = map(int, done.stdout.split())
    assert resumed == whole > 4
    weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("limit", [1_000, 60_000])
def test_a_disk_that_is_full_from_the_start(tmp_path, limit):
    """The first limit stops the copy of the tokenizer, the second that of the weights."""
    path = write_recipe(tmp_path, trains="all")
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))\n"
    done = limited(code + TRAIN, path, "--output", tmp_path / "run", "--json")
    fails(done, 3, str(tmp_path / "run"), "free some space")
    assert not (tmp_path / "run" / "model").exists()
    assert train(read_recipe(path), tmp_path / "run", resume=True).folder


def test_a_small_disk(tmp_path):
    """On a disk of 2 MB: the states of a model with all its weights fill it."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=2m", "tmpfs"]
    if subprocess.run(["/bin/mount", *options, str(place)], capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        recipe = read_recipe(write_recipe(tmp_path, trains="all", epochs=3, validate_every=1, keep=9))
        with pytest.raises(UnavailableError, match=r"free some space, and train again with resume"):
            train(recipe, place / "run")
        step = checkpoints.last(place / "run")
        assert step is not None
        whole = train(recipe, tmp_path / "whole")
        # Somewhere with room, it goes on.
        shutil.copytree(place / "run", tmp_path / "run")
        done = train(recipe, tmp_path / "run", resume=True)
        assert (done.folder / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()
    finally:
        # What pytest keeps of a failure may hold files open.
        subprocess.run(["/bin/umount", "--lazy", str(place)], check=True)


def begun(tmp_path, *more, **values):
    """Start `ses train` in a process of its own; return it once it has taken some steps."""
    path = write_recipe(tmp_path, epochs=200, validate_every=10_000, **values)
    command = [sys.executable, "-m", "ses", "train", str(path), "--output", str(tmp_path / "run"), *more]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and len(read_log(tmp_path / "run")) < 3:
        time.sleep(0.01)
    return path, run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_step_at_hand_and_names_resume(tmp_path, number):
    path, run = begun(tmp_path, "--json")
    run.send_signal(number)
    out, error = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert "Traceback" not in error
    step = checkpoints.last(tmp_path / "run")
    assert f"Stopped after {step} of 1200 steps; train again with --resume to go on." in error
    assert len(read_log(tmp_path / "run")) == step >= 3
    # Without --resume the folder is safe.
    fails(ses(tmp_path, "train", path, "--output", tmp_path / "run"), 2, f"holds a run of {step} steps; add --resume")


def test_ctrl_c_before_the_first_step_names_resume(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("training.preparing.read_labels", interrupted)
    with pytest.raises(StoppedError, match="train again with resume"):
        train(read_recipe(write_recipe(tmp_path)), tmp_path / "run")


def test_a_thread_may_train(tmp_path):
    """Signals belong to the main thread: elsewhere they are left as they are."""
    found = []
    recipe = read_recipe(write_recipe(tmp_path, steps=1))
    thread = threading.Thread(target=lambda: found.append(train(recipe, tmp_path / "run")))
    thread.start()
    thread.join()
    assert found[0].folder
