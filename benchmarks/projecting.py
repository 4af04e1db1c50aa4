"""Search in indexes with shorter vectors, as `ses index --dimension` makes them: nDCG@10 and the size of the index.

FOLDER keeps the cache of embeddings, so that each paper is encoded once. Needs SES_TEST_DATA and the extra eval.
Run: python -m benchmarks.projecting FOLDER [SET ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import ses
from benchmarks.common import data_dir

SETS = ("scifact", "cranfield", "nfcorpus-preprocessed")
DIMENSIONS = (384, 256, 192, 128, 64)
MODES = ("vector", "hybrid")
MEASURE = "nDCG@10"


def main() -> None:
    folder = Path(sys.argv[1])
    print("|", " | ".join(["set", "numbers", *MODES, "MB", "of vectors"]), "|")
    print("| --- | --- |", " | ".join("---" for _ in MODES), "| --- | --- |")
    with ses.open(f"embedded:{folder / 'indexes'}", data_dir=folder, cache_dir=folder, embedding_cache=True) as library:
        for name in sys.argv[2:] or SETS:
            data = data_dir() / "eval" / name
            for dimension in DIMENSIONS:
                library.index("projected", data, corpus="beir", dimension=dimension, fresh=True)
                found = library["projected"].evaluate(data, modes=MODES, measures=[MEASURE])
                values = [f"{found.mean(MEASURE, mode):.3f}" for mode in MODES]
                held = library.describe("projected")
                vectors = held.papers * held.schema.vector("prx").dimension * 4
                sizes = [f"{size / 1e6:.1f}" for size in (held.disk_bytes, vectors)]
                print("|", " | ".join([name, str(dimension), *values, *sizes]), "|", flush=True)


if __name__ == "__main__":
    main()
