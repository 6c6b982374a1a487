"""Generated requests over the whole OpenAPI document: no failure of ours, nothing undocumented."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.rest.specification import document
from tests.factories import Cast, make_api_key, make_cast

CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
WHO = ("owner", "member", "outsider", "organisation_admin")


@pytest.fixture(scope="module")
def operations() -> list[Any]:
    schema = schemathesis.openapi.from_dict(deepcopy(document()))
    schema.app = get_wsgi_application()
    return [each.ok() for each in schema.get_all_operations()]


@pytest.fixture
def cast(settings: Any, tmp_path: Any, db: None, broker: str) -> Iterator[Cast]:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    settings.API_REQUESTS_PER_MINUTE = 0
    # As the framework's own test client does: the test's transaction lies on this connection.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield make_cast()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def ask(operations: list[Any], key: str, examples: int) -> list[str]:
    """Return what did not hold, by operation."""
    complaints = []
    for operation in operations:
        try:
            _ask_one(operation, key, examples)
        except (Exception, BaseExceptionGroup) as error:
            complaints.append(f"{operation.label}: {getattr(error, 'exceptions', error)}")
    return complaints


def _ask_one(operation: Any, key: str, examples: int) -> None:
    @hypothesis.given(case=operation.as_strategy())
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    def try_it(case: Any) -> None:
        case.headers["Authorization"] = f"Bearer {key}"
        case.call_and_validate(checks=CHECKS)

    try_it()


@pytest.mark.parametrize("number", range(3))
def test_a_request_of_each_operation(cast: Cast, operations: list[Any], number: int) -> None:
    key = make_api_key(user=getattr(cast, WHO[number]), type="PERSONAL")
    assert ask(operations[number::3], key, 1) == []


@pytest.mark.long
@pytest.mark.parametrize("who", WHO)
def test_many_requests_of_each_operation(cast: Cast, operations: list[Any], who: str) -> None:
    key = make_api_key(user=getattr(cast, who), type="PERSONAL")
    assert ask(operations, key, 100) == []
