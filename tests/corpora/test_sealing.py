import json
import zlib

import pytest

from corpora.checksums import sealed, unsealed


def test_what_was_sealed_is_given_back_and_what_was_changed_is_refused():
    content = {"a": 1, "b": ["é"]}
    checksum = zlib.crc32(json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode())
    assert json.loads(sealed(content)) == {**content, "checksum": checksum}
    assert b"\n  " in sealed(content, indented=True)
    for optional in (False, True):
        assert unsealed(sealed(content), optional=optional) == unsealed(sealed(content, indented=True)) == content
        with pytest.raises(ValueError, match="its checksum is wrong"):
            unsealed(sealed(content).replace(b"1", b"2", 1), optional=optional)
        with pytest.raises(ValueError, match="it holds no object"):
            unsealed(b"[1]", optional=optional)
    assert unsealed(b'{"a":1}', optional=True) == {"a": 1}
    with pytest.raises(ValueError, match="its checksum is wrong"):
        unsealed(b'{"a":1}')
