"""Lists the papers that the offline suite tests on: `python -m eval.suites.freeze DATA > eval/frozen.tsv`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpora.cleaning import text_of
from eval.files.text import json_objects
from eval.frozen import ids_of, title_key
from eval.suites.base import Entry
from eval.suites.manifest import get_suite


def frozen_lines(data: Path, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each paper that entries of a suite test on, and one line for each of its other identifiers.

    A line has source, id and `title_key`, with tabs between; the title is empty in the lines of other identifiers.
    """
    tested: dict[str, set[str]] = {}
    # Some entries test on the same papers.
    for file, ids_tested in dict.fromkeys((entry.files[0], entry.tested) for entry in entries if entry.tested):
        tested.setdefault(file, set()).update(ids_tested(data))
    for file, ids in sorted(tested.items()):
        source, listed = Path(file).name.partition(".")[0], set[str]()
        for _, row in json_objects(data / file):
            name = text_of(row.get("id"))
            if name in ids and name not in listed:
                listed.add(name)
                yield f"{source}\t{name}\t{title_key(row.get('title'))}"
                own = set(ids_of({"id": name}))
                yield from (f"{source}\t{other}\t" for other in sorted(set(ids_of(row)) - own))


if __name__ == "__main__":
    (folder,) = sys.argv[1:]
    sys.stdout.writelines(f"{line}\n" for line in frozen_lines(Path(folder), get_suite("offline")))
