"""What the users of the HTTP client share; servers that answer anything are in the tests of these."""

import pytest

from corpora.http_client import TransientError, is_loopback, retried


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:1/a", True),
        ("http://a.localhost", True),
        ("http://127.9.9.9", True),
        ("https://[::1]:9200", True),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://192.168.0.1", False),
        ("", False),
    ],
)
def test_an_address_is_one_of_this_machine(url, own):
    assert is_loopback(url) is own


def test_a_request_is_made_until_it_succeeds_or_was_made_often_enough():
    failures = [TransientError("away", 3.0), TransientError("late")]
    left, paused = list(failures), []

    def request():
        if left:
            raise left.pop(0)
        return "there"

    assert retried(request, 3, lambda error, attempt: paused.append((error, attempt))) == "there"
    assert paused == [(failures[0], 1), (failures[1], 2)]
    left = list(failures)
    with pytest.raises(TransientError, match="late"):
        retried(request, 2, lambda *_: None)
    with pytest.raises(ValueError, match="no more"):
        retried(lambda: (_ for _ in ()).throw(ValueError("no more")), 9, paused.append)
