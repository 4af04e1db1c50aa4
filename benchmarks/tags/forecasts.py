"""Forecasters: whether their intervals hold, and how far off they are."""

from __future__ import annotations

import numpy as np

from benchmarks.tags.papers import rows_of, vectors
from encoders.registry import DEFAULT_MODEL
from eval.frozen import read_frozen, title_key
from products.forecasts.training import CitedPaper, ForecastOptions, ranked_papers, train_forecaster

SEEDS = range(5)


def forecasts(model: str = DEFAULT_MODEL) -> None:
    """Measure coverage of 90 % intervals on the frozen conference papers, by a model's RGN vectors."""
    frozen = read_frozen().titles
    kept = {
        row["id"]: row
        for row in rows_of("conf")
        if (row["citations"] or 0) >= 0 and row["abstract"] and row["year"] and title_key(row["title"]) in frozen
    }
    cited = [
        CitedPaper(id_, float(row["citations"] or 0), (row["venue"], int(row["year"]))) for id_, row in kept.items()
    ]
    ranked = ranked_papers(cited, 20)
    years = [int(kept[id_]["year"]) for id_ in ranked.ids]
    print(f"{len(ranked.ids):,} papers in {ranked.groups} groups; {len(SEEDS)} splits: mean, lowest and highest")
    print("| model | coverage of 90 % intervals | width | error | error of 50 for all | Spearman |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    source, matrix = vectors(model, "rgn", [kept[id_] for id_ in ranked.ids])
    measured = [
        train_forecaster("f", source, matrix, ranked.percentiles, years, ForecastOptions(seed=seed)).measures
        for seed in SEEDS
    ]
    coverage = [one.coverage for one in measured if one]
    means = [
        np.mean([getattr(one, part) for one in measured]) for part in ("width", "error", "blind_error", "correlation")
    ]
    cells = [f"{np.mean(coverage):.3f} ({min(coverage):.3f} to {max(coverage):.3f})"]
    cells += [*(f"{one:.1f}" for one in means[:3]), f"{means[3]:.3f}"]
    print(f"| {model} | {' | '.join(cells)} |", flush=True)
