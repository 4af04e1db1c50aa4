"""How long work reports its progress."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """Receives the progress of a run; `ses.terminal.progress` has the implementation that prints it."""

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage of so many papers, if the number is known."""

    def advance(self, papers: float, rejected: int = 0, *, block: float = 0.0, cost: float = 1.0) -> None:
        """Advance by so many papers, after each batch; threads may call it. A paper may be encoded in several parts.

        Args:
            papers: Number of papers that are done.
            rejected: Number of records that can't be papers.
            block: At the beginning of a block of papers to encode: its papers, `papers` of which the cache holds.
            cost: What encoding a paper of this block costs, relative to the mean of the stage.
        """


class Silent:
    """A `Progress` that reports nothing."""

    def stage(self, name: str, total: int | None) -> None:
        """Ignore it."""

    def advance(self, papers: float, rejected: int = 0, *, block: float = 0.0, cost: float = 1.0) -> None:
        """Ignore it."""
