"""docs/guide/evaluation.ipynb: a Jupyter kernel executes all of it."""

from pathlib import Path

import pytest

from tests.tiny import make_model

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "docs" / "guide" / "evaluation.ipynb"


@pytest.mark.lint
@pytest.mark.dev
def test_the_notebook_is_valid_and_holds_no_results():
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 5
    assert [cell.outputs for cell in code] == [[]] * len(code)
    assert {cell.execution_count for cell in code} == {None}


@pytest.mark.dev
@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    make_model(tmp_path / "model")
    for name in ("model", "data_dir", "cache_dir"):
        monkeypatch.setenv(f"SES_{name.upper()}", str(tmp_path / name.removesuffix("_dir")))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert printed.startswith("60")
    for line in ("hybrid - lexical", "rank_bm25 - ses, words", "corrected for all 9 comparisons", "Success@1"):
        assert line in printed
    for name in ("compared.svg", "compared.html", "rank_bm25.trec"):
        assert (tmp_path / name).stat().st_size > 1_000
