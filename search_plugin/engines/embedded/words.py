"""The word index: tantivy, whose commits decide what a generation holds.

Its files are checked before tantivy reads them, since it trusts what they say. Each ends with its checksum. Beside the
folder is a note of the files of the last commit, with their lengths and checksums: so a file that was put in the place
of another, and an older commit that was put back, are found. The note is written after the commit. If a process is
killed between the two, or an earlier version of ses has written, the note is older than the commit, and not compared.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from corpora.checksums import sealed, unsealed
from corpora.lazy import tantivy
from corpora.paper import Paper
from corpora.writing import replacing, sync
from search_plugin.contract.schema import IndexSchema
from search_plugin.engines.embedded.columns import Kinds, held_values, kinds_of, to_json
from search_plugin.engines.embedded.errors import MISREAD, reads_stored
from search_plugin.engines.embedded.files import cheap, checksum, opened, read_small
from search_plugin.engines.embedded.generations import is_of_another, mark_of
from search_plugin.words.languages import get_language

META = "meta.json"
_KINDS = ("store", "term", "idx", "pos", "fieldnorm", "fast")
_MAGIC = (1337).to_bytes(4, "little")
_FOOTER = 4_096
"""Bytes at the end of a file of tantivy's that hold its footer."""

Commit = Mapping[str, Any]
"""What `meta.json` says: the segments of the last commit, and its opstamp."""

T = TypeVar("T")


def last(folder: Path, use: Callable[[Commit], T]) -> tuple[T, int]:
    """Return what a function makes of the last commit, and its opstamp; it is called again if a writer was quicker."""
    while True:
        commit = newest(folder)
        try:
            made = use(commit)
        except (OSError, ValueError):
            if commit == newest(folder):
                raise
        else:
            if commit == newest(folder):
                return made, _opstamp(commit)


@reads_stored
def _opstamp(commit: Commit) -> int:
    return int(commit["opstamp"])


@reads_stored
def check(folder: Path, commit: Commit, sound: set[str]) -> int | None:
    """Raise if files of a commit are missing or, as far as it is cheap to find out, damaged; note the sound ones.

    Returns the opstamp of the commit whose files are noted, None if there is no note.
    """
    check_regular(folder)
    noted = _noted(folder)
    if noted and (noted.opstamp > _opstamp(commit) or is_of_another(folder.parent, noted.mark)):
        raise ValueError(f"{META} is not of the last commit")
    states = {name: _state(folder / name) for name in files(commit) if name not in sound}
    if noted and noted.opstamp == _opstamp(commit):
        for name, state in states.items():
            if noted.files.get(name) != state:
                raise ValueError(f"{name} was changed after it was written")
    # tantivy trusts the lengths in a store, and a wrong one aborts the whole process. Stores hold nothing, so they are
    # small.
    stores = [name for name in states if name.endswith(".store")]
    for name in {*stores, *cheap((name, size) for name, (size, _) in states.items())}:
        size, wanted = states[name]
        if checksum(folder / name, size) != wanted:
            raise ValueError(f"{name} was changed after it was written")
    sound.update(states)
    return noted.opstamp if noted else None


def check_regular(folder: Path) -> None:
    """Raise `ValueError` if something in a folder is no regular file: tantivy would wait for a pipe."""
    with os.scandir(folder) as entries:
        # What another process has deleted meanwhile is no file either.
        odd = [entry.name for entry in entries if not entry.is_file() and os.path.lexists(entry)]
    if odd:
        raise ValueError(f"{odd[0]} is not a regular file")


@dataclass(frozen=True, slots=True)
class Noted:
    """The files of a commit by name, each with its length and its checksum, and the mark of the generation."""

    opstamp: int
    files: Mapping[str, list[int]]
    mark: str


@reads_stored
def _noted(folder: Path) -> Noted | None:
    try:
        held = unsealed(read_small(note_of(folder)))
    except FileNotFoundError:
        return None
    return Noted(int(held["opstamp"]), held["files"], str(held["mark"]))


def note_of(folder: Path) -> Path:
    """Return the path of the note of a folder's last commit."""
    return folder.with_name(f"{folder.name}.json")


def note(folder: Path, *commits: Commit) -> None:
    """Note the files of the last commit; if several of the same opstamp are given, each of them may be the last."""
    content = {
        "opstamp": _opstamp(commits[0]),
        "files": {name: _state(folder / name) for commit in commits for name in files(commit)},
        "mark": mark_of(folder.parent),
    }
    with replacing(note_of(folder), locked=True) as part:
        part.write_bytes(sealed(content))


def links_to(folder: Path) -> Path:
    """Return a temporary folder of links to the files of another; it is removed when the process ends."""
    made = Path(tempfile.mkdtemp(prefix="ses-words-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    link(folder, made)
    return made


def link(folder: Path, links: Path) -> None:
    """Link to the files of a folder that have no link yet."""
    for path in folder.iterdir():
        if path.suffix != ".lock" and not (links / path.name).is_symlink():
            (links / path.name).symlink_to(path.resolve())


@reads_stored
def files(commit: Commit) -> list[str]:
    """Return the names of the files of a commit."""
    names = []
    for segment in commit["segments"]:
        name = segment["segment_id"].replace("-", "")
        deletes = segment["deletes"]
        kinds = [*_KINDS, *([f"{deletes['opstamp']}.del"] if deletes else [])]
        names += [f"{name}.{kind}" for kind in kinds]
    return names


def changed(path: Path) -> bool:
    """Return whether a file of tantivy's differs from what was written."""
    try:
        size, wanted = _state(path)
    except ValueError:
        return True
    return checksum(path, size) != wanted


def _state(path: Path) -> list[int]:
    """Return the length of a file of tantivy's before its footer, and the checksum that the footer says.

    The footer is JSON with the checksum of all before it, the length of the JSON, and a magic number, each of these two
    of 4 bytes (https://github.com/quickwit-oss/tantivy, src/directory/footer.rs). Raises `ValueError` if it is damaged.
    """
    with opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _FOOTER))
        end = file.read()
    length = int.from_bytes(end[-8:-4], "little")
    try:
        footer = orjson.loads(end[-8 - length : -8] if end[-4:] == _MAGIC else b"")
        return [size - 8 - length, int(footer["crc"])]
    except (*MISREAD, orjson.JSONDecodeError) as error:
        raise ValueError(f"{path.name} was changed after it was written") from error


def newest(folder: Path) -> Commit:
    """Read what the last commit is."""
    commit: Commit = orjson.loads(read_small(folder / META))
    return commit


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
        folder: Folder of the index.
        index: Index of tantivy.
        schema: Schema of tantivy.
        kinds: Kinds of the fields, by name.
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

    def searcher(self) -> tuple[Any, int, int | None]:
        """Return a searcher over the last commit, the commit's opstamp, and the one at which files were noted.

        Raises `ValueError` for damaged files.
        """

        def searcher(commit: Commit) -> tuple[Any, int | None]:
            noted = check(self.folder, commit, self.sound)
            if self.links:
                link(self.folder, self.links)
            self.index.reload()
            return self.index.searcher(), noted

        (found, noted), opstamp = last(self.folder, searcher)
        return found, opstamp, noted

    def damaged(self) -> list[str]:
        """Return the names of the last commit's files that differ from what was written; reads all of them."""
        return [name for name in files(newest(self.folder)) if changed(self.folder / name)]

    @contextmanager
    def committing(self, added: Iterable[tuple[int, Paper]], replaced: Iterable[str]) -> Iterator[None]:
        """Add papers by row, delete the older rows of the replaced ids, and commit at the end of the block.

        In the block, another thread indexes the papers. If the block fails, nothing is committed.
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
            commit = newest(self.folder)
            with suppress(OSError):  # such as a full disk: what was committed stays so
                note(self.folder, commit)
            self.sound.update(files(commit))
        finally:
            del writer  # or an error would keep tantivy's lock

    def collect(self) -> None:
        """Delete the files that the last commit does not need."""
        writer = self.index.writer(_MEMORY, 1)
        try:
            writer.garbage_collect_files()
        finally:
            del writer  # with tantivy's lock

    def _document(self, row: int, paper: Paper) -> Any:
        document = tantivy.Document()
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
    folder.mkdir()
    tantivy.Index(_schema(), str(folder))
    sync(folder)
    sync(folder.parent)


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("row", fast=True)
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_json_field("fields", fast=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


def open_words(folder: Path, schema: IndexSchema) -> Words:
    """Open a word index; the schema says how words are analysed.

    Raises `ValueError` if it is damaged; tantivy raises other errors for other damages.
    """
    language = get_language(schema.language)
    links = None if os.access(folder, os.W_OK) else links_to(folder)
    sound: set[str] = set()

    def index_of(commit: Commit) -> Any:
        check(folder, commit, sound)
        return tantivy.Index.open(str(links or folder))

    index, _ = last(folder, index_of)
    if index.schema != _schema():
        raise ValueError(f"{META} was changed after it was written")
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.remove_long(_LONGEST_WORD),
        tantivy.Filter.lowercase(),
        tantivy.Filter.ascii_fold(),
        tantivy.Filter.custom_stopword(sorted(language.stop_words)),
        *([tantivy.Filter.stemmer(language.stemmer)] if language.stemmer else []),
    ):
        builder = builder.filter(step)
    analyzer = builder.build()
    index.register_tokenizer("words", analyzer)
    index.config_reader("manual")
    prepare = _in_pairs if language.bigrams else str
    split = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).build().analyze
    return Words(folder, index, index.schema, kinds_of(schema), prepare, split, analyzer.analyze, sound, links)


def _in_pairs(text: str) -> str:
    """Return a text in which runs of Chinese, Japanese or Korean characters are split into overlapping bigrams."""

    def pairs(run: re.Match[str]) -> str:
        return " " + " ".join(run[0][at : at + 2] for at in range(max(1, len(run[0]) - 1))) + " "

    return _UNSPACED.sub(pairs, text)
