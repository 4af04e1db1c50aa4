"""What an open library and an open index do whatever they are of: an engine, or a service over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from corpora.errors import NotFoundError, SesError
from corpora.paper import Paper
from search_plugin.pages.hit import Hit
from ses.argument_validation import checked_methods


class SearchableLibrary:
    """Indexes by name."""

    @property
    def _address(self) -> str:
        """URL of the engine or of the service."""
        raise NotImplementedError

    def indexes(self) -> list[str]:
        """Return the names of the indexes, the most recently published first."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the library."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self.indexes())

    def __len__(self) -> int:
        return len(self.indexes())

    def _ipython_key_completions_(self) -> list[str]:
        return self.indexes()

    def __repr__(self) -> str:
        try:
            held = ", ".join(self.indexes()) or "no indexes yet"
        except SesError as error:  # a debugger shows it too
            held = str(error)
        return f"<library {self._address}: {held}>"


@checked_methods
class SearchableIndex:
    """Papers by name."""

    @property
    def name(self) -> str:
        """Name of the index."""
        raise NotImplementedError

    def find(self, name: str) -> list[Paper]:
        """Return the papers that an identifier names, or raise `NotFoundError`."""
        raise NotImplementedError

    def show(self, name: str) -> Paper:
        """Return a paper by its id or another identifier (`find`), or raise `NotFoundError`."""
        return self.find(name)[0]

    def _held(self, paper_id: str) -> Paper | None:
        raise NotImplementedError

    def _id_of(self, paper: str | Paper | Hit) -> str:
        """Return what names a paper; `NotFoundError` if the index holds another paper under its id."""
        if isinstance(paper, str):
            return paper
        paper = paper.paper if isinstance(paper, Hit) else paper
        held = self._held(paper.id)
        if held is None or held.title != paper.title:
            there = "has no paper" if held is None else "has another paper with the id"
            raise NotFoundError(f"The index {self.name} {there} {paper.id!r}", "find papers like its text instead")
        return paper.id

    def __getitem__(self, name: str) -> Paper:
        return self.find(name)[0]

    def __contains__(self, paper: str | Paper | Hit) -> bool:
        try:
            return bool(self.find(self._id_of(paper)))
        except NotFoundError:
            return False
