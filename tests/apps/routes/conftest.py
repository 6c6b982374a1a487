"""A gateway that was told everything once."""

import pytest
from django.db import transaction

from apps.accounts.routes_version import routes_version_bump
from apps.routes.book import RoutesBook
from tests.apps.routes.follower import Follower
from tests.factories import make_api_key
from tests.manual_clock import ManualClock


@pytest.fixture
def follower() -> Follower:
    made = Follower(RoutesBook(ManualClock()))
    with transaction.atomic():
        routes_version_bump()
    make_api_key()
    made.poll()
    return made
