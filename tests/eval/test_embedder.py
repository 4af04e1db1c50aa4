"""Embedders that look vectors up."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.embedder import Text
from tests.eval.vectors_by_hand import embedder


def test_a_file_may_lack_some_ids_and_one_that_lacks_all_is_refused():
    embed = embedder({"a": (1.0, 0.0)})
    assert embed([Text("a", ""), Text("b", "")], Format.PRX).known("abc") == ["a"]
    assert embed([], Format.PRX).known("a") == []
    with pytest.raises(InputError, match="ids such as 'a', and none of the 2 wanted, such as 'b'"):
        embed([Text("b", ""), Text("c", "")], Format.PRX)
