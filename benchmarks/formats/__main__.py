"""Measure the formats CLF and RGN of a model against its PRX vectors, by probes that spread alone can't win.

MODEL is the folder of a model with one of them or both, such as one that recipes/clf-spread.toml and
recipes/rgn-words.toml made: the column "trained on" is about these recipes. Vectors are made once for each source of
papers, in int8, and kept in FOLDER. Needs SES_TEST_DATA and the extra eval.
Run: python -m benchmarks.formats FOLDER MODEL [ridge|svm]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks.formats.sets import Row, paper_sets, sources
from encoders.models.formats import Format
from eval.formats import compare_formats
from eval.statistics.interval import Interval, value_of
from eval.statistics.pairs import compare_values

FORMATS = (Format.PRX, Format.CLF, Format.RGN)
BLOCK = 256
"""Papers that are encoded together."""


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("Run: python -m benchmarks.formats FOLDER MODEL [ridge|svm]")
    folder, model, probe = [*sys.argv[1:], "ridge"][:3]
    papers = sources()
    made = {source: vectors_of(Path(folder), source, rows, model) for source, rows in papers.items()}
    # By format, whether its training saw the collection, and measure: the value of each set of the base and of it.
    values: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    own_formats = list(next(iter(made.values())))[1:]
    less = " | ".join(f"{name.upper()} less PRX" for name in own_formats)
    print(f"| papers | number | trained on others of the collection | measure | PRX | {less} |")
    print("| --- | ---: | --- | --- | ---: |" + " --- |" * len(own_formats))
    for one in paper_sets(papers):
        own = {name: matrix[one.rows] for name, matrix in made[one.source].items()}
        used = "ridge" if one.targets.kind == "number" else probe
        found = compare_formats(own, one.targets, probe=used)
        for measure, base in found.outcomes["prx"].cells.items():
            gains = {name: gain[measure] for name, gain in found.gains.items()}
            cells = " | ".join(map(shown, gains.values()))
            print(f"| {one.name} | {len(one.rows):,} | {one.seen} | {measure} | {value_of(base):.3f} | {cells} |")
            for name, gain in gains.items():
                seen = "seen" if name == one.seen else "new"
                values[name, seen, measure][one.name] = value_of(base), value_of(base) + gain.mean
        for name, outcome in found.outcomes.items():
            print(one.name, name, outcome.counts, *outcome.notes.values(), file=sys.stderr, flush=True)
    print("\n| format | collections | measure | sets | mean less that of PRX |")
    print("| --- | --- | --- | ---: | --- |")
    for (name, seen, measure), of in values.items():
        if len(of) > 1:
            of_base, of_own = ({key: both[at] for key, both in of.items()} for at in (0, 1))
            (pair,) = compare_values({"prx": {measure: of_base}, name: {measure: of_own}})
            print(f"| {name} | {seen} | {measure} | {len(of)} | {shown(pair.difference)} |")


def vectors_of(folder: Path, source: str, rows: list[Row], model: str) -> dict[str, np.ndarray]:
    """Return vectors by format, the base first, made now or before; those of all formats in one pass."""
    file = folder / f"{Path(model).name}-{source}.safetensors"
    if not file.exists():
        import ses

        folder.mkdir(parents=True, exist_ok=True)
        loaded = ses.load_model(model, precision="int8")
        texts = [loaded.card.text(row["title"], row["abstract"]) for row in rows]
        blocks = [texts[start : start + BLOCK] for start in range(0, len(texts), BLOCK)]
        formats = loaded.card.distinct(FORMATS)
        parts = [loaded.encoder.encode_formats(block, formats) for block in blocks]
        save_file({name.value: np.concatenate([part[name] for part in parts]) for name in formats}, file)
    kept: dict[str, np.ndarray] = load_file(file)
    return {name.value: kept[name.value] for name in FORMATS if name.value in kept}


def shown(gain: Interval) -> str:
    """Return a difference with its interval, in bold where it does not hold 0."""
    text = f"{gain.mean:+.3f} \\[{gain.low:+.3f}, {gain.high:+.3f}\\]"
    return f"**{text}**" if gain.low > 0 or gain.high < 0 else text


if __name__ == "__main__":
    main()
