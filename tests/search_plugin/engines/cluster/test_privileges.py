"""Reasons as Elasticsearch 9.4 and OpenSearch's security plugin give them, and the missing right in words."""

from __future__ import annotations

import pytest

from search_plugin.engines.cluster.errors import lacking, unseen

WHO = "is unauthorized for API key id [FgagBaIB] of user [admin]"
BY = "this action is granted by the"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            f"action [indices:admin/mapping/put] {WHO} on indices [a,b], {BY} index privileges ["
            "manage,all]",
            "the index privilege manage on a, b is missing",
        ),
        (
            f"action [indices:data/write/bulk[s]] {WHO} on indices [a], {BY} index privileges ["
            "create,index,write,all]",
            "one of the index privileges create, index, write on a is missing",
        ),
        (
            f"action [cluster:monitor/main] {WHO}, {BY} cluster privileges [monitor,manage,all]",
            "one of the cluster privileges monitor, manage is missing",
        ),
        (f"action [x] {WHO}, {BY} cluster privileges [all]", "the cluster privilege all is missing"),
        (
            "no permissions for [indices:admin/mapping/put] and User [name=reader, backend_roles=[]]",
            "the permission indices:admin/mapping/put is missing",
        ),
        (f"action [x] {WHO}", ""),
    ],
)  # fmt: skip
def test_the_missing_right_is_named(reason, told):
    assert lacking(reason) == told


def test_what_is_hidden_is_told():
    held = {"read": True, "view_index_metadata": True}
    assert unseen({"index": {"ses.a.v*": held}}) == ""
    hidden = {"ses.a.v*": held, "ses.b.v1": {**held, "view_index_metadata": False}}
    assert unseen({"index": hidden}) == "the index privilege view_index_metadata on ses.b.v1 is missing"
    assert unseen({}) == ""
