"""The description of the API, and requests of all kinds made from it."""

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import effort

pytestmark = pytest.mark.serve


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def test_it_names_the_problems_of_every_operation(described):
    assert described["openapi"].startswith("3.1")
    assert "HTTPValidationError" not in described["components"]["schemas"]
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
