"""The word index: tantivy, whose commits decide what a generation holds."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from corpora.writing import sync
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.fields import Kinds, held_values, kinds_of, to_json
from search_plugin.languages import get_language

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.schema import IndexSchema

META = "meta.json"
_MEMORY = 64 << 20
_LONGEST_WORD = 255
_APART = 8
"""Empty values between title and abstract. Each moves the abstract one position away, so that a phrase with up to as
many stop words does not stand partly in both. Scores don't depend on positions."""
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
"""Runs of kana, Han and Hangul."""


@dataclass(frozen=True, slots=True)
class Words:
    """An opened word index.

    Attributes:
        folder: Where it is.
        index: tantivy's.
        schema: tantivy's.
        kinds: Of the fields.
        prepare: Separates the words of a text.
        split: Returns the words of a prepared text, one for each position.
        analyze: Returns the indexed terms of a prepared text.
    """

    folder: Path
    index: Any
    schema: Any
    kinds: Kinds
    prepare: Callable[[str], str]
    split: Callable[[str], list[str]]
    analyze: Callable[[str], list[str]]

    def searcher(self) -> tuple[Any, int]:
        """Return a searcher over the last commit, and the commit's opstamp."""
        before = -1
        while before != (opstamp := _opstamp(self.folder)):
            before = opstamp
            self.index.reload()
            searcher = self.index.searcher()
        return searcher, opstamp

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
    from tantivy import Index, SchemaBuilder

    folder.mkdir()
    builder = SchemaBuilder()
    builder.add_text_field("id", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("row", fast=True)
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_json_field("fields", fast=True, tokenizer_name="raw", index_option="basic")
    Index(builder.build(), str(folder))
    sync(folder)
    sync(folder.parent)


def open_words(folder: Path, schema: IndexSchema) -> Words:
    """Open a word index.

    Args:
        folder: Where it is.
        schema: Says how words are analysed.

    Returns:
        The index.

    Raises:
        ValueError: If a store is damaged; tantivy raises other errors for other files.
    """
    from tantivy import Filter, Index, TextAnalyzerBuilder, Tokenizer

    language = get_language(schema.language)
    _check_stores(folder)
    index = Index.open(str(folder))
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
    return Words(folder, index, index.schema, kinds_of(schema), prepare, split, analyzer.analyze)


def _in_pairs(text: str) -> str:
    """Return a text in which runs of Chinese, Japanese or Korean characters are split into overlapping bigrams."""

    def pairs(run: re.Match[str]) -> str:
        return " " + " ".join(run[0][at : at + 2] for at in range(max(1, len(run[0]) - 1))) + " "

    return _UNSPACED.sub(pairs, text)


@reads_stored
def _check_stores(folder: Path) -> None:
    """Raise `ValueError` if the store of a segment is damaged.

    tantivy trusts the lengths in a store, and a wrong one aborts the whole process. All its files end with a footer of
    JSON with the checksum, the footer's length, and a magic number, of 4 bytes each. Stores are small, because no field
    is stored in them.
    """
    for segment in _meta(folder)["segments"]:
        with suppress(FileNotFoundError):  # merged into another by a writer, since the list was read
            content = (folder / f"{segment['segment_id'].replace('-', '')}.store").read_bytes()
            body, size = content[:-8], int.from_bytes(content[-8:-4], "little")
            if zlib.crc32(body[:-size]) != orjson.loads(body[-size:])["crc"]:
                raise ValueError("the checksum of a store is wrong")


@reads_stored
def _opstamp(folder: Path) -> int:
    return int(_meta(folder)["opstamp"])


def _meta(folder: Path) -> dict[str, Any]:
    meta: dict[str, Any] = orjson.loads((folder / META).read_bytes())
    return meta
