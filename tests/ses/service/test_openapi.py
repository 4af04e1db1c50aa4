"""The description of the API, and requests of all kinds made from it."""

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import effort

pytestmark = pytest.mark.serve


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


@pytest.mark.slow
def test_it_names_the_problems_of_every_operation(described):
    assert described["openapi"].startswith("3.1")
    assert "HTTPValidationError" not in described["components"]["schemas"]
    problem = described["components"]["schemas"]["Problem"]
    assert set(problem["required"]) <= set(problem["examples"][0]) <= set(problem["properties"])
    for path in described["paths"].values():
        for operation in path.values():
            assert operation["summary"]
            assert "422" not in operation["responses"]
            assert operation["responses"]["400"] == {"$ref": "#/components/responses/Problem400"}


@pytest.mark.slow
def test_no_request_made_from_it_is_a_fault_and_answers_are_as_described(client):
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
        unsupported_method,
    )

    checks = (
        *(not_a_server_error, status_code_conformance, content_type_conformance),
        *(response_headers_conformance, response_schema_conformance, unsupported_method),
    )
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
    tried = 0
    for operation in schema.get_all_operations():
        strategy = operation.ok().as_strategy()

        def ask(case):
            case.call_and_validate(checks=checks)

        from hypothesis import given

        given(case=strategy)(
            settings(
                max_examples=effort(4, 8, 500), deadline=None, suppress_health_check=list(HealthCheck), database=None
            )(ask)
        )()
        tried += 1
    assert tried >= 8


WIDE = {"window": 10_000, "size": 0}
ASKED = {
    "/v1/search": {"mode": "lexical", **WIDE},
    "/v1/suggest": {},
    "/v1/facets/{field}": {"mode": "lexical"},
    "/v1/similar/{paper_id}": WIDE,
    "/v1/maps": {"mode": "lexical", "window": 10_000, "size": 1},
    "/v1/support": {"sentence": "A virus", "mode": "lexical"},
    "/v1/papers/{paper_id}": {},
    "/v1/tags": {},
    "/v1/feeds/{name}.atom": {},
    "/v1/similar": {"title": "A virus", **WIDE},
    "/v1/encode": {"texts": ["a"]},
    "/v1/embeddings": {"input": "a"},
    "/v1/rerank": {"query": "a", "documents": ["a"]},
    "/v2/rerank": {"query": "a", "documents": ["a"]},
}
"""A request of each operation with inputs, in which no value is bounded by another."""

BY_THE_MODEL = ("dimensions",)
"""Numbers for which the model decides."""


def inputs_of(described):
    """Yield the operation, the name and the schema of every input; of an alternative, each by itself."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            inputs = [(one["name"], one["schema"]) for one in operation.get("parameters", ()) if one["in"] == "query"]
            if body := operation.get("requestBody"):
                (schema,) = (one["schema"] for one in body["content"].values())
                inputs += described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"].items()
            for name, schema in inputs:
                for one in schema.get("anyOf", [schema]):
                    yield method, path, name, one


def values_of(schema):
    """Yield values and whether a schema allows them: at its bounds, beyond them, and large ones where it has none."""
    kind = schema.get("type")
    if "enum" in schema:
        yield from ((one, True) for one in schema["enum"])
        yield "none of them", False
    elif kind in ("integer", "number"):
        step = 1 if kind == "integer" else 0.01
        for bound, sign in (("minimum", -1), ("maximum", 1)):
            if bound in schema:
                number = int(schema[bound]) if kind == "integer" else schema[bound]
                yield from ((number, True), (number + sign * step, False))
            else:
                yield from ((sign * 1_000_000, True), (sign * 2_000_000_000, True))
        yield "many", False
    elif kind == "string":
        yield from (("", False), (" ", "pattern" not in schema)) if schema.get("minLength") else ()
        yield from sizes_of("a", schema.get("minLength"), schema.get("maxLength"))
    elif kind == "array":
        yield from sizes_of(["a"], schema.get("minItems"), schema.get("maxItems"))


def sizes_of(one, least, most):
    """Yield texts or lists of the least and the most allowed size, and one less and more."""
    if least:
        yield from ((one * least, True), (one * (least - 1), False))
    if most:
        yield from ((one * most, True), (one * (most + 1), False))


@pytest.mark.slow
def test_its_limits_are_those_of_the_service(client, library, described):
    library.feeds.create("described", index="papers", liked=["p00001"])
    wrong, compared = [], 0
    for method, path, name, schema in inputs_of(described):
        if path not in ASKED:
            assert not list(values_of(schema)), f"{path} is not compared"
            continue
        if name in BY_THE_MODEL:
            continue
        place = path.format(field="venue", paper_id="p00001", name="described")
        for value, allowed in values_of(schema):
            asked = {**ASKED[path], name: value}
            sent = {"params": asked} if method == "get" else {"json": asked}
            answer = client.request(method, place, **sent)
            compared += 1
            accepted = answer.status_code not in (400, 422)
            if accepted != allowed:
                wrong.append((method, path, name, str(value)[:20], allowed, answer.text[:150]))
    assert not wrong, "\n".join(map(str, wrong))
    assert compared > 150


def test_a_default_is_a_value_that_is_allowed(described):
    for _, path, name, schema in inputs_of(described):
        if "default" in schema:
            assert "enum" not in schema or schema["default"] in schema["enum"], (path, name)
