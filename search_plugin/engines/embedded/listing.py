"""The papers that match a filter, in an order, in one snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.contract.legs import Listing
from search_plugin.contract.ordering import TITLE

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.contract.ordering import Sort
    from search_plugin.contract.tree import Filter
    from search_plugin.engines.embedded.snapshot import Snapshot


def listing(snapshot: Snapshot, where: Filter | None, order: Sort, size: int) -> Listing:
    """Return the first papers of those that match a filter.

    Args:
        snapshot: Of the index.
        where: The filter; None for all papers.
        order: The order; papers without a value come last, ties are ordered by id.
        size: Papers to return.

    Returns:
        Their ids, and how many papers match.
    """
    import numpy as np

    rows = np.flatnonzero(snapshot.passing(where))
    matches = len(rows)
    values = _title_ranks(snapshot, rows) if order.field == TITLE else snapshot.numbers(order.field)[rows]
    values = np.where(np.isnan(values), np.inf, -values if order.descending else values)
    if 0 < size < matches:
        # Ids are read only of the papers that can be among the first.
        kept = values <= np.partition(values, size - 1)[size - 1]
        rows, values = rows[kept], values[kept]
    pairs = zip(values.tolist(), (snapshot.id_of(row) for row in rows.tolist()), strict=True) if size else ()
    return Listing([id_ for _, id_ in sorted(pairs)[:size]], matches)


def _title_ranks(snapshot: Snapshot, rows: np.ndarray) -> np.ndarray:
    """Return the place of each title among all different ones, float64 (rows,); NaN where there is none."""
    import numpy as np

    keys = snapshot.title_keys(rows.tolist())
    ranks = {key: float(rank) for rank, key in enumerate(sorted(set(keys)))} | {b"": np.nan}
    return np.array([ranks[key] for key in keys], np.float64)
