import sys

import pytest

from corpora.lazy import LazyModule


def test_a_lazy_module_is_imported_when_an_attribute_is_first_asked_for(tmp_path, monkeypatch):
    (tmp_path / "tiny_and_lazy.py").write_text("value = 3")
    monkeypatch.syspath_prepend(tmp_path)
    module = LazyModule("tiny_and_lazy")
    assert "tiny_and_lazy" not in sys.modules
    assert module.value == 3
    monkeypatch.setattr(sys.modules.pop("tiny_and_lazy"), "value", 4)
    assert module.value == 3  # kept, so that later uses cost nothing
    with pytest.raises(AttributeError, match="other"):
        _ = module.other
