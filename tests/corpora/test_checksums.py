import hashlib

import pytest

from corpora.checksums import data_hash, sha256_of
from corpora.errors import InputError


def test_a_folders_hash_is_that_of_its_names_and_contents(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_bytes(b"x")
    (tmp_path / "a").write_bytes(b"y")
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in {"a": b"y", "b/c": b"x"}.items()}
    assert data_hash(tmp_path / "a") == sha256_of(tmp_path / "a") == digests["a"]
    listed = "".join(f"{name}\0{digest}\n" for name, digest in digests.items())
    assert data_hash(tmp_path) == hashlib.sha256(listed.encode()).hexdigest()
    with pytest.raises(InputError, match="none can't be read: No such file"):
        data_hash(tmp_path / "none")
