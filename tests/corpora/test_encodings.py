import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.opening import check_encoding, open_binary

FRENCH = "id,title\n1,Les patients âgés traités à l'hôpital: une détérioration « rapide »\n"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8", "UTF-8-sig", "mac-roman"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_named_encoding_is_read_as_utf8(tmp_path, encoding, pack):
    path = tmp_path / "papers.csv"
    path.write_bytes(pack((FRENCH * 2000).encode(encoding)))
    with open_binary(path, encoding) as stream:
        assert stream.read().decode("utf-8-sig") == FRENCH * 2000


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
