"""A test without a database is spared its fixtures; none loses one that its marks ask for."""

import pytest

from tests.needed_fixtures import needed_fixtures


@pytest.fixture
def needed(request: pytest.FixtureRequest) -> set[str]:
    return {*needed_fixtures(request.node)}


def test_a_test_that_asks_for_nothing_gets_nothing_of_the_database(needed: set[str]) -> None:
    assert needed.isdisjoint({"_django_db_marker", "_live_server_helper", "all_is_answered"})


@pytest.mark.django_db
def test_one_with_the_mark_gets_the_database(
    needed: set[str], request: pytest.FixtureRequest
) -> None:
    assert needed >= {"_django_db_marker", "all_is_answered"}
    assert needed <= {*request.fixturenames}


def test_one_with_the_fixture_gets_the_database(needed: set[str], db: None) -> None:
    assert needed >= {"_django_db_marker", "all_is_answered"}


@pytest.mark.urls("controlplane.urls")
def test_a_mark_of_pytest_django_still_does_what_it_says(
    request: pytest.FixtureRequest,
) -> None:
    assert "_django_set_urlconf" in request.fixturenames
