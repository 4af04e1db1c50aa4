"""Author disambiguation: B-cubed's classic example, both ways to cluster, S2AND's files and papers with full names."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.cluster import AgglomerativeClustering

from corpora.errors import InputError
from encoders.files.embeddings import Embeddings
from eval.authors import Signatures, evaluate_authors, read_named_papers, read_s2and
from eval.embedder import Text, Vectors, by_file
from ses.terminal.commands.eval import eval_


def make(blocks: dict[str, dict[str, list[str]]]) -> Signatures:
    """Signatures by block and author; each has a paper of its own name."""
    rows = [(s, block, author) for block, authors in blocks.items() for author, own in authors.items() for s in own]
    return Signatures(
        {s: Text(s, s) for s, _, _ in rows},
        {s: s for s, _, _ in rows},
        {block: tuple(s for s, of, _ in rows if of == block) for block in blocks},
        {s: author for s, _, author in rows},
    )


def angles(**degrees: float):
    """An embedder of papers on a circle."""
    turned = np.radians(list(degrees.values()))
    found = Vectors({name: n for n, name in enumerate(degrees)}, np.stack([np.cos(turned), np.sin(turned)], 1))
    return lambda texts, task_format: found


DATA = make({"j smith": {"john": ["a1", "a2"], "jane": ["b1", "b2"]}, "p li": {"ping": ["c1", "c2"], "po": ["d1"]}})
APART = {"a1": 0, "a2": 10, "b1": 90, "b2": 100, "c1": 0, "c2": 10, "d1": 80}


def test_papers_that_lie_apart_are_parted_by_a_threshold_of_the_other_block():
    outcome = evaluate_authors(DATA, angles(**APART))
    assert outcome.cells["B3 F1"].mean == 1
    assert outcome.counts == {
        "signatures": 7,
        "blocks": 2,
        "authors": 4,
        "signatures_given_as_seeds": 0,
        "signatures_without_vector": 0,
        "signatures_without_author": 0,
        "papers_repeated": 0,
    }


def test_the_threshold_is_not_fitted_on_the_block_it_cuts():
    # In the second block authors differ by 20 degrees only: a threshold of its own would part them (F1 of 1), that of
    # the first, where 10 degrees are one author's, is the smallest that joins those: 1 - cos(10) = .015 < .02.
    near = APART | {"a2": 40, "b2": 130, "c2": 2, "d1": 20}
    outcome = evaluate_authors(DATA, angles(**near))
    # 1 - cos(40) = .234 joins all of the second block; its own best, below .06, leaves the first in four pieces.
    assert outcome.per_unit["B3 recall"] == {"j smith": 0.5, "p li": 1.0}
    assert outcome.per_unit["B3 precision"] == {"j smith": 1.0, "p li": pytest.approx((2 * 2 / 3 + 1 / 3) / 3)}
    assert outcome.cells["B3 recall"].mean == pytest.approx((4 * 0.5 + 3) / 7)


def test_blocks_are_halved_by_size_and_each_half_is_cut_by_the_threshold_of_the_other():
    # Signatures of one author are 10 degrees apart in the first and the third largest block, and 40 in the others.
    apart = {"d": (4, 10), "c": (3, 40), "b": (2, 10), "a": (1, 40)}
    at = {
        f"{block}{author}{second}": 90 * author + degrees * second
        for block, (authors, degrees) in apart.items()
        for author in range(authors)
        for second in range(2)
    }
    data = make(
        {b: {f"{b}{author}": [f"{b}{author}0", f"{b}{author}1"] for author in range(n)} for b, (n, _) in apart.items()}
    )
    outcome = evaluate_authors(data, angles(**at))
    assert outcome.per_unit["B3 recall"] == {"d": 1.0, "c": 0.5, "b": 1.0, "a": 0.5}
    assert outcome.per_unit["B3 precision"] == dict.fromkeys("dcba", 1.0)
    assert (outcome.counts["blocks"], outcome.counts["signatures"]) == (4, 20)


def test_clusters_are_those_of_scikit_learn_and_b_cubed_is_its_definition():
    rng = np.random.default_rng(3)
    blocks = {
        block: {f"{block}{author}": [f"{block}{author}{one}" for one in range(3)] for author in range(4)}
        for block in ("a", "b")
    }
    data = make(blocks)
    centres = {author: rng.standard_normal(8) for authors in blocks.values() for author in authors}
    vectors = {name: centres[author] + 0.7 * rng.standard_normal(8) for name, author in data.author_of.items()}
    found = evaluate_authors(data, by_file(Embeddings(list(vectors), np.array(list(vectors.values()), np.float32))))
    names = [name for of_block in data.blocks.values() for name in of_block]
    best, clusters = {}, {}
    for block, of_block in data.blocks.items():
        matrix = np.array([vectors[name] for name in of_block])
        for step in range(101):
            most = step / 100 + 1e-9
            model = AgglomerativeClustering(None, metric="cosine", linkage="average", distance_threshold=most)
            clusters[block, step] = dict(zip(of_block, model.fit_predict(matrix).tolist(), strict=True))
        best[block] = max(range(101), key=lambda step, block=block: f1_of(clusters[block, step], data)[2])
    joined = {name: ("a", cluster) for name, cluster in clusters["a", best["b"]].items()}
    joined |= {name: ("b", cluster) for name, cluster in clusters["b", best["a"]].items()}
    assert set(joined) == set(names)
    assert [cell.mean for cell in found.cells.values()] == pytest.approx(f1_of(joined, data))
    assert 0.3 < found.cells["B3 F1"].mean < 1


def f1_of(clusters, data):
    """B-cubed precision, recall and F1 from sets: of each signature's cluster and author, what they share."""
    shares = []
    for name, cluster in clusters.items():
        together = {one for one, other in clusters.items() if other == cluster}
        author = {one for one in clusters if data.author_of[one] == data.author_of[name]}
        shares.append((len(together & author) / len(together), len(together & author) / len(author)))
    precision, recall = np.mean(shares, axis=0)
    return precision, recall, 2 * precision * recall / (precision + recall)


def test_seeds_are_told_and_not_measured():
    outcome = evaluate_authors(DATA, angles(**APART | {"b2": 20}), "seeds")
    # Left are a2, b2 (nearer to a1 than to b1) and c2.
    assert outcome.per_unit["B3 precision"] == {"j smith": 0.5, "p li": 1.0}
    assert outcome.cells["B3 precision"].mean == pytest.approx(2 / 3)
    assert outcome.counts == {
        "signatures": 3,
        "blocks": 2,
        "authors": 3,
        "signatures_given_as_seeds": 4,
        "signatures_without_vector": 0,
        "signatures_without_author": 0,
        "papers_repeated": 0,
    }


def test_a_signature_without_vector_is_alone_and_counted():
    outcome = evaluate_authors(DATA, angles(**{name: at for name, at in APART.items() if name != "a2"}))
    assert outcome.counts["signatures_without_vector"] == 1
    assert outcome.cells["B3 precision"].mean == 1
    assert outcome.cells["B3 recall"].mean == pytest.approx((5 + 2 * 0.5) / 7)


def test_recall_counts_an_author_who_is_in_two_blocks():
    data = make({"j smith": {"john": ["a1", "a2"]}, "john smith": {"john": ["c1", "c2"]}})
    assert evaluate_authors(data, angles(**APART)).cells["B3 recall"].mean == 0.5


def test_one_block_has_nothing_to_fit_a_threshold_on():
    data = make({"j smith": {"john": ["a1", "a2"], "jane": ["b1"]}})
    with pytest.raises(InputError, match="give two or more, or use seeds"):
        evaluate_authors(data, angles(**APART))


@pytest.fixture
def s2and(tmp_path):
    folder = tmp_path / "s2and" / "qian"
    folder.mkdir(parents=True)
    block_of = {name: block for block, names in DATA.blocks.items() for name in names}
    clusters: dict[str, list[str]] = {}
    for name, author in DATA.author_of.items():
        clusters.setdefault(author, []).append(name)
    papers = {name: {"paper_id": name, "title": f"Title {name}", "abstract": None} for name in [*APART, "unused"]}
    info = {"odd": "p li", **block_of}
    signatures = {n: {"signature_id": n, "paper_id": n, "author_info": {"block": b}} for n, b in info.items()}
    for kind, members in (("papers", papers), ("signatures", signatures)):
        (folder / f"qian_{kind}.json").write_text(json.dumps(members))
    found = {author: {"cluster_id": author, "signature_ids": names} for author, names in clusters.items()}
    (folder / "qian_clusters.json").write_text(json.dumps(found))
    return tmp_path / "s2and"


def test_s2ands_files_and_the_command(s2and, tmp_path):
    read = read_s2and(s2and)["qian"]
    assert (dict(read.paper_of), dict(read.author_of), read.left_out) == (DATA.paper_of, DATA.author_of, 1)
    assert {block: sorted(names) for block, names in read.blocks.items()} == {
        block: sorted(names) for block, names in DATA.blocks.items()
    }
    assert read.papers["a1"] == Text("a1", "Title a1", "")
    assert "unused" not in read.papers
    file = tmp_path / "v.jsonl"
    turned = {name: [np.cos(np.radians(at)), np.sin(np.radians(at))] for name, at in APART.items()}
    file.write_text("".join(json.dumps({"paper_id": name, "embedding": row}) + "\n" for name, row in turned.items()))
    run = CliRunner().invoke(eval_, ["authors", "--data", str(s2and), "--embeddings", str(file), "--json"])
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert (told["data"], told["method"]) == (str(s2and), "agglomerative")
    row = told["rows"][0]
    assert (row["set"], row["measures"]["B3 F1"]["mean"], row["counts"]["signatures_without_author"]) == ("qian", 1, 1)


def test_files_of_another_form_are_refused(s2and, tmp_path):
    (s2and / "qian" / "qian_clusters.json").write_text('{"x": {}}')
    with pytest.raises(InputError, match="not in S2AND's form"):
        read_s2and(s2and)
    with pytest.raises(InputError, match=r"no NAME_papers\.json"):
        read_s2and(tmp_path)


def test_full_names_make_silver_truth(tmp_path):
    authors = [["Ada Li", "B. Li", "Bo"], ["Ada  Li", "Ann Li"], ["Ann Li", "Cy Wu"], ["Cy Wu", "Abe Li"]]
    rows = [{"id": n, "title": f"t{n}", "authors": names} for n, names in enumerate(authors)]
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_named_papers(path)
    assert dict(found.blocks) == {"a li": ("0|ada li", "1|ada li", "1|ann li", "2|ann li")}
    assert found.author_of["1|ann li"] == "ann li"
    assert set(found.papers) == {"0", "1", "2"}
    assert found.left_out == 2  # an initial, and one name alone


def named(path, sizes):
    """Papers of blocks `a NAME`, each of two authors with two papers or more, so many signatures in all."""
    rows = []
    for name, size in sizes.items():
        authors = [f"Ada {name}"] * (size - 2) + [f"Ann {name}"] * 2
        rows += [{"id": f"{name}{row}", "title": "t", "authors": [author]} for row, author in enumerate(authors)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_blocks_of_up_to_60_signatures_are_taken_the_largest_first(tmp_path):
    path = named(tmp_path / "papers.jsonl", {"Li": 60, "Wu": 61, "Xu": 5, "Bo": 5, "Ng": 4})
    sizes = {block: len(names) for block, names in read_named_papers(path).blocks.items()}
    assert list(sizes.items()) == [("a li", 60), ("a bo", 5), ("a xu", 5), ("a ng", 4)]
    assert list(read_named_papers(path, blocks=2).blocks) == ["a li", "a bo"]


def test_blocks_need_two_authors_of_two_papers_each(tmp_path):
    rows = [["Ada Li"], ["Ada Li"], ["Ann Li"], ["Bo Wu"], ["Bo Wu"], ["Bo Wu"], ["Cy Xu", "Cat Xu"]]
    path = tmp_path / "papers.jsonl"
    path.write_text(
        "".join(json.dumps({"id": n, "title": "t", "authors": names}) + "\n" for n, names in enumerate(rows))
    )
    with pytest.raises(InputError, match="no two authors with two papers each"):
        read_named_papers(path)


@pytest.mark.parametrize(
    "at",
    [
        # An author's papers are 1 - cos(4) = .002 apart and those of two authors .012: no wider steps part them.
        {"a1": 0, "a2": 4, "b1": 13, "b2": 17, "c1": 0, "c2": 4, "d1": 13},
        # An author's papers are 1 - cos(80) = .826 apart: no smaller threshold joins them.
        {"a1": 0, "a2": 80, "b1": 180, "b2": 260, "c1": 0, "c2": 80, "d1": 220},
    ],
)
def test_thresholds_go_from_0_to_1_by_hundredths(at):
    assert evaluate_authors(DATA, angles(**at)).cells["B3 F1"].mean == 1


def test_authors_that_are_no_names_are_refused(tmp_path):
    (tmp_path / "papers.jsonl").write_text('{"id": 1, "title": "x", "authors": [{"name": "Ada Li"}]}\n')
    with pytest.raises(InputError, match=r"line 1: .*a list of names"):
        read_named_papers(tmp_path / "papers.jsonl")


def test_real_papers_have_such_blocks(data_dir):
    found = read_named_papers(data_dir / "train" / "conf.jsonl.xz", blocks=5)
    assert len(found.blocks) == 5
    assert all(len({found.author_of[name] for name in names}) > 1 for names in found.blocks.values())
    assert all(50 < len(names) <= 60 for names in found.blocks.values())
    assert found.papers.keys() == set(found.paper_of.values())


def test_blank_lines_and_papers_that_come_again(tmp_path):
    lines = [json.dumps({"id": i, "title": "x", "authors": [f"J{'ao'[i % 2]} Li"]}) for i in range(4)]
    (tmp_path / "papers.jsonl").write_bytes("\ufeff\r\n".encode() + "\r\n".join([*lines, "", lines[0]]).encode())
    read = read_named_papers(tmp_path / "papers.jsonl")
    assert (len(read.paper_of), read.repeated) == (4, 1)
    assert sum(map(len, read.blocks.values())) == 4


def test_s2ands_files_may_be_compressed(s2and):
    read = read_s2and(s2and)
    for file in list(s2and.glob("*/*.json")):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert read_s2and(s2and) == read
