"""The files of the packages for npm and Composer that are made of the sources of printed programs.

`python -m tests.front_ends.packages` writes them.
"""

from __future__ import annotations

from pathlib import Path

from search_plugin.engines.cluster.frontends.languages import sources

ROOT = Path(__file__).parents[2]
_HEADS = {
    "javascript/query-vector.js": "// Vectors of queries: by the words in a cluster, or by a table in a file.\n\n",
    "php/query_vector.php": "<?php\n\nnamespace SesScholar;\n\n",
}


def packaged() -> dict[str, str]:
    """Return the texts of the files by their paths."""
    folder = Path(sources.__file__).parent
    parts = ("direction", "words", "table")
    return {
        path: head + "\n".join((folder / f"{part}{Path(path).suffix}").read_text(encoding="utf-8") for part in parts)
        for path, head in _HEADS.items()
    }


if __name__ == "__main__":
    for path, text in packaged().items():
        (ROOT / path).write_text(text, encoding="utf-8")
