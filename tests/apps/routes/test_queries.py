"""What gateways ask for every second, as PostgreSQL's client takes it."""

from psycopg import _queries

from apps.routes.queries import CHANGED


def test_what_changed_is_short_enough_for_the_client_to_read_it_once() -> None:
    assert len(CHANGED) <= _queries.MAX_CACHED_STATEMENT_LENGTH
    assert "\n" not in CHANGED
