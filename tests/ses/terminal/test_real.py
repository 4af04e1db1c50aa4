"""The main job on real papers and the real default model, as a user types it."""

from __future__ import annotations

import json

import pytest

from tests.commands import ses as command


@pytest.fixture
def ses(tmp_path, shared_cache):
    """Runs a command whose data are its own, and whose graphs of the default model are shared."""
    return lambda *arguments: command(tmp_path, *arguments, SES_CACHE_DIR=str(shared_cache))


def test_cord19_is_indexed_and_searched(data_dir, ses):
    path = data_dir / "corpora" / "cord19-sample" / "metadata.csv"
    indexed = ses("index", "--corpus", "cord19", "--path", path, "--limit", "120", "--json")
    assert indexed.returncode == 0, indexed.stderr
    assert json.loads(indexed.stdout)["papers"] == 120

    given = (
        "search",
        "respiratory infections in children",
        "--filter",
        "year>=2001",
        "--facet",
        "journal",
        "--explain",
    )
    shown = ses(*given)
    assert shown.returncode == 0, shown.stderr
    assert "lexical: rank 1" in shown.stdout
    page = json.loads(ses(*given, "--json").stdout)
    assert [hit["paper"]["year"] >= 2001 for hit in page["hits"]] == [True] * 10
    assert page["hits"][0]["legs"].keys() == {"lexical", "prx", "neighbours"}
    assert page["facets"]["counts"]["journal"]
    nearest = json.loads(ses("similar", page["hits"][0]["paper"]["id"], "--json").stdout)
    assert len(nearest["hits"]) == 10


@pytest.mark.slow
def test_the_pubmed_sample_is_found_and_indexed(ses):
    indexed = ses("index", "--corpus", "pubmed-sample", "--limit", "40", "--json")
    assert indexed.returncode == 0, indexed.stderr
    assert json.loads(indexed.stdout)["papers"] == 40
    page = json.loads(ses("search", "patients", "--facet", "fields", "--json").stdout)
    assert page["hits"]
    assert page["facets"]["counts"]["fields"]
