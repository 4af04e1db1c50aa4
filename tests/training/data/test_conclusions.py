"""Which sentence concludes an abstract."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.data.queries import without_conclusion

_PARTS = st.lists(
    st.one_of(st.sampled_from(["We", "e.g.", "et al.", "A.", "3.5", "end.", "Is?", "(x).", ".", "\n", ""]), st.text()),
    max_size=20,
)


@given(_PARTS.map(" ".join))
def test_the_conclusion_is_taken_out_and_the_rest_is_kept(text):
    asked, rest = without_conclusion(text)
    if asked:
        assert text.split() != rest.split()
        assert "".join(asked.split()) in "".join(text.split())
        kept = "".join(rest.split())
        begin = next(n for n in range(len(kept) + 1) if "".join(text.split()).endswith(kept[n:]))
        assert "".join(text.split()).startswith(kept[:begin])
    else:
        assert rest == ""


@pytest.mark.parametrize(
    ("abstract", "asked", "rest"),
    [
        ("We ran. They hid. So it is.", "So it is.", "We ran. They hid."),
        ("BACKGROUND: We ran. CONCLUSIONS: It works. It is cheap.", "It works.", "BACKGROUND: We ran. It is cheap."),
        ("We ran. Conclusion and outlook: It works.", "It works.", "We ran."),
        ("We ran. Conclusion.\u2014It works. It is cheap.", "It works.", "We ran. It is cheap."),
        (
            "We ran. It works. Code is available at https://x.org.",
            "It works.",
            "We ran. Code is available at https://x.org.",
        ),
        ("We ran. It works. TRIAL REGISTRATION: NCT0123.", "It works.", "We ran. TRIAL REGISTRATION: NCT0123."),
        ("We ran. RESULTS: It works.", "It works.", "We ran."),
        ("One sentence only.", "", ""),
        ("", "", ""),
    ],
)
def test_conclusions_by_hand(abstract, asked, rest):
    assert without_conclusion(abstract) == (asked, rest)
