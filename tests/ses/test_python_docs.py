"""Every example of docs/python.md runs, in the order of the page and in one folder, with the tiny model."""

import re
from pathlib import Path

from tests.tiny import make_model

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_every_example_of_the_page_runs(tmp_path, monkeypatch, capsys):
    make_model(tmp_path / "model")
    for name in ("model", "data_dir", "cache_dir"):
        monkeypatch.setenv(f"SES_{name.upper()}", str(tmp_path / name.removesuffix("_dir")))
    (tmp_path / "metadata.csv").write_text("key,title,year\nx,A virus,2020\ny,A protein,2021\n")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(examples) >= 8
    names = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "1 Masks and the spread of a virus" in printed
    assert "(('Nature', 1), ('The Lancet', 1))" in printed
    assert "(('masks', 1), ('schools', 1))" in printed
    assert "not found There is no index 'other'" in printed
