"""No list takes more queries for more rows."""

from collections.abc import Mapping

import pytest
from django.db import transaction
from django.test import Client

from benchmarks.many_rows import Amounts, fill
from benchmarks.pages import pages_of
from tests.apps.pages import queries_of, signed_in
from tests.factories import make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
FEW = Amounts(configs=2, builds=8, deployments=2, others=2, minutes=2)
MORE_THAN_A_PAGE = Amounts(configs=55, builds=120, deployments=60, others=12, minutes=2)


def queries_with(amounts: Amounts) -> Mapping[str, int]:
    """Return the number of queries of every list of an admin whose team has so many rows."""
    with transaction.atomic():
        admin = make_cast().organisation_admin
        filled = fill(admin.team, admin, amounts)
        client: Client = signed_in(admin)
        found = {}
        for name, path in pages_of(filled).items():
            client.get(path)  # what is remembered for the process is not counted
            found[name] = queries_of(client, path)
        transaction.set_rollback(True)
    return found


def test_a_list_takes_as_many_queries_for_two_pages_of_rows_as_for_a_few() -> None:
    few, many = queries_with(FEW), queries_with(MORE_THAN_A_PAGE)
    assert {name: (few[name], many[name]) for name in few if many[name] > few[name]} == {}
