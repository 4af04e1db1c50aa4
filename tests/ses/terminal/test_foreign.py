"""Packages of others that have a name of ses, first on Python's path."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ses.terminal.foreign import PACKAGES, foreign_packages

ROOT = Path(__file__).parents[3]


def run(folder, *arguments):
    settings = {"SES_DATA_DIR": str(folder / "data"), "SES_CACHE_DIR": str(folder / "cache")}
    path = os.pathsep.join(map(str, (folder / "others", ROOT)))
    return subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'ses'; from ses.__main__ import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env={**os.environ, **settings, "PYTHONPATH": path},
    )


@pytest.fixture
def other(tmp_path):
    def make(name):
        (tmp_path / "others" / name).mkdir(parents=True)
        (tmp_path / "others" / name / "__init__.py").write_text('"""A package of somebody else."""\n')
        return tmp_path / "others" / name

    return make


def test_every_package_is_our_own():
    assert list(foreign_packages()) == []
    assert {*PACKAGES, "ses"} == {path.parent.name for path in ROOT.glob("*/py.typed")}


@pytest.mark.slow
def test_the_doctor_names_a_foreign_package(other, tmp_path):
    place = other("eval")
    done = run(tmp_path, "doctor")
    assert f"Python finds another eval, in {place}, before the one of ses in {ROOT}; install ses" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("project", "files", "scripts", "has"),
    [
        ("ses", ["ses/__init__.py"], "ses = ses.voice:main", "package ses and command ses"),
        ("evaluate-it", ["eval/__init__.py", "products/__init__.py"], "", "package products and package eval"),
        ("ses-voice", ["voice/__init__.py"], "ses = voice:main", "command ses"),
    ],
)
def test_the_doctor_names_a_project_whose_files_overwrite_ours(project, files, scripts, has, tmp_path):
    """The files themselves are ours: an installation of ses came last."""
    info = tmp_path / "others" / f"{project.replace('-', '_')}-0.0.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project}\nVersion: 0.0.2\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    (info / "entry_points.txt").write_text(f"[console_scripts]\n{scripts}\n")
    told = f"The project {project} is installed here too and has its own {has}: run `pip uninstall {project}`, then"
    assert told in run(tmp_path, "doctor").stdout


def test_a_command_that_needs_it_names_it(other, tmp_path):
    place = other("eval")
    done = run(tmp_path, "eval", "score", "a.run", "--qrels", "a.qrels")
    assert done.returncode == 3
    assert done.stderr.startswith(f"Error: Python finds another eval, in {place}, before")


def test_nothing_runs_without_the_lowest_package_and_that_is_said(other, tmp_path):
    place = other("corpora")
    done = run(tmp_path, "search", "virus")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: Python finds another corpora, in {place}, before")


@pytest.mark.slow
def test_a_module_in_place_of_a_package(tmp_path):
    (tmp_path / "others").mkdir()
    module = tmp_path / "others" / "training.py"
    module.write_text("")
    assert f"Python finds another training, in {module}, before" in run(tmp_path, "doctor").stdout
