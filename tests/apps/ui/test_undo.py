"""Undo is offered where it is true: pressed, all is as it was."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Membership, RestrictedEnvironment
from apps.deployments.models import Deployment
from apps.deployments.services.autoscaling import autoscaling_settings
from apps.fleet.models import Node
from apps.secrets.models import Secret
from apps.secrets.services.values import secret_set
from tests import factories
from tests.apps.pages import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
_UNDO = re.compile(r'<form class="after-said" method="post" action="([^"]+)">(.*?)</form>', re.S)
_FIELD = re.compile(r'<input type="hidden" name="(?!csrf)(\w+)" value="([^"]*)">')
Act = tuple[str, dict[str, str], Callable[[], Any]]


def cordoned(cast: factories.Cast) -> Act:
    node = factories.make_node()
    values = Node.objects.filter(id=node.id).values_list("cordoned", flat=True)
    return f"/nodes/{node.id}/cordon/", {}, values.get


def uncordoned(cast: factories.Cast) -> Act:
    node = factories.make_node(cordoned=True)
    values = Node.objects.filter(id=node.id).values_list("cordoned", flat=True)
    return f"/nodes/{node.id}/uncordon/", {}, values.get


def made_an_admin(cast: factories.Cast) -> Act:
    values = Membership.objects.filter(user=cast.member).values_list("role", flat=True)
    return f"/people/{cast.member.id}/role/", {"role": "admin"}, values.get


def restricted(cast: factories.Cast) -> Act:
    return "/people/restrict/", {"name": "production"}, RestrictedEnvironment.objects.count


def queueing(cast: factories.Cast) -> Act:
    made = factories.make_deployment(team=cast.team)
    values = Deployment.objects.filter(id=made.id).values_list("backpressure_policy", flat=True)
    return f"/models/{made.model_id}/{made.id}/full/", {"policy": "QUEUE_ON_FULL"}, values.get


def resized(cast: factories.Cast) -> Act:
    made = factories.make_deployment(team=cast.team)
    values = Deployment.objects.filter(id=made.id).values_list("max_replica", flat=True)
    form = {name: str(value) for name, value in autoscaling_settings(made).items()}
    typed = {**form, "max_replica": "3", "target_in_flight_tokens": ""}
    return f"/models/{made.model_id}/{made.id}/size/", typed, values.get


def expiring(cast: factories.Cast) -> Act:
    made = secret_set(team=cast.team, name="hub", value="value", user=cast.owner)
    values = Secret.objects.filter(id=made.id).values_list("expires_at", flat=True)
    return f"/secrets/{made.id}/expiry/", {"expires_at": "2999-01-01"}, values.get


@pytest.fixture
def cast() -> factories.Cast:
    made = factories.make_cast()
    made.owner.is_admin = True
    made.owner.save()
    return made


@pytest.mark.parametrize(
    "act", [cordoned, uncordoned, made_an_admin, restricted, queueing, resized, expiring]
)
def test_what_was_just_done_is_undone_by_its_button(
    cast: factories.Cast, act: Callable[[factories.Cast], Act]
) -> None:
    path, form, report = act(cast)
    browser, before = signed_in(cast.owner), report()
    page = browser.post(path, form, follow=True).content.decode()
    assert report() != before
    assert press_undo(browser, page) == 200
    assert report() == before


def press_undo(browser: Client, page: str) -> int:
    """Return the status of the page that the button of a page leads to."""
    match = _UNDO.search(page)
    assert match is not None, "no Undo"
    fields = {name: unescape(value) for name, value in _FIELD.findall(match[2])}
    return browser.post(unescape(match[1]), fields, follow=True).status_code
