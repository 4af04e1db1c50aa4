"""What a cluster is asked about indexes, from answers as it gives them."""

from __future__ import annotations

import pytest

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import SEEING
from search_plugin.engines.cluster.physical import check_seen
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.test_joining import Recorded, error

NAMES = ["ses.papers.v*"]


def cluster_of(reply):
    return Recorded(Product("elasticsearch", "9.4.0", (9, 4)), reply)


def test_indexes_that_a_user_may_not_see_are_told():
    held = dict.fromkeys(SEEING, True)
    hidden = cluster_of((200, {"index": {NAMES[0]: {**held, "read": False}}}))
    with pytest.raises(UnavailableError, match=r"hides indexes of ses from this user \(the index privilege read on "):
        check_seen(hidden, NAMES)
    asked = {"index": [{"names": NAMES, "privileges": list(SEEING)}]}
    assert hidden.asked == [("POST", "/_security/user/_has_privileges", None, asked)]
    check_seen(cluster_of((200, {"index": {NAMES[0]: held}})), NAMES)
    check_seen(cluster_of(error(400, "illegal_argument_exception", "no handler found")), NAMES)
