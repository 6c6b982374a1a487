"""The routes version grows with the change it stands for."""

import pytest
from django.db import transaction

from apps.accounts.routes_version import routes_version_bump, routes_version_current

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_bump_returns_the_version_the_change_will_be_known_by(broker: str) -> None:
    before = routes_version_current()
    with transaction.atomic():
        assert routes_version_bump() == before + 1
    assert routes_version_current() == before + 1


def test_a_bump_outside_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError, match="in the transaction"):
        routes_version_bump()
