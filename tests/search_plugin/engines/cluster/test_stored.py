"""What ses keeps in a cluster for front ends, in one that keeps it as the products do."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from corpora.errors import InputError
from search_plugin.engines.cluster.errors import ClusterError, failure
from search_plugin.engines.cluster.frontends.installation import Installation, Installed
from search_plugin.engines.cluster.frontends.stored import (
    ComponentTemplate,
    IndexTemplate,
    IngestPipeline,
    SearchPipeline,
    StoredTemplate,
    check_pattern,
)
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.test_joining import error

MARK = "made by ses for the index papers, form 2, model tiny (f)"
STATE = "/_cluster/state/metadata?filter_path=metadata.stored_scripts"
DATED = {"created_date": 1, "modified_date_millis": 2}
FORMS = {"/_component_template": "component_template", "/_index_template": "index_template"}
"""What replies call an entry, of the kinds whose replies are lists."""

EMPTY = {"/_plugins": {"hits": {"hits": []}}, "/_inference": {}, "/ses.words.": {}, "/_cluster/settings": {}}
"""What it answers of the kinds that have tests of their own, by the start of a path: there are none."""


class Keeping:
    """A cluster that keeps what is written, and remembers what it was asked to change."""

    url = "http://cluster:9200"

    def __init__(self, kind="opensearch", refused=None):
        self.product = Product(kind, "3.6.0", (3, 6))
        self.lacking, self.changed, self.asked = set(), [], []
        self.held = {}
        self.refused = refused or {}

    def call(self, method, path, body=None, *, params=None, **_habits):
        self.asked.append(path)
        if method != "GET":
            self.changed.append((method, path))
        if (method, path) in self.refused:
            raise failure(self.url, *self.refused[method, path])
        for start, reply in EMPTY.items():
            if path.startswith(start):
                return reply
        if path == "/_render/template":
            assert (method, body) == ("POST", {"source": "{}"})
            return {}
        if path == STATE:
            scripts = {one.rpartition("/")[2]: held["script"] for one, held in self._under("/_scripts", "*")}
            return {"metadata": {"stored_scripts": scripts}} if scripts else {}
        return self._kept(method, path, body)

    def _kept(self, method, path, body):
        if method == "PUT":
            self.held[path] = body
            return {}
        kind, _, name = path.rpartition("/") if path not in FORMS else (path, "", "*")
        found = dict(self._under(kind, name))
        if not found:
            raise failure(self.url, 404, {"error": {"type": "not_found", "reason": "missing"}, "status": 404})
        if method == "DELETE":
            return self.held.pop(path)
        if kind == "/_scripts":
            return {"_id": name, "found": True, **found[path]}
        if form := FORMS.get(kind):
            listed = [{"name": one.rpartition("/")[2], form: {**body, **DATED}} for one, body in found.items()]
            return {f"{form}s": listed}
        return {one.rpartition("/")[2]: {**body, **DATED} for one, body in found.items()}

    def _under(self, kind, pattern):
        return [(one, body) for one, body in self.held.items() if fnmatchcase(one, f"{kind}/{pattern}")]


SETTINGS = {"index": {"knn": True, "number_of_shards": 2, "list": ["A", False]}}
ARTIFACTS = (
    IngestPipeline("ses-papers-vectors", {"description": MARK, "processors": []}),
    SearchPipeline("ses-papers-minmax", {"description": MARK, "phase_results_processors": []}),
    ComponentTemplate("ses-papers-mappings", {"settings": SETTINGS, "mappings": {"dynamic": "strict"}}, MARK),
    IndexTemplate("ses-papers", ("papers-*",), "ses-papers-mappings", MARK),
    StoredTemplate("ses-papers-lexical", f'{{{{! {MARK} }}}}\n{{"size": 3}}'),
)
WRITTEN = {
    "/_ingest/pipeline/ses-papers-vectors": {"version": 2, "description": MARK, "processors": []},
    "/_search/pipeline/ses-papers-minmax": {"version": 2, "description": MARK, "phase_results_processors": []},
    "/_component_template/ses-papers-mappings": {
        "template": {
            "settings": {"index": {"knn": "true", "number_of_shards": "2", "list": ["A", "false"]}},
            "mappings": {"dynamic": "strict"},
        },
        "version": 2,
        "_meta": {"description": MARK},
    },
    "/_index_template/ses-papers": {
        "index_patterns": ["papers-*"],
        "composed_of": ["ses-papers-mappings"],
        "priority": 200,
        "version": 2,
        "_meta": {"description": MARK},
    },
    "/_scripts/ses-papers-lexical": {
        "script": {"lang": "mustache", "source": f'{{{{! {MARK} }}}}\n{{"size": 3}}'}
    },
}  # fmt: skip
OTHERS = {
    "/_ingest/pipeline/ses-papers-own": {"processors": []},
    "/_search/pipeline/own": {"description": "another"},
    "/_component_template/ses-papers-own": {"template": {}, "_meta": None},
    "/_component_template/ses-papers-two": {"template": {}, "_meta": {"description": MARK.replace("papers", "two")}},
    "/_index_template/own": {"index_patterns": ["own-*", "papers"], "priority": 100},
    "/_index_template/bare": {"index_patterns": ["*"]},
    "/_scripts/own": {"script": {"lang": "painless", "source": MARK}},
    "/_scripts/ses-papers-empty": {"script": {"lang": "mustache", "source": ""}},
}


def changes(outcomes):
    return {one.name: one.change for one in outcomes}


def test_artifacts_are_written_once_and_removed_and_those_of_others_stay():
    cluster = Keeping()
    cluster.held |= OTHERS
    wanted = Installation(cluster, "papers", ARTIFACTS)
    assert set(changes(wanted.difference()).values()) == {"new"}
    assert cluster.held == OTHERS
    assert set(changes(wanted.install()).values()) == {"new"}
    assert cluster.held == OTHERS | WRITTEN
    assert [one for one in cluster.changed if one[0] == "PUT"] == [("PUT", path) for path in WRITTEN]
    cluster.changed.clear()
    assert set(changes(wanted.install()).values()) == {"unchanged"}
    assert cluster.changed == [("POST", "/_render/template")]
    removed = Installation(cluster, "papers").remove()
    assert [one.name for one in removed] == [
        "ses-papers-lexical",
        "ses-papers",
        "ses-papers-mappings",
        "ses-papers-minmax",
        "ses-papers-vectors",
    ]
    assert cluster.held == OTHERS
    for artifact in ARTIFACTS:
        artifact.delete(cluster)  # what is not there is ignored


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda one: one.kind)
def test_what_differs_is_written_again(artifact):
    cluster = Keeping()
    artifact.write(cluster)
    (path,) = cluster.held
    written = WRITTEN[path]
    for changed in (
        [{**written, "version": 1}] if "version" in written else [{"script": {**written["script"], "lang": "x"}}]
    ):
        cluster.held[path] = changed
        (told,) = Installation(cluster, "papers", [artifact]).difference()
        assert (told.change, told.kind, told.name) == ("changed", artifact.kind, artifact.name)
        assert told.lines[:2] == (
            f"--- {artifact.kind} {artifact.name} in the cluster",
            f"+++ {artifact.kind} {artifact.name} wanted",
        )
        assert len([line for line in told.lines if line.startswith(("+ ", "- "))]) == 2
    cluster.held[path] = OTHERS["/_scripts/own"] if path.startswith("/_scripts") else {"priority": 200}
    if not path.startswith("/_scripts"):
        with pytest.raises(InputError, match=f"has a {artifact.kind} {artifact.name} that ses did not make"):
            Installation(cluster, "papers", [artifact]).install()


def test_a_cluster_without_mustache_has_no_search_templates_and_is_asked_once():
    path = ("POST", "/_render/template")
    cluster = Keeping(refused={path: error(400, "illegal_argument_exception", "no handler found for uri")})
    for _ in range(2):
        (told,) = Installation(cluster, "papers", ARTIFACTS[-1:]).install()
        assert told.why == (
            "OpenSearch 3.6.0 at http://cluster:9200 has no search templates (the module lang-mustache)"
        )
        assert (told.change, told.lines[3:6]) == (
            "left out",
            ("+{", '+  "lang": "mustache",', f'+  "source": "{{{{! {MARK} }}}}'),
        )
    assert (cluster.changed, cluster.held) == ([path], {})
    broken = Keeping(refused={path: error(500, "x", "broken")})
    with pytest.raises(ClusterError, match="broken"):
        Installation(broken, "papers", ARTIFACTS[-1:]).install()


def test_elasticsearch_is_not_asked_for_search_pipelines():
    cluster = Keeping("elasticsearch")
    cluster.held |= WRITTEN
    assert "ses-papers-minmax" not in [one.name for one in Installation(cluster, "papers").there()]
    assert not [path for path in cluster.asked if path.startswith("/_search/pipeline")]


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda one: one.kind)
def test_a_refusal_is_told(artifact):
    cluster = Keeping()
    artifact.write(cluster)
    ((_, path),) = cluster.changed
    cluster.refused = {(method, path): error(403, "security_exception", "no rights") for method in ("GET", "DELETE")}
    for ask in (artifact.stored, artifact.delete):
        with pytest.raises(ClusterError, match="no rights"):
            ask(cluster)


def test_a_template_that_others_use_is_not_deleted():
    reason = "component templates [ses-papers-mappings] cannot be removed as they are still in use by index templates "
    for told, used in ((f"{reason}[a, b]", r"by index templates of others \(a, b\)"), ("used", "by an index template")):
        path = ("DELETE", "/_component_template/ses-papers-mappings")
        cluster = Keeping(refused={path: error(400, "illegal_argument_exception", told)})
        with pytest.raises(InputError, match=f"The component template ses-papers-mappings is still in use {used}"):
            ARTIFACTS[2].delete(cluster)


@pytest.mark.parametrize(
    ("pattern", "others", "refused"),
    [
        ("papers-*", {}, False),
        ("papers-*", {"index_patterns": ["papers-a*"], "priority": 200}, True),
        ("papers-*", {"index_patterns": ["x", "papers-new"], "priority": "200"}, True),
        ("papers-*", {"index_patterns": ["p*"], "priority": 200}, True),
        ("papers-*", {"index_patterns": ["p"], "priority": 200}, False),
        ("papers-*", {"index_patterns": ["papers-a*"], "priority": 199}, False),
        ("papers-*", {"index_patterns": ["papers-a*"], "priority": None}, False),
        ("papers-new", {"index_patterns": ["papers-*"], "priority": 200}, True),
        ("papers-new", {"index_patterns": ["papers-new-*"], "priority": 200}, False),
    ],
)
def test_two_templates_of_a_priority_match_no_name_together(pattern, others, refused):
    cluster = Keeping()
    cluster.held["/_index_template/other"] = others or {"index_patterns": ["x"]}
    template = replace(ARTIFACTS[3], patterns=(pattern,))
    template.check(Keeping())
    if not refused:
        template.check(cluster)
        return
    told = f"The pattern {pattern} matches the same names as the index template other, which has the same priority 200"
    with pytest.raises(InputError, match=told.replace("*", r"\*")):
        template.check(cluster)
    template.write(cluster)
    template.check(cluster)  # as it was written before the other one


@pytest.mark.parametrize(
    ("pattern", "refused"),
    [
        ("papers", ""),
        ("p9._-*", ""),
        ("p" * 100, ""),
        ("p" * 101, "can't be used"),
        ("", "can't be used"),
        ("*", "can't be used"),
        ("pa*rs", "can't be used"),
        ("Papers", "can't be used"),
        ("-papers", "can't be used"),
        ("ses.papers", "matches the indexes of ses"),
        ("ses.x*", "matches the indexes of ses"),
        ("s*", "matches the indexes of ses"),
        ("ses", ""),
        ("sesame*", ""),
    ],
)
def test_patterns_of_names(pattern, refused):
    if not refused:
        check_pattern(pattern)
        return
    with pytest.raises(InputError, match=refused) as told:
        check_pattern(pattern)
    assert "p" * 101 not in str(told.value)


def test_an_outcome_is_told_by_its_kind_and_name():
    (told,) = Installation(Keeping(), "papers", ARTIFACTS[:1]).install()
    assert replace(told, lines=()) == Installed("ingest pipeline", "ses-papers-vectors", "new")
