"""Measure the formats of ses-minilm against its base, by probes that spread alone can't win.

Vectors are made once for each source of papers, in fp32, and kept in FOLDER. Needs SES_TEST_DATA and the extra eval.
Run: python -m benchmarks.formats FOLDER [MODEL [PROBE]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.formats.sets import Row, paper_sets, sources
from encoders.models.formats import Format
from eval.formats import compare_formats
from eval.statistics.interval import Interval, value_of

FORMATS = (Format.PRX, Format.CLF, Format.RGN)


def main() -> None:
    folder = Path(sys.argv[1])
    model, probe = [*sys.argv[2:], "ses-minilm", "ridge"][:2] if len(sys.argv) < 4 else sys.argv[2:4]
    folder.mkdir(parents=True, exist_ok=True)
    papers = sources()
    values: dict[str, dict[str, dict[str, float]]] = {task_format.value: {} for task_format in FORMATS}
    for source, rows in papers.items():
        vectors_of(folder, source, rows, model)
        print(f"{source}: {len(rows):,} papers", file=sys.stderr, flush=True)
    print("| papers | number | seen | measure | PRX (base) | CLF less PRX | RGN less PRX |")
    print("| --- | ---: | --- | --- | ---: | --- | --- |")
    for one in paper_sets(papers):
        used = "ridge" if one.targets.kind == "number" else probe
        made = vectors_of(folder, one.source, papers[one.source], model)
        found = compare_formats({name: matrix[one.rows] for name, matrix in made.items()}, one.targets, probe=used)
        for measure, base in found.outcomes["prx"].cells.items():
            gains = " | ".join(shown(found.gains[name][measure]) for name in ("clf", "rgn"))
            print(
                f"| {one.name} | {len(one.rows):,} | {one.seen} | {measure} | {value_of(base):.3f} | {gains} |",
                flush=True,
            )
            for name, outcome in found.outcomes.items():
                own = "new" if one.seen == "" else "seen"
                values[name].setdefault(f"{measure} {own}", {})[one.name] = value_of(outcome.cells[measure])
        for name, outcome in found.outcomes.items():
            print(one.name, name, dict(outcome.counts), dict(outcome.notes), file=sys.stderr, flush=True)


def vectors_of(folder: Path, source: str, rows: list[Row], model: str) -> dict[str, np.ndarray]:
    """Return vectors by format, made now or before."""
    file = folder / f"{model}-{source}.npz"
    if not file.exists():
        import ses

        loaded = ses.load_model(model, precision="fp32")
        texts = [loaded.card.text(row["title"], row["abstract"]) for row in rows]
        parts = [loaded.encoder.encode_formats(texts[at : at + 256], FORMATS) for at in range(0, len(texts), 256)]
        np.savez(file, **{name.value: np.concatenate([part[name] for part in parts]) for name in FORMATS})
    with np.load(file) as kept:
        return {name.value: kept[name.value] for name in FORMATS}


def shown(gain: Interval) -> str:
    text = f"{gain.mean:+.3f} \\[{gain.low:+.3f}, {gain.high:+.3f}\\]"
    return f"**{text}**" if gain.low > 0 or gain.high < 0 else text


if __name__ == "__main__":
    main()
