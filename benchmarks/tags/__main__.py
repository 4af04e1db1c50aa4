"""Taggers and forecasters: as good as a probe, calibrated, much faster than indexing again, and intervals that hold.

Needs SES_TEST_DATA and scikit-learn. `quality` and `forecasts` encode 6,000 papers each, once: the cache keeps them.
`speed` encodes 1,000 papers, whatever the number of papers that are tagged.
`words` encodes 13,400 papers.
Run: python -m benchmarks.tags quality | forecasts [MODEL] | speed [PAPERS [ENGINE]] | ship FOLDER | words [NAME...]
"""

from __future__ import annotations

import sys

from benchmarks.tags.forecasts import forecasts
from benchmarks.tags.quality import quality
from benchmarks.tags.shipped import ship
from benchmarks.tags.speed import ENCODED, speed
from benchmarks.tags.words import words


def main() -> None:
    match sys.argv[1:]:
        case ["ship", folder]:
            ship(folder)
        case ["forecasts", *model]:
            forecasts(*model)
        case ["speed", *rest]:
            size, url = [*rest, "", ""][:2]
            speed(int(size or ENCODED), url)
        case ["words", *names]:
            words(*names)
        case _:
            quality()


if __name__ == "__main__":
    main()
