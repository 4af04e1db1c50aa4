"""A product is a folder and one line of `ses/products.py`: shown by one that is made for this test."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ses.library import Library
from ses.products import LibraryProduct

ROOT = Path(__file__).parents[2]

LINE = '    wishes: LibraryProduct[object] = LibraryProduct("Keep wishes of readers.")\n'
FILES = {
    "__init__.py": "",
    "api.py": """\
from dataclasses import dataclass

@dataclass(frozen=True)
class Wishes:
    folder: object

    def of(self, reader):
        return f"{reader} wishes an index in {self.folder.name}"

def room(library):
    return Wishes(library.settings.data_dir)
""",
    "command.py": """\
import rich_click as click
from ses.terminal.options import engine_options, open_library
from ses.terminal.results import say

@click.command()
@engine_options
def wishes(*, as_json, **options):
    \"\"\"Keep wishes of readers.\"\"\"
    wish = open_library(options).wishes.of("Ada")
    say({"wish": wish}, [wish], as_json=as_json)
""",
    "routes.py": """\
from fastapi import APIRouter, Depends
from ses.service.access import needs
from ses.service.parameters import ServiceOf

router = APIRouter(prefix="/v1", dependencies=[Depends(needs("search"))])

@router.get("/wishes")
def wishes(service: ServiceOf):
    return {"wish": service.library.wishes.of("Ada")}
""",
}

SERVED = """\
import ses
from fastapi.testclient import TestClient
from ses.service.app import make_app
from ses.service.service import Service
from ses.service.settings import ServiceSettings

with TestClient(make_app(Service(ses.open(), ServiceSettings()))) as client:
    print(client.get("/v1/wishes").text)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A function that runs Python where there is one product more; `ses` and `products` are copies."""
    folder = tmp_path_factory.mktemp("one-more")
    for package in ("ses", "products"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (folder / "products" / "wishes").mkdir(exist_ok=True)
        (folder / "products" / "wishes" / name).write_text(text)
    registry = folder / "ses" / "products.py"
    head, tags, rest = registry.read_text().partition("    tags: ")
    registry.write_text(head + LINE + tags + rest)
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "SES_DATA_DIR": str(folder / "data")}

    def run_python(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_python


WISH = "Ada wishes an index in data"


def test_a_folder_and_a_line_make_an_attribute_of_the_library(run):
    assert run("-c", "import ses; print(ses.open().wishes.of('Ada'))").strip() == WISH


@pytest.mark.slow
def test_a_folder_and_a_line_make_a_command(run):
    assert "Keep wishes of readers." in run("-m", "ses", "--help")
    assert json.loads(run("-m", "ses", "wishes", "--json")) == {"wish": WISH}


@pytest.mark.slow
@pytest.mark.serve
def test_a_folder_and_a_line_make_a_route(run):
    assert json.loads(run("-c", SERVED)) == {"wish": WISH}


def test_the_class_describes_its_products():
    assert isinstance(Library.tags, LibraryProduct)
    assert Library.tags.__doc__ == "Tag papers by linear models on their vectors: train, apply, measure."
