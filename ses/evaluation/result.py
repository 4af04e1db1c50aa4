"""What an evaluation found: a table with intervals, tests between its systems, the values of all queries, its runs."""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError, require
from corpora.installed import needing
from eval.files.text import write_lines
from eval.reports.plots import bars, standalone
from eval.reports.report import Provenance, counted, gather_provenance, print_table
from eval.reports.results import Results, differences_table, results_report
from eval.statistics.interval import Interval, Values
from eval.statistics.pairs import Pair, compare_values
from eval.trec.runs import Run
from ses.argument_validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

    from eval.reports.report import TextTable


def python_provenance(**known: Any) -> Provenance:
    """Gather how the results of a Python program were made."""
    return gather_provenance(command=("python", *sys.argv), **known)


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What measuring one or more systems on the same judged queries found; printed as a table.

    Attributes:
        results: Measures of each system with intervals, the value of each query, and counts.
        runs: Ranked ids of each query, by system.
        texts: Queries by id, as far as known.
        left_out: Number of queries and documents that were left out or counted as 0, by reason.
        facts: Data, index and model that were measured.
        provenance: Gathers what a report says about how the results were made; it reads the data again.

    Example:
        >>> import ses
        >>> print(ses.measure({"q1": ["a"], "q2": ["x"]}, {"q1": {"a": 1}, "q2": {"b": 1}}, ["P@1", "AP"]))
        system  P@1                   AP
        run     0.500 [0.012, 0.987]  0.500 [0.012, 0.987]
        [low, high]: 95% confidence interval over queries
        run: 2 queries
    """

    results: Results
    runs: Mapping[str, Run]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    provenance: Callable[[], Provenance] = field(default_factory=lambda: python_provenance)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, in order."""
        return tuple(self.results.outcomes)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in order."""
        return self.results.columns

    @property
    def per_query(self) -> dict[str, Values]:
        """By system and measure, the value of each query."""
        return {system: outcome.per_unit for system, outcome in self.results.outcomes.items()}

    @functools.cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every system against each one before it, by every measure; none with a single system or query.

        The p-values are those of the paired randomization test and of the paired bootstrap test, also corrected by
        Holm over all pairs and measures.
        """
        values = self.per_query
        queries = min((len(of) for one in values.values() for of in one.values()), default=0)
        return compare_values(values) if len(values) > 1 and queries > 1 else ()

    def mean(self, measure: str, system: str = "") -> float:
        """Return the mean of a measure over all judged queries.

        Args:
            measure: Name of the measure, as in `measures`.
            system: Name of the system; it can be left out if there is only one.

        Returns:
            The mean.

        Raises:
            InputError: If there is no such measure or system, or there are several systems and none is named.
        """
        return self._interval(measure, self._system(system)).mean

    def interval(self, measure: str, system: str = "") -> tuple[float, float]:
        """Return the limits of the 95 % confidence interval of a mean; arguments and errors as of `mean`."""
        found = self._interval(measure, self._system(system))
        return found.low, found.high

    def to_dataframe(self, rows: Literal["systems", "queries", "pairs"] = "systems") -> pd.DataFrame:
        """Return the results as a table of pandas.

        Args:
            rows: A row for each system and measure (`system`, `measure`, `mean`, `low`, `high`); for each system, query
                and measure (`system`, `query_id`, `measure`, `value`); or for each pair of systems by each measure,
                with both tests.

        Returns:
            The table.

        Raises:
            UnavailableError: If pandas isn't installed.
        """
        with needing("A table needs pandas, which is not installed", "pandas"):
            import pandas as pd
        if rows == "pairs":
            flat = [one.as_dict() for one in self.pairs]
            return pd.DataFrame([{**one, **_limits(one.pop("difference"), "difference")} for one in flat])
        if rows == "queries":
            columns = ["system", "query_id", "measure", "value"]
            values = [
                (system, query, measure, value)
                for system, one in self.per_query.items()
                for measure, of in one.items()
                for query, value in of.items()
            ]
            return pd.DataFrame(values, columns=columns)
        means = [(s, m, self._interval(m, s)) for s in self.systems for m in self.measures]
        return pd.DataFrame(
            [(s, m, one.mean, one.low, one.high) for s, m, one in means],
            columns=["system", "measure", "mean", "low", "high"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table in full precision as plain values, ready for JSON."""
        return {**self.facts, "left_out": dict(self.left_out), **self.results.as_dict()}

    def write_run(self, path: Path, system: str = "") -> None:
        """Write a system's ranked ids as a TREC run file.

        Args:
            path: The file; an older one is replaced.
            system: Name of the system; it can be left out if there is only one.

        Raises:
            InputError: If there is no such system, or an id holds a blank.
            UnavailableError: If the file can't be written.
        """
        from eval.trec.runs import write_run

        write_run(self.runs[self._system(system)], path)

    def write_report(self, path: Path, title: str = "Evaluation", seconds: Mapping[str, float] | None = None) -> None:
        """Write a report: tables, tests, plots, the values of all queries, and how they were made.

        Args:
            path: The file; its ending is the form: .md, .html (with plots), .tex or .json.
            title: Heading of the report.
            seconds: Time of a search by system, to plot quality against speed.

        Raises:
            InputError: If the ending is none of these, or the folder is not there.
            UnavailableError: If it can't be written, or matplotlib is needed and isn't installed.
        """
        from eval.reports.forms import check_report, write_report

        check_report(path)
        report = results_report(title, self.results, self.provenance(), pairs=self.pairs, seconds=seconds)
        write_report(report, path)

    def plot(self, path: Path, measures: str | Sequence[str] = ()) -> None:
        """Draw the means of all systems as bars with their intervals.

        Args:
            path: An .svg file; an older one is replaced.
            measures: Names of the measures to draw; all if none is named.

        Raises:
            InputError: If the file's name has another ending, or there is no such measure.
            UnavailableError: If matplotlib isn't installed, or the file can't be written.
        """
        require(path.suffix.lower() == ".svg", f"The plot {path} can't be written", "give <path> as a file.svg")
        wanted = (measures,) if isinstance(measures, str) else measures or self.measures
        groups = {measure: {system: self._interval(measure, system) for system in self.systems} for measure in wanted}
        write_lines(path, standalone(bars(groups)).rstrip("\n").split("\n"))

    def tables(self) -> tuple[TextTable, ...]:
        """Return what is printed: the means, and the differences of pairs."""
        differences = [differences_table(self.pairs, self.results.level)] if self.pairs else []
        return (self.results.table(), *differences)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=(text := io.StringIO()), width=1_000)
        first, *others = self.tables()
        print_table(first, console)
        text.writelines(f"{counted(count, what)}\n" for what, count in self.left_out.items() if count)
        for table in others:
            text.write("\n")
            print_table(table, console)
        return text.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return str(self)  # so that a notebook shows the tables

    def _system(self, name: str) -> str:
        if name in self.systems or (not name and len(self.systems) == 1):
            return name or self.systems[0]
        what = f"There is no system {name!r}" if name else "There are several systems"
        raise InputError(what, f"name one of {', '.join(self.systems)}")

    def _interval(self, measure: str, system: str) -> Interval:
        cells = self.results.outcomes[system].cells
        require(measure in cells, f"There is no measure {measure!r}; the measures are: {', '.join(cells)}.")
        cell = cells[measure]
        return cell if isinstance(cell, Interval) else Interval(cell, cell, cell)


def _limits(interval: Mapping[str, float], name: str) -> dict[str, float]:
    return {name: interval["mean"], f"{name}_low": interval["low"], f"{name}_high": interval["high"]}
