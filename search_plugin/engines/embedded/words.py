"""The word index: tantivy, whose commits decide what a generation holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.writing import sync
from search_plugin.engines.embedded.fields import Kinds, held_values, kinds_of, to_json
from search_plugin.engines.embedded.word_files import META, Commit, changed, check, files, last, link, links_to, newest
from search_plugin.words.languages import get_language

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.contract.schema import IndexSchema

_MEMORY = 64 << 20
_LONGEST_WORD = 255
_APART = 8
"""Empty values between title and abstract. Each moves the abstract one position away, so that a phrase with up to as
many stop words does not stand partly in both. Scores don't depend on positions."""
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
"""Runs of kana, Han and Hangul."""


@dataclass(frozen=True, slots=True)
class Words:
    """An opened word index. If its folder can't be written, tantivy reads one of links, in which it can make its lock.

    Attributes:
        folder: Where it is.
        index: tantivy's.
        schema: tantivy's.
        kinds: Of the fields.
        prepare: Separates the words of a text.
        split: Returns the words of a prepared text, one for each position.
        analyze: Returns the indexed terms of a prepared text.
        sound: Files that need no further check.
        links: Links to the files, if tantivy reads those.
    """

    folder: Path
    index: Any
    schema: Any
    kinds: Kinds
    prepare: Callable[[str], str]
    split: Callable[[str], list[str]]
    analyze: Callable[[str], list[str]]
    sound: set[str]
    links: Path | None = None

    def searcher(self) -> tuple[Any, int]:
        """Return a searcher over the last commit, and the commit's opstamp; raises `ValueError` for damaged files."""

        def searcher(commit: Commit) -> Any:
            check(self.folder, commit, self.sound)
            if self.links:
                link(self.folder, self.links)
            self.index.reload()
            return self.index.searcher()

        return last(self.folder, searcher)

    def damaged(self) -> list[str]:
        """Return the names of the last commit's files that differ from what was written; reads all of them."""
        return [name for name in files(newest(self.folder)) if changed(self.folder / name)]

    @contextmanager
    def committing(self, added: Iterable[tuple[int, Paper]], replaced: Iterable[str]) -> Iterator[None]:
        """Add papers by row, delete the older rows of the replaced ids, and commit at the end of the block.

        Args:
            added: Rows and papers.
            replaced: Ids that the index holds an older row of.

        Yields:
            Once, while another thread indexes the papers. If the block fails, nothing is committed.
        """
        writer = self.index.writer(_MEMORY, 1)
        try:
            # A commit that was killed may have left files with the very names that this one will write.
            writer.garbage_collect_files()
            for id_ in replaced:
                writer.delete_documents_by_term("id", id_)
            for row, paper in added:
                writer.add_document(self._document(row, paper))
            yield
            writer.commit()
            writer.wait_merging_threads()
            self.sound.update(files(newest(self.folder)))
        finally:
            del writer  # or an error would keep tantivy's lock

    def _document(self, row: int, paper: Paper) -> Any:
        from tantivy import Document

        document = Document()
        document.add_text("id", paper.id)
        document.add_unsigned("row", row)
        title = self.prepare(paper.title)
        document.add_text("title", title)
        for part in (title, *[""] * _APART, self.prepare(paper.abstract)):
            document.add_text("text", part)
        document.add_json("fields", to_json(held_values(paper, self.kinds), self.kinds))
        return document


def create_words(folder: Path) -> None:
    """Make an empty word index."""
    from tantivy import Index

    folder.mkdir()
    Index(_schema(), str(folder))
    sync(folder)
    sync(folder.parent)


def _schema() -> Any:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_text_field("id", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("row", fast=True)
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_json_field("fields", fast=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


def open_words(folder: Path, schema: IndexSchema) -> Words:
    """Open a word index.

    Args:
        folder: Where it is.
        schema: Says how words are analysed.

    Returns:
        The index.

    Raises:
        ValueError: If it is damaged; tantivy raises other errors for other damages.
    """
    from tantivy import Filter, Index, TextAnalyzerBuilder, Tokenizer

    language = get_language(schema.language)
    links = None if os.access(folder, os.W_OK) else links_to(folder)
    sound: set[str] = set()

    def opened(commit: Commit) -> Any:
        check(folder, commit, sound)
        return Index.open(str(links or folder))

    index, _ = last(folder, opened)
    if index.schema != _schema():
        raise ValueError(f"{META} was changed after it was written")
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (
        Filter.remove_long(_LONGEST_WORD),
        Filter.lowercase(),
        Filter.ascii_fold(),
        Filter.custom_stopword(sorted(language.stop_words)),
        *([Filter.stemmer(language.stemmer)] if language.stemmer else []),
    ):
        builder = builder.filter(step)
    analyzer = builder.build()
    index.register_tokenizer("words", analyzer)
    index.config_reader("manual")
    prepare = _in_pairs if language.bigrams else str
    split = TextAnalyzerBuilder(Tokenizer.simple()).build().analyze
    return Words(folder, index, index.schema, kinds_of(schema), prepare, split, analyzer.analyze, sound, links)


def _in_pairs(text: str) -> str:
    """Return a text in which runs of Chinese, Japanese or Korean characters are split into overlapping bigrams."""

    def pairs(run: re.Match[str]) -> str:
        return " " + " ".join(run[0][at : at + 2] for at in range(max(1, len(run[0]) - 1))) + " "

    return _UNSPACED.sub(pairs, text)
