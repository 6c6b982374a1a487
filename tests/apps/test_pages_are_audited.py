"""Every page that takes a POST leaves an entry in the audit trail, or says why it need not."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.urls import URLPattern, URLResolver, get_resolver
from time_machine import TimeMachineFixture

from apps.accounts.models import (
    AuditEntry,
    TeamRole,
)
from tests import factories
from tests.apps.accounts.signing_in.test_two_steps import PASSWORD, stop_the_clock_of_codes
from tests.apps.breadth import each_of
from tests.apps.hostile.test_pages import NOT_PAGES, PART, VALUES
from tests.apps.page_posts import POSTS, World
from tests.apps.pages import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.wide]

CHANGES_NOTHING = {
    "builds:forecast": "computes",
    "configs:check": "computes",
    "configs:check_new": "computes",
    "configs:fit": "computes",
    "configs:fit_new": "computes",
    "configs:paste": "computes",
    "deployments:call": "passes a request on to a model, whose usage is counted",
}
CHECKED_ELSEWHERE = {
    "accounts:sign_in": "tests/apps/accounts/audit/test_audit.py",
    "builds:fix": "needs a failure with a fix: tests/apps/builds",
    "builds:promote": "needs a gate: tests/apps/builds",
    "builds:start": "needs a checkpoint: tests/apps/builds",
    "deployments:change": "needs a checkpoint: tests/apps/deployments/changing",
    "deployments:change_effect": "computes",
    "builds:start_new": "needs a checkpoint: tests/apps/builds",
    "calibration_sets:list": "needs a file: tests/apps/configs/calibration_sets",
    "calibration_sets:delete": "needs a store: tests/apps/configs/calibration_sets",
    "calibration_sets:start_preview": "needs a set: tests/apps/configs/calibration_sets",
    "lookahead_tunings:apply": "needs a result: tests/apps/configs/test_lookahead_tunings.py",
    "lookahead_tunings:cancel": "needs a set: tests/apps/configs/test_lookahead_tunings.py",
    "lookahead_tunings:list": "needs a set: tests/apps/configs/test_lookahead_tunings.py",
    "node_remove": "needs the node's name: tests/apps/deployments/nodes/test_removing_nodes.py",
}


@pytest.fixture
def world(settings: Any, tmp_path: Any, time_machine: TimeMachineFixture) -> World:
    stop_the_clock_of_codes(time_machine)
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    team = factories.make_team()
    admin = factories.make_user(team=team, is_admin=True, role=TeamRole.ADMIN)
    admin.password = _hashed()
    admin.save()
    return World(
        admin=admin,
        member=factories.make_user(team=team),
        deployment=factories.make_deployment(
            model=factories.make_model(team=team), environment="production"
        ),
        browser=signed_in(admin),
    )


@cache
def _hashed() -> str:
    """Return the password's hash, which takes its time, once for all tests."""
    return make_password(PASSWORD)


@each_of("page", [*POSTS])
def test_a_page_leaves_an_entry_of_who_sent_it(world: World, broker: str, page: str) -> None:
    path, form = POSTS[page](world)
    last = AuditEntry.objects.order_by("id").last()
    answer = world.browser.post(path, form)
    assert answer.status_code < 400, answer.content.decode()
    entries = AuditEntry.objects.filter(id__gt=last.id if last else 0, source="page")
    assert [each for each in entries if each.actor_label == world.admin.email], page


def test_every_page_that_takes_a_post_is_called_here_or_named_with_the_reason(world: World) -> None:
    taking = {
        name
        for name, path in _pages(get_resolver().url_patterns)
        if "POST" in world.browser.put(path).headers.get("Allow", "")
    }
    assert taking == {*POSTS, *CHANGES_NOTHING, *CHECKED_ELSEWHERE}


def _pages(patterns: Any, before: str = "/", area: str = "") -> Iterator[tuple[str, str]]:
    for each in patterns:
        path = before + str(each.pattern)
        if path.startswith(NOT_PAGES):
            continue
        if isinstance(each, URLResolver):
            yield from _pages(each.url_patterns, path, each.namespace or area)
        elif isinstance(each, URLPattern):
            filled = PART.sub(lambda part: VALUES.get(part[1], "zzzzzzzz"), path)
            yield f"{area}:{each.name}".lstrip(":"), filled
