"""`ses eval average`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import rich_click as click

from corpora.options import Option
from ses.terminal.options import PATH, json_option, own_options
from ses.terminal.results import say


@click.command()
@click.argument("results", nargs=-1, required=True, type=PATH)
@own_options
@json_option
def average(
    *,
    results: tuple[Path, ...],
    baselines: Annotated[Sequence[Path], Option("Results to compare with", "FILE", flag="baseline")] = (),
    measures: Annotated[
        Sequence[str], Option("Only figures of this measure", "NAME", default_help="all", flag="measure")
    ] = (),
    as_json: bool,
) -> None:
    """Average the figures of RESULTS: files that `ses eval` commands wrote with --json.

    With --baseline, prints the change of the average in percent, as in SciMult's table 9. Both must have the same rows
    and measures.
    """
    from eval.averages import average as averaged
    from eval.averages import change, read_figures

    figures = read_figures(results, measures)
    found: dict[str, float] = {"figures": len(figures), "average": averaged(figures)}
    lines = [f"average of {len(figures)} figures: {found['average']:.4f}"]
    if baselines:
        baseline = read_figures(baselines, measures)
        found |= {"baseline": averaged(baseline), "change": change(figures, baseline)}
        lines.append(f"baseline: {found['baseline']:.4f}, change {found['change']:+.2%}")
    say(found, lines, as_json=as_json)
