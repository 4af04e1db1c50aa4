"""How JavaScript is run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A function that runs a file of this folder by node, beside those that it imports, and returns what it prints."""
    folder = tmp_path_factory.mktemp("node")
    # Node looks for packages beside the file that imports them, so the files go to the packages.
    (folder / "node_modules").symlink_to(Path(os.environ["SES_TEST_NPM"]) / "node_modules")
    for file in (*HERE.glob("*.mjs"), ROOT / "javascript" / "instantsearch.js"):
        shutil.copy(file, folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "package.json").write_text('{"type": "module"}')

    def run(file: str, *arguments: str) -> Any:
        command = [str(shutil.which("node")), file, *arguments]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return run
