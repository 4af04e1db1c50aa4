import gzip
import lzma
import os
import sys

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.opening import as_text, find_compressed, open_binary


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


def test_finds_a_file_under_any_packing(tmp_path):
    assert find_compressed(tmp_path, "metadata.csv") is None
    (tmp_path / "metadata.csv.xz").touch()
    assert find_compressed(tmp_path, "metadata.csv") == tmp_path / "metadata.csv.xz"
