import gzip
import io
import lzma
import os
import sys

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.opening import LONGEST_RECORD, Line, as_text, bounded_lines, check_encoding, find_compressed, open_binary


def pack_zstd(data):
    return zstd.compress(data)


PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": pack_zstd}
TEXT = "".join(f"line {n} é\n" for n in range(30_000)).encode()


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("members", [1, 2])
def test_reads_every_packing_and_concatenated_members(tmp_path, suffix, members):
    path = tmp_path / f"papers.txt{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT) * members)
    with open_binary(path) as stream:
        assert stream.peek()[:4] == b"line"
        assert stream.read() == TEXT * members


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_content_decides_not_the_name(tmp_path, suffix):
    plain, packed = tmp_path / f"plain{suffix}", tmp_path / "packed.txt"
    plain.write_bytes(TEXT)
    packed.write_bytes(PACKERS[suffix](TEXT))
    for path in (plain, packed):
        with open_binary(path) as stream:
            assert stream.read() == TEXT


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_cut_off_file_gives_what_it_holds_then_an_error(tmp_path, suffix):
    data = os.urandom(800_000).hex().encode()
    path = tmp_path / f"cut{suffix}"
    whole = PACKERS[suffix](data)
    path.write_bytes(whole[: len(whole) * 2 // 3])
    chunks = []
    with open_binary(path) as stream, pytest.raises(InputError, match="cut off or damaged: fetch it again"):
        chunks.extend(iter(lambda: stream.read1(1 << 16), b""))
    got = b"".join(chunks)
    assert len(got) > len(data) // 3
    assert data.startswith(got)


@given(text=st.binary(min_size=1, max_size=200), cut=st.integers(1, 40), suffix=st.sampled_from([".gz", ".xz", ".zst"]))
def test_no_cut_passes_for_the_whole(tmp_path_factory, text, cut, suffix):
    path = tmp_path_factory.mktemp("cut") / f"file{suffix}"
    data = b"a readable line\n" * 30 + text.hex().encode()
    packed = PACKERS[suffix](data)
    path.write_bytes(packed[: max(len(packed) - cut, 7)])
    with pytest.raises(InputError), open_binary(path) as stream:
        stream.read()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"PK\x03\x04" + bytes(50), "is a zip archive: unpack it"),
        (lzma.compress(b"name".ljust(257, b"\0") + b"ustar" + bytes(300)), "is a tar archive: unpack it"),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml" + bytes(50), "is a spreadsheet; use corpus=xlsx, or save"),
        (b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml" + bytes(50), "is a spreadsheet"),
        (b"PK\x03\x04" + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "is a spreadsheet"),
        (b"PK\x03\x04" + b"mimetypeapplication/vnd.oasis.opendocument.text", "is a zip archive"),
        (b"7z\xbc\xaf" + bytes(50), "is a 7z archive: unpack it"),
        (b"BZh9" + bytes(50), "is bzip2: unpack it"),
        (b"Rar!" + bytes(50), "is a rar archive: unpack it"),
        (b"\xd0\xcf\x11\xe0" + bytes(50), "is a spreadsheet"),
        (bytes(range(256)) * 20, "is a binary file"),
    ],
)
def test_refuses_what_is_no_text(tmp_path, content, says):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says):
        open_binary(path)


def test_refuses_paths_that_cannot_be_read(tmp_path):
    for path, says in [
        (tmp_path / "none", "There is no file"),
        (tmp_path, "is a folder"),
        (tmp_path / "a\0b", "opened"),
    ]:
        with pytest.raises(InputError, match=says):
            open_binary(path)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_names_a_missing_permission(tmp_path):
    path = tmp_path / "secret"
    path.write_text("a")
    path.chmod(0)
    with pytest.raises(InputError, match="give yourself permission"):
        open_binary(path)


def test_a_few_odd_bytes_do_not_make_a_file_binary(tmp_path):
    path = tmp_path / "odd"
    path.write_bytes(b"\xef\xbb\xbfid,title\n1,a\0b\n2,caf\xe9\n")
    with open_binary(path) as binary, as_text(binary) as text:
        assert text.read() == "id,title\n1,a\0b\n2,caf\udce9\n"


@pytest.mark.parametrize(
    ("text", "odd", "most"),
    [("a" * 50, b"\x01", 3), ("a" * 50, b" \xe9", 3), ("a" * 95, b"\xe9 ", 5), ("a" * 950, b"\xe9 ", 52)],
)
def test_how_many_bytes_may_be_unreadable(tmp_path, text, odd, most):
    path = tmp_path / "odd"
    for count in (most, most + 1):
        for content in (odd * count + text.encode(), text.encode() + odd * count + b"."):
            path.write_bytes(content)
            if count == most:
                open_binary(path).close()
            else:
                with pytest.raises(InputError, match=r"is a binary file|is text, but not UTF-8"):
                    open_binary(path)
    path.write_bytes(b"\t\n\v\f\r\x1a\x1b" * 100 + b"caf\xc3")
    open_binary(path).close()


def test_finds_a_file_under_any_packing(tmp_path):
    assert find_compressed(tmp_path, "metadata.csv") is None
    (tmp_path / "metadata.csv.xz").touch()
    assert find_compressed(tmp_path, "metadata.csv") == tmp_path / "metadata.csv.xz"


FRENCH = "id,title\n1,Les patients âgés traités à l'hôpital: une détérioration « rapide »\n"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8", "UTF-8-sig", "mac-roman"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_named_encoding_is_read_as_utf8(tmp_path, encoding, pack):
    path = tmp_path / "papers.csv"
    path.write_bytes(pack((FRENCH * 2000).encode(encoding)))
    with open_binary(path, encoding) as stream:
        assert stream.read().decode("utf-8-sig") == FRENCH * 2000


@pytest.mark.slow
@given(text=st.text(min_size=1, max_size=300), encoding=st.sampled_from(["gb18030", "utf-16", "utf-32", "utf-7"]))
def test_recoding_gives_the_text_back(tmp_path_factory, text, encoding):
    path = tmp_path_factory.mktemp("recoded") / "file"
    readable = "a readable line\n" * 200 + "".join(char for char in text if char >= " ")
    path.write_bytes(readable.encode(encoding))
    with open_binary(path, encoding) as stream:
        assert stream.read().decode("utf-8-sig") == readable.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("content", "encoding", "says"),
    [
        (
            ("été " * 500).encode("latin-1"),
            "",
            "is text, but not UTF-8; save it .* or name its encoding.*encoding=cp1252",
        ),
        (b"\xfe\xff" + "id,title\n1,a\n".encode("utf-16-be"), "", "is UTF-16 text"),
        (("Исследование. " * 100).encode("cp1251"), "", "is text, but not UTF-8"),
        ("id,title\n1,a\n".encode("utf-16"), "", "is UTF-16 text; save it as UTF-8, or give encoding=utf-16"),
        (bytes(range(256)) * 20, "", "is a binary file"),
        (bytes(range(256)) * 20, "latin-1", "is a binary file"),
        (("été " * 500).encode("latin-1"), "ascii", "isn't text in the encoding ascii; give another encoding"),
        (b"abc" * 100 + b"\x00\xd8a\x00" * 10, "utf-32", "isn't text in that encoding"),
    ],
)
def test_text_in_another_encoding_is_told_from_binary(tmp_path, content, encoding, says):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says), open_binary(path, encoding) as stream:
        stream.read()


@pytest.mark.parametrize("name", ["klingon", "zip", "base64", "rot13", "hex", "a\0b", "x" * 5000])
def test_what_is_no_encoding_of_texts_is_refused(name):
    with pytest.raises(InputError, match=r"no encoding .*; give encoding as Python names it, such as cp1252"):
        check_encoding(name)


def test_bytes_that_the_encoding_lacks_stay_unreadable_and_the_rest_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes("id,title\n1,café\n2,".encode("cp1252") + b"\x81\n3,b\n")
    with open_binary(path, "cp1252") as stream:
        assert stream.read() == "id,title\n1,café\n2,".encode() + b"\x81\n3,b\n"


def test_text_has_its_line_ends_and_no_mark_of_byte_order():
    raw = "\ufeffa\r\nb\rc\n\ufeffd".encode() + b"\xff"
    assert as_text(io.BufferedReader(io.BytesIO(raw))).read() == "a\r\nb\rc\n\ufeffd\udcff"


def test_lines_are_numbered_and_those_that_are_too_long_rejected(monkeypatch):
    monkeypatch.setattr("corpora.opening.LONGEST_RECORD", 6)
    raw = b"\xef\xbb\xbf a\n\n \t\nabcde\nabcdef\n" + b"x" * 20 + b"\nb \r\nabcdef"

    def read(**options):
        lines = bounded_lines(io.BufferedReader(io.BytesIO(raw)), **options)
        return [(line.number, line.raw) if isinstance(line, Line) else line.line for line in lines]

    assert read() == [(1, b"a"), (4, b"abcde"), 5, 6, (7, b"b"), 8]
    assert read(stripped=False) == [(1, b" a\n"), (4, b"abcde\n"), 5, 6, (7, b"b \r\n"), 8]


def test_the_limit_of_a_line_is_told():
    raw = b"x" * LONGEST_RECORD + b"\n"
    (rejected,) = bounded_lines(io.BufferedReader(io.BytesIO(raw)))
    assert (rejected.line, rejected.reason) == (1, "The line is longer than 16 MiB.")
    (line,) = bounded_lines(io.BufferedReader(io.BytesIO(raw[1:])))
    assert len(line.raw) == LONGEST_RECORD - 1
