"""No list takes more queries for more rows."""

from collections.abc import Mapping

import pytest
from django.db import transaction
from django.test import Client

from benchmarks.many_rows import Amounts, fill
from benchmarks.pages import pages_of
from tests.apps.breadth import Choose, every_sixth
from tests.apps.pages import queries_of, signed_in
from tests.factories import make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
FEW = Amounts(configs=2, builds=8, deployments=2, others=2, minutes=2)
A_FEW_MORE = Amounts(configs=6, builds=16, deployments=6, others=5, minutes=2)
MORE_THAN_A_PAGE = Amounts(configs=55, builds=120, deployments=60, others=12, minutes=2)


def queries_with(amounts: Amounts, choose: Choose) -> Mapping[str, int]:
    """Return the number of queries of the chosen lists of an admin whose team has so many rows."""
    with transaction.atomic():
        admin = make_cast().organisation_admin
        filled = fill(admin.team, admin, amounts)
        client: Client = signed_in(admin)
        values = {}
        pages = pages_of(filled)
        for name in choose([*pages]):
            path = pages[name]
            client.get(path)  # what is remembered for the process is not counted
            values[name] = queries_of(client, path)
        transaction.set_rollback(True)
    return values


@pytest.mark.parametrize(
    ("more", "choose"),
    [
        pytest.param(A_FEW_MORE, every_sixth, id="some"),
        pytest.param(MORE_THAN_A_PAGE, list, id="two pages of all", marks=pytest.mark.wide),
    ],
)
def test_a_list_takes_as_many_queries_for_more_rows_as_for_a_few(
    more: Amounts, choose: Choose
) -> None:
    few, many = queries_with(FEW, choose), queries_with(more, choose)
    assert {name: (few[name], many[name]) for name in few if many[name] > few[name]} == {}
