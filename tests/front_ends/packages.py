"""The files of the packages for npm and Composer made of the sources of printed programs and of numbers of ses.

`python -m tests.front_ends.packages` writes them.
"""

from __future__ import annotations

from pathlib import Path

from search_plugin.contract.plan import TABLE_WEIGHT
from search_plugin.engines.cluster.frontends.languages import sources
from search_plugin.engines.cluster.frontends.languages.javascript import NOTATION as JAVASCRIPT
from search_plugin.engines.cluster.frontends.languages.php import NOTATION as PHP
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.fusion.fusions import shares
from search_plugin.ranking.neighbours import FIRST, NEAREST, POOL
from search_plugin.request import NEIGHBOURS_SHARE

ROOT = Path(__file__).parents[2]
_PARTS = {"query": ("direction", "words", "spellings", "table"), "ranking": ("join", "neighbours")}
_FILES = {
    "javascript/query-vector.js": (
        "query",
        "// Vectors of queries: by the words in a cluster, or by a table in a file.\n",
    ),
    "javascript/ranking.js": ("ranking", "// A hybrid search ranked as ses ranks it.\n"),
    "php/query_vector.php": ("query", "<?php\n\nnamespace SesScholar;\n"),
    "php/ranking.php": ("ranking", "<?php\n\nnamespace SesScholar;\n"),
}
_NOTATIONS = {".js": ("export const", JAVASCRIPT), ".php": ("const", PHP)}
_WEIGHTS = [round(share, 6) for share in shares(("words", "vector"), {"vector": TABLE_WEIGHT}).values()]
_NEIGHBOURS = {"weight": NEIGHBOURS_SHARE, "pool": POOL, "nearest": NEAREST, "first": FIRST}


def packaged() -> dict[str, str]:
    """Return the texts of the files by their paths."""
    folder = Path(sources.__file__).parent
    found = {}
    for path, (kind, head) in _FILES.items():
        ending = Path(path).suffix
        numbers = [_numbers(*_NOTATIONS[ending])] if kind == "ranking" else []
        parts = [(folder / f"{part}{ending}").read_text(encoding="utf-8") for part in _PARTS[kind]]
        found[path] = "\n".join([head, *numbers, *parts])
    return found


def _numbers(declared: str, notation: Notation) -> str:
    """Return the statements that hold the numbers of a ranking."""
    return f"""/** Weights of words and of a vector by a table or by words of the cluster; by a model, both are .5. */
{declared} TABLE_WEIGHTS = {notation.write(_WEIGHTS)};

/** How neighbours count by default, among the best papers (`pool`): their weight, and what else the function takes. */
{declared} NEIGHBOURS = {notation.write(_NEIGHBOURS)};
"""


if __name__ == "__main__":
    for path, text in packaged().items():
        (ROOT / path).write_text(text, encoding="utf-8")
