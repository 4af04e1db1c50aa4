"""One report in every form, with whatever a data set's texts may hold."""

import json
import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from eval.outcome import Outcome
from eval.reports import html
from eval.reports.forms import FORMS, as_latex, as_markdown, check_report, escape_latex, write_report
from eval.reports.report import Plot, Provenance, Report, TextTable
from eval.reports.results import Results, results_report
from eval.statistics.pairs import compare_values

NASTY = '<script>alert("1")</script> a&b a_b a|b $x$ 100% #1 {y} \\z ~^ "q" `c` [red] *i*\nnew\x1b[2J\u202e 中文'
CLEAN = NASTY.replace("\n", " ").replace("\x1b", "").replace("\u202e", "")
PROVENANCE = Provenance(
    command=f"ses eval compare {CLEAN}",
    date="2024-05-06T07:08:09+00:00",
    data={"qrels.tsv": "ab" * 32},
    models={"tiny": "0123456789abcdef"},
    engine="Lance 0.40.0",
    runtime="onnx-int8",
    python="3.11.9",
    platform="Linux x86_64",
    packages={"numpy": "2.1.0"},
    settings={"seed": "0"},
)
VALUES = {
    NASTY: {"nDCG@10": {f"q{i}": (i % 5) / 5 for i in range(20)}},
    "_b": {"nDCG@10": {f"q{i}": (i % 7) / 7 for i in range(20)}},
}
RESULTS = Results(
    "mode",
    {
        name: Outcome({"nDCG@10": sum(one["nDCG@10"].values()) / 20}, one, {"queries": 20})
        for name, one in VALUES.items()
    },
)


@pytest.fixture(scope="module")
def report():
    pairs = compare_values(VALUES, resamples=200)
    return results_report(NASTY, RESULTS, PROVENANCE, pairs=pairs, seconds={NASTY: 0.5, "_b": 20.0})


class Reader(HTMLParser):
    """Text and tags, and whether every tag that opens closes."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.slow
def test_html_shows_every_text_and_runs_none(report):
    page = html.render(report)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.tags.count("svg") == 4, "bars, reliability, speed, scatter"
    assert "script" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "src"]
    targets = {f"#{value}" for name, value in reader.attributes if name == "id"}
    assert {value for name, value in reader.attributes if name.endswith("href")} <= targets, "nothing but this page"
    assert any(text.startswith("ses eval compare <script>") for text in reader.text)


@pytest.mark.slow
def test_plots_are_xml_that_says_what_is_in_them(report):
    for plot in report.plots:
        svg = ElementTree.fromstring(plot.draw())  # noqa: S314 - drawn here
        assert svg.get("role") == "img"
        assert svg.get("aria-label")
        texts = " ".join("".join(element.itertext()) for element in svg.iter("{http://www.w3.org/2000/svg}text"))
        assert "nDCG@10" in texts or "share that held the mean" in texts
        assert "_b" in texts
        assert "<script>" in texts, "as text"
    ids = re.findall(r' id="([^"]*)"', html.render(report))
    assert len(ids) == len(set(ids)), "ids of one plot must not lead to another's"
    assert report.plots[0].draw() == report.plots[0].draw(), "the same data make the same file"


def unescaped(text):
    return re.sub(r"\\(\W|_)", r"\1", text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@given(st.text(max_size=30), st.text(max_size=30))
def test_markdown_cells_stay_cells(a, b):
    table = TextTable("t", ("x", "y"), ((a, b),))
    lines = as_markdown(Report("d", PROVENANCE, (table,))).split("\n")
    row = lines[lines.index("## t") + 4]
    cells = re.split(r"(?<!\\)(?:\\\\)*\|", row)
    assert len(cells) == 4, "two cells between three bars"
    assert "<" not in row
    assert unescaped(cells[1].strip()) == table.rows[0][0].strip()


def balanced(text):
    """Braces of LaTeX, without those that are escaped; and nothing special outside a command."""
    depth = 0
    for character in re.sub(r"\\[{}$&#_%]", "", text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    return depth == 0


def test_latex_sets_every_text(report):
    text = as_latex(report)
    body = [line for line in text.split("\n") if not line.startswith("%")]
    assert balanced("\n".join(body))
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == len(report.tables)


@given(st.text(max_size=40))
def test_latex_text_is_balanced_and_holds_nothing_active(text):
    escaped = escape_latex(text)
    assert balanced(escaped)
    bare = re.sub(r"\\(?:text[a-z]+\{\}|[{}$&#_%])", "", escaped)
    assert not set(bare) & set("\\$&#_%~^|<>")
    assert not re.match(r"[\[*]", escaped), "after the end of a row these would be its options"


def test_json_has_the_values_of_the_results(report):
    told = json.loads(FORMS[".json"](report))
    assert told["per_unit"][NASTY] == VALUES[NASTY]
    assert told["rows"][1]["measures"]["nDCG@10"]["mean"] == pytest.approx(sum((i % 7) / 7 for i in range(20)) / 20)
    assert (told["pairs"][0]["run"], told["seconds"]) == ("_b", {NASTY: 0.5, "_b": 20.0})


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMS)
def test_the_ending_chooses_the_form_and_an_older_file_goes(report, tmp_path, ending):
    file = tmp_path / f"report{ending.upper()}"
    file.write_text("old")
    write_report(report, file)
    assert file.read_text(encoding="utf-8") == FORMS[ending](report)
    assert list(tmp_path.iterdir()) == [file]


def test_where_no_report_can_go_is_found_before_the_work(tmp_path, monkeypatch):
    for name, reason in (("r.pdf", "ends in one of: .md, .html, .tex, .json"), ("none/r.md", "folder that exists")):
        with pytest.raises(InputError, match=reason):
            check_report(tmp_path / name)
    monkeypatch.setattr("eval.reports.forms.find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[eval\]'"):
        check_report(tmp_path / "r.html")
    check_report(Path(tmp_path / "r.md"))


TABLE = TextTable("A <b>", ("name", "what", "F_1"), (("x" * 25, "y & z", "-0.5"),), text_columns=2, notes=("n_1", "m"))
SMALL = Report("T & t", PROVENANCE, (TABLE,), details=(TextTable("More", ("q", "long" * 7), (("1", "2"),)),))


def test_a_page_by_hand():
    lines = html.render(SMALL).split("\n")
    long = "x" * 25
    table = [
        '<div class="scroll" role="region" tabindex="0" aria-label="A &lt;b&gt;"><table>',
        '<thead><tr><th scope="col" class="text">name</th><th scope="col" class="text">what</th>'
        '<th scope="col" class="number">F_1</th></tr></thead>',
        "<tbody>",
        f'<tr><th scope="row" class="text long">{long}</th><td class="text">y &amp; z</td>'
        '<td class="number">-0.5</td></tr>',
        "</tbody></table></div>",
        '<ul class="notes"><li>n_1</li><li>m</li></ul>',
    ]
    begin = lines.index('<section aria-labelledby="s0">')
    assert lines[begin + 1 : begin + 9] == ['<h2 id="s0">A &lt;b&gt;</h2>', *table, "</section>"]
    more = lines.index('<h2 id="s1">Every query</h2>')
    assert lines[more + 1] == "<details><summary>More</summary>"
    assert lines[more + 3].count('class="number long"') == 1
    assert lines[more + 5] == '<tr><th scope="row" class="text">1</th><td class="number">2</td></tr>'
    assert lines[more + 7] == "</details>"
    assert lines[:6] == [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
    ]
    assert "<header><h1>T &amp; t</h1>" in lines
    made = "6 May 2024, 07:08 UTC · tiny (0123456789abcdef) · Lance 0.40.0 · onnx-int8"
    assert f'<p class="made">{made}</p></header>' in lines
    places = enumerate(("A &lt;b&gt;", "Every query", "How this was made"))
    links = "".join(f'<li><a href="#s{place}">{name}</a></li>' for place, name in places)
    assert f'<nav aria-label="Contents"><ul>{links}</ul></nav>' in lines
    assert lines[-4:] == ["</main>", "</body>", "</html>", ""]


def test_plots_of_one_kind_stand_together_between_the_tables():
    plots = [Plot(kind, f"{kind} & {n}", lambda: "<svg></svg>") for kind, n in (("K", 1), ("K", 2), ("L", 3))]
    page = html.render(Report("T", PROVENANCE, (TABLE, TABLE), tuple(plots)))
    assert re.findall("<h2[^>]*>([^<]*)</h2>", page) == ["A &lt;b&gt;", "K", "L", "A &lt;b&gt;", "How this was made"]
    figures = [f"<figure><svg></svg><figcaption>K &amp; {n}</figcaption></figure>" for n in (1, 2)]
    assert "\n".join(['<div class="figures">', *figures, "</div>"]) in page


def test_markdown_by_hand():
    assert as_markdown(SMALL).split("\n")[:10] == [
        "# T &amp; t",
        "",
        "## A &lt;b&gt;",
        "",
        r"| name | what | F\_1 |",
        "| --- | --- | ---: |",
        f"| {'x' * 25} | y &amp; z | -0.5 |",
        "",
        r"- n\_1",
        "- m",
    ]
    assert as_markdown(SMALL).endswith("| packages | numpy 2.1.0 |\n")


def test_latex_by_hand():
    lines = as_latex(SMALL).split("\n")
    made = PROVENANCE.table().rows
    assert lines[: len(made) + 2] == [
        "% T & t",
        *(f"% {what}: {value}" for what, value in made),
        r"% Needs \usepackage{booktabs}.",
    ]
    assert lines[len(made) + 2 :] == [
        "",
        r"\begin{table}",
        r"\centering",
        r"\caption{A \textless{}b\textgreater{}. n\_1. m.}",
        r"\begin{tabular}{llr}",
        r"\toprule",
        r"name & what & F\_1 \\",
        r"\midrule",
        f"{'x' * 25} & y \\& z & $-$0.5 " + r"\\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    every = r"\{}$&#_%~^<>|[]*-" + '"`'
    assert escape_latex(every) == (
        r"\textbackslash{}\{\}\$\&\#\_\%\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}"
        r"\textbar{}{[}{]}{*}-{}{''}{`}"
    )


def test_what_is_told_of_how_it_was_made():
    assert PROVENANCE.table() == TextTable(
        "How this was made",
        ("what", "value"),
        (
            ("command", f"ses eval compare {CLEAN}"),
            ("date", "6 May 2024, 07:08 UTC"),
            ("model tiny", "fingerprint 0123456789abcdef"),
            ("runtime", "onnx-int8"),
            ("engine", "Lance 0.40.0"),
            ("data qrels.tsv", f"SHA-256 {'ab' * 32}"),
            ("seed", "0"),
            ("Python", "3.11.9, Linux x86_64"),
            ("packages", "numpy 2.1.0"),
        ),
        text_columns=2,
    )
    nothing = replace(PROVENANCE, models={}, runtime="", engine="", data={}, settings={}).table().rows
    assert nothing[2:5] == (
        ("model", "none: the input doesn't tell"),
        ("runtime", "none: nothing was encoded"),
        ("engine", "none: nothing was searched"),
    )
    assert len(nothing) == 7


def test_json_by_hand():
    told = json.loads(FORMS[".json"](replace(SMALL, values={"a": float("nan"), "b": np.float64(0.5)})))
    assert told == {"title": "T & t", "a": None, "b": 0.5, "provenance": asdict(PROVENANCE)}
