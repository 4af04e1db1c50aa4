"""Vectors that an index of others holds already: found in its mapping, compared with their model, and searched."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ses
from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Format
from encoders.registry import find_model
from search_plugin.engines.cluster.frontends.http import Parameter, replaced
from search_plugin.fusion.search_settings import SearchSettings
from tests.commands import ses as command
from tests.engines.conftest import CLUSTERS, NEWEST_CLUSTERS, emptied
from tests.engines.foreign import write
from tests.tiny import make_model, papers

NAME, NUMBER, WIDTH = "shelf", 60, 32
PAPERS = papers(NUMBER)
BARE, UNTITLED = PAPERS[5].id, "untitled"
QUERY = "virus lung protein"
FIELDS = {"near": "cosine", "dot": "dot", "deep.l2": "l2", "small": "cosine", "unit": "cosine"}
"""Vector fields by how the products compare them."""


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def server(request):
    for engine in emptied(request.param, None):
        yield engine
        remove(engine.cluster)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of three makers: of ses, of the owner, and one that made nothing; the owner's has another dimension."""
    folder = tmp_path_factory.mktemp("models")
    made = {"own": make_model(folder / "own"), "owner": make_model(folder / "owner", seed=3, width=WIDTH)}
    return made | {"other": make_model(folder / "other", seed=4, width=WIDTH)}


@pytest.fixture(scope="module")
def library(server, models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    with ses.open(server.url, model=str(models["own"]), data_dir=folder, cache_dir=folder / "cache") as opened:
        yield opened


@pytest.fixture(scope="module")
def owner(library, models):
    """The encoder of the owner's model."""
    return library._models.encoder(find_model(str(models["owner"])))


@pytest.fixture(scope="module")
def vectors(owner):
    """The owner's vectors by id, all but those of one paper."""
    rows = owner.encode([owner.card.text(paper.title, paper.abstract) for paper in PAPERS], Format.PRX)
    return {paper.id: row for paper, row in zip(PAPERS, rows, strict=True) if paper.id != BARE}


@pytest.fixture(scope="module")
def shelf(server, vectors):
    """Somebody else's index, with vectors."""
    make(server.cluster, NAME, vectors)
    return server.cluster


@pytest.fixture
def attach(library, models):
    """Attach the index with its vectors alone, and detach it at the end."""

    def attached(*fields, model="owner", **options):
        asked = {"title": "heading", "abstract": "summary", "fields": {"year": "year"}, "formats": ("none",), **options}
        report = library.attach(NAME, vectors=dict.fromkeys(fields, str(models[model])), **asked)
        return report, library[options.get("name", NAME)]

    yield attached
    for name in library.indexes():
        library.detach(name)


def remove(cluster):
    cluster.call("DELETE", f"/{NAME}", params={"ignore_unavailable": True})


def vector_field(product, kind):
    if product == "opensearch":
        space = {"dot": "innerproduct", "deep.l2": "l2"}.get(kind, "cosinesimil")
        method = {"name": "hnsw", "engine": "lucene", "space_type": space}
        if kind == "small":
            method["parameters"] = {"encoder": {"name": "sq"}}
        return {"type": "knn_vector", "dimension": WIDTH, "method": method}
    similarity = {"dot": "max_inner_product", "deep.l2": "l2_norm", "unit": "dot_product"}.get(kind, "cosine")
    graph = {"small": "int8_hnsw", "near": "flat"}.get(kind, "hnsw")
    options = {"similarity": similarity, "index_options": {"type": graph}}
    return {"type": "dense_vector", "dims": WIDTH, "index": True, **options}


def make(cluster, name, vectors, *, graph=True):
    """Make an index of an owner; without a graph, its vectors can only be compared exactly."""
    remove(cluster)
    product, knn = cluster.product.kind, {}
    fields = {kind.partition(".")[0]: vector_field(product, kind) for kind in FIELDS}
    fields["deep"] = {"properties": {"l2": fields["deep"]}}
    if product == "opensearch":
        if cluster.product.version >= (3, 6):
            fields["small"]["method"]["parameters"]["encoder"]["parameters"] = {"bits": 7}
        knn = {"knn": graph}
    if not graph:
        plain = {"type": "knn_vector", "dimension": WIDTH}
        fields = {"near": plain if knn else {"type": "dense_vector", "dims": WIDTH, "index": False}}
    parts = {"type": "nested", "properties": {"v": fields["near"]}}
    texts = {"heading": {"type": "text"}, "summary": {"type": "text"}, "year": {"type": "integer"}}
    cluster.call(
        "PUT",
        f"/{name}",
        {
            "settings": {"index": {"number_of_shards": 2, **knn}},
            "mappings": {"properties": {**texts, **fields, "parts": parts}},
        },
    )
    documents = {}
    for paper in PAPERS:
        documents[paper.id] = {"heading": paper.title, "summary": paper.abstract, "year": paper.year or 1900}
        if paper.id in vectors:
            documents[paper.id] |= own_vectors(vectors[paper.id], graph)
    documents[UNTITLED] = own_vectors(next(iter(vectors.values())), graph)
    write(cluster, name, documents)


def own_vectors(row, graph):
    unit = (row / np.linalg.norm(row)).tolist()
    parts = [{"v": row.tolist()}, {"v": (-row).tolist()}]
    every = {
        "near": row.tolist(),
        "dot": row.tolist(),
        "deep": {"l2": row.tolist()},
        "small": row.tolist(),
        "unit": unit,
    }
    return {**(every if graph else {"near": row.tolist()}), "parts": parts}


def closeness(kind, query, vectors):
    """The formula of each similarity, over all vectors: cosine, dot product, or minus the distance."""
    ids, rows = list(vectors), np.asarray(list(vectors.values()), np.float64)
    if kind == "l2":
        scores = -np.linalg.norm(rows - query, axis=1)
    else:
        scores = rows @ query
        if kind == "cosine":
            scores = scores / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    return dict(zip(ids, scores.tolist(), strict=True))


def raw(page, leg):
    return {hit.id: hit.legs[leg].raw for hit in page if leg in hit.legs}


def query_of(encoder):
    return encoder.encode([QUERY], Format.QRY)[0]


def sources(cluster):
    cluster.call("POST", f"/{NAME}/_refresh")
    hits = cluster.call("POST", f"/{NAME}/_search", {"size": 100})["hits"]["hits"]
    return {hit["_id"]: (hit["_source"], hit.get("_version")) for hit in hits}


@pytest.mark.parametrize("server", CLUSTERS, indirect=True, scope="module")
def test_every_field_is_a_leg_with_the_scores_of_its_similarity(shelf, attach, library, owner, vectors):
    before = sources(shelf)
    report, index = attach(*FIELDS)
    assert sources(shelf) == before
    assert (report.papers, report.new, report.rejected) == (NUMBER, 0, 1)
    assert [(one.field, one.documents) for one in report.vectors] == [(field, 20) for field in FIELDS]
    assert all(one.cosine > 0.99 for one in report.vectors)
    for options in ({}, {"exact": True}, {"rerank": "complete"}):
        page = index.search(QUERY, mode="vector", size=NUMBER, literal=True, **options)
        for leg, kind in FIELDS.items():
            expected = closeness(kind, query_of(owner).astype(np.float64), vectors)
            assert raw(page, leg) == pytest.approx(expected, abs=2e-4), (leg, options)
    facts = library.describe(NAME)
    assert facts.vectors == dict.fromkeys(FIELDS, NUMBER - 1)
    assert facts.attached.startswith(f"to {NAME}, searched by its own vectors near (")
    assert len(index.map(QUERY, topics=2).points) == NUMBER - 1
    assert library.follow(NAME).papers == NUMBER
    detached = library.detach(NAME)
    assert (detached.restored, detached.left) == (0, ())
    assert sources(shelf) == before


def test_words_and_meaning_weigh_the_same_however_many_fields_there_are(shelf, attach, owner, vectors):
    _, index = attach("near", "dot", formats=("prx",))
    page = index.search(QUERY, size=NUMBER, literal=True, neighbours=0)
    best = {
        leg: max(hit.legs[leg].value for hit in page if leg in hit.legs) for leg in ("lexical", "prx", "near", "dot")
    }
    assert best == pytest.approx({"lexical": 1 / 2, "prx": 1 / 6, "near": 1 / 6, "dot": 1 / 6})
    alone = index.search(QUERY, size=NUMBER, weights={"lexical": 0, "prx": 0, "dot": 0}, literal=True, neighbours=0)
    expected = closeness("cosine", query_of(owner), vectors)
    nearest = sorted(expected, key=expected.__getitem__, reverse=True)
    assert [hit.id for hit in alone][:20] == nearest[:20]
    with pytest.raises(
        InputError, match="The weight far=1 names no leg of this search; choose one of dot, lexical, near"
    ):
        index.search(QUERY, weights={"far": 1})
    since = index.search(QUERY, mode="vector", filter="year>=2005", size=NUMBER, literal=True)
    wanted = {paper.id for paper in PAPERS if (paper.year or 1900) >= 2005}
    assert {hit.id for hit in since} == wanted
    assert set(raw(since, "near")) == wanted - {BARE}
    assert [hit.id for hit in index.iterate(QUERY, literal=True, size=7, neighbours=0)] == [hit.id for hit in page]
    assert json.loads(json.dumps(page.to_dict()))["hits"][0]["legs"].keys() <= {"lexical", "prx", "near", "dot"}


def test_similar_papers_are_found_by_the_vectors_that_a_paper_has(shelf, attach, vectors):
    _, index = attach("near")
    wanted = PAPERS[0].id
    expected = closeness("cosine", vectors[wanted], vectors)
    del expected[wanted]
    assert raw(index.similar(wanted, size=NUMBER), "near") == pytest.approx(expected, abs=2e-4)
    paper = PAPERS[0]
    by_text = index.similar_text(f"{paper.title}\n{paper.abstract}", size=1)
    assert (by_text.hits[0].id, round(by_text.hits[0].legs["near"].raw, 3)) == (wanted, 1)
    with pytest.raises(UnavailableError, match=f"The document {BARE} has no vector"):
        index.similar(BARE)
    _, both = attach("near", name="both", formats=("prx",), beside=True)
    assert set(both.similar(BARE).hits[0].legs) == {"prx"}
    found = both.similar(wanted, size=NUMBER)
    assert raw(found, "near") == pytest.approx(expected, abs=2e-4)
    assert len(raw(found, "prx")) == NUMBER - 1


def test_what_the_owner_s_vectors_can_not_be_is_told(shelf, attach, models):
    with pytest.raises(InputError, match=r"are not of .*other: for 20 documents, their median cosine .* is -?0\.\d\d"):
        attach("near", model="other")
    report, _ = attach("near", model="other", unchecked=True)
    assert report.vectors[0].cosine < 0.7
    refused = {
        "own": ("near", {}, "near of shelf holds vectors of 32 numbers, and .*own gives 64; name the model"),
        "owner": ("heading", {}, "can't be searched by meaning: it is of the type text, and not "),
    }
    for model, (field, options, message) in refused.items():
        with pytest.raises(InputError, match=message):
            attach(field, model=model, **options)
    with pytest.raises(
        InputError, match=r"no field missing; its fields of vectors are: deep\.l2, dot, near, parts\.v, small"
    ):
        attach("missing")
    with pytest.raises(InputError, match="A leg of each search is called prx"):
        attach("prx")
    with pytest.raises(InputError, match="name a vector, or other formats"):
        attach()
    with pytest.raises(InputError, match="leave beside out"):
        attach("near", beside=True)
    with pytest.raises(InputError, match="shelf is attached without vectors of ses; detach it first"):
        attach("near", formats=("prx",))


def test_passages_are_searched_by_their_nearest_one(shelf, attach, library, owner, vectors):
    report, index = attach("parts.v", "near")
    assert [(one.field, one.cosine is None) for one in report.vectors] == [("near", False), ("parts.v", True)]
    expected = {id_: abs(one) for id_, one in closeness("cosine", query_of(owner), vectors).items()}
    for options in ({}, {"exact": True}):
        page = index.search(QUERY, mode="vector", size=NUMBER, literal=True, **options)
        assert raw(page, "parts.v") == pytest.approx(expected, abs=2e-4)
    since = index.search(QUERY, mode="vector", filter="year>=2005", size=NUMBER, literal=True)
    assert set(raw(since, "parts.v")) == {paper.id for paper in PAPERS if (paper.year or 1900) >= 2005} - {BARE}
    assert set(index.similar(PAPERS[0].id).found) == {"near"}


def test_only_papers_count_among_the_nearest(shelf, attach, vectors):
    # The document without a title has the vector of the first paper, so it would take a place among the nearest.
    _, index = attach("near")
    wanted, size = PAPERS[0].id, 3
    expected = closeness("cosine", vectors[wanted], vectors)
    del expected[wanted]
    nearest = sorted(expected, key=expected.__getitem__, reverse=True)
    found = index.similar(wanted, size=size, window=size)
    assert [hit.id for hit in found] == nearest[:size]


def test_other_functions_use_the_first_field(shelf, attach, library, tmp_path):
    report, index = attach("unit", "dot")
    rejected = [json.loads(line)["id"] for line in report.dead_letter.read_text().splitlines()]
    assert (rejected, library.follow(NAME).rejected) == ([UNTITLED], 1)
    wanted = PAPERS[0]
    assert wanted.id in {paper.hit.id for paper in index.support(wanted.title).papers}
    assert index.suggest("venues", paper_id=wanted.id) == index.suggest("venues", text=wanted.title) == []
    library.feeds.create("mine", index=NAME, liked=[wanted.id])
    assert library.feeds.show("mine", since="1900")
    labels = {"x": {wanted.id: True, PAPERS[1].id: False}}
    for needing in (lambda: library.topics(NAME), lambda: library.tags.train("shelf", NAME, labels)):
        with pytest.raises(InputError, match="detach it, and attach it with formats="):
            needing()


def test_a_page_is_one_request_over_all_fields(shelf, attach, library):
    _, index = attach("near", "unit", formats=("prx",))
    asked = {"join": "engine", "literal": True, "size": 5}
    made = library.cluster.request(QUERY, index=NAME, **asked)
    [request] = made.requests
    body = replaced(request.body, lambda part: made.script.values[part.name] if isinstance(part, Parameter) else part)
    hits = shelf.call("POST", request.path, body)["hits"]["hits"]
    assert len(hits) == 5
    assert not {"near", "unit", "ses"} & {name for hit in hits for name in hit["_source"] if hit["_source"][name]}
    with pytest.raises(InputError, match="has vectors of several models, so they can't be one parameter"):
        library.cluster.request(QUERY, index=NAME, parameters=["vector"], **asked)
    if shelf.product.kind == "opensearch":
        page = index.search(QUERY, mode="hybrid", literal=True, size=5)
        assert hits[0]["_id"] == page[0].id
        library.detach(NAME)
        attach(*FIELDS)
        with pytest.raises(InputError, match="joins up to 5 legs, and this search has 6"):
            library.cluster.request(QUERY, index=NAME, **asked)


def test_artifacts_search_the_first_field(shelf, attach, library):
    attach("small", "dot")
    with pytest.raises(InputError, match="this needs prx vectors of ses; detach it, and attach it with formats=prx"):
        library.cluster.diff(NAME, connector="http://library.example:8765")
    done = {one.name for one in library.cluster.install(NAME)}
    assert f"ses-{NAME}-hybrid" in done
    assert {one.change for one in library.cluster.diff(NAME)} <= {"unchanged", "left out"}
    library.cluster.remove(NAME)


def test_what_was_attached_before_fields_were_known_still_opens(shelf, attach, library):
    _, index = attach(formats=("prx",))
    [physical] = shelf.call("GET", f"/ses.attached.{NAME}.v1")
    facts = index.index.attachment.facts()
    assert "foreign" not in facts["ses"]["attached"]
    assert "foreign" not in facts["ses"]["schema"]
    assert shelf.call("GET", f"/{physical}/_mapping")[physical]["mappings"]["_meta"] == json.loads(json.dumps(facts))
    assert library[NAME].search(QUERY).found.keys() == {"lexical", "prx"}


def test_tuned_weights_are_of_other_legs(shelf, attach, library, caplog):
    attach("near")
    library._tuned = SearchSettings(weights={"lexical": 2.0, "prx": 1.0})
    try:
        page = library[NAME].search(QUERY)
    finally:
        library._tuned = None
    assert page.found.keys() == {"lexical", "near"}
    assert "The tuned weights are not used, since the index shelf has other vectors too: near." in caplog.text


def test_vectors_without_a_graph_are_compared_exactly(server, library, models, owner, vectors):
    remove(server.cluster)
    make(server.cluster, NAME, vectors, graph=False)
    asked = {"title": "heading", "abstract": "summary", "formats": ("none",)}
    library.attach(NAME, vectors={"near": str(models["owner"])}, **asked)
    page = library[NAME].search(QUERY, mode="vector", size=NUMBER, literal=True)
    assert raw(page, "near") == pytest.approx(closeness(owner.card.similarity, query_of(owner), vectors), abs=2e-4)
    # The owner makes the index again, without the field.
    remove(server.cluster)
    server.cluster.call("PUT", f"/{NAME}", {"mappings": {"properties": {"heading": {"type": "text"}}}})
    with pytest.raises(UnavailableError, match="shelf was changed by its owner: the field near of shelf is gone"):
        library[NAME].search(QUERY)
    with pytest.raises(UnavailableError, match="the field near of shelf is gone; attach it again with the fields"):
        library.follow(NAME)
    assert library.detach(NAME).restored == 0
    make(server.cluster, NAME, vectors)  # for tests after this one


def test_commands_name_fields_and_models(server, models, vectors, tmp_path):
    make(server.cluster, NAME, vectors)
    model = models["owner"]

    def run(*arguments):
        done = command(tmp_path, *arguments, "--engine", server.url)
        return done.returncode, done.stdout + done.stderr

    texts = ["--title", "heading", "--abstract", "summary", "--formats", "none"]
    code, told = run("attach", NAME, *texts, "--vector", f"near={model}")
    assert code == 1, told
    assert f"Index shelf, attached to shelf, searched by its own vectors near ({model}): 60 papers" in told
    assert f"Its own vectors near, of {model}: median cosine 1.00 to the model's vectors of 20 documents" in told
    assert f"vectors: 59 in near, 32 numbers each by {model}" in run("indexes", "show", NAME)[1]
    checked = run("doctor", "--index", NAME)[1]
    assert "near: 59 vectors of 32 numbers" in checked
    assert f"searched by its own vectors near ({model})" in checked
    found = json.loads(run("search", QUERY, "--json")[1])
    assert set(found["found"]) == {"lexical", "near"}
    assert "write it as --vector FIELD=MODEL" in run("attach", NAME, "--vector", "near")[1]
    assert run("detach", NAME)[0] == 0
