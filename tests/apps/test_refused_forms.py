"""A form that is refused says which of its fields is wrong, and comes back with what was typed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import transaction
from django.http import HttpResponseBase

from apps.ui.refusals import refusal_of
from tests.apps.page_posts import POSTS, World
from tests.apps.test_pages_are_audited import world as world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
LONG = "x" * 300
WRONG: dict[str, tuple[str, str]] = {
    "alerts:limits": ("error_share_percent", "-1"),
    "alerts:channels": ("target", "nonsense"),
    "alerts:channel": ("target", "nonsense"),
    "alerts:delete_channel": ("name", "another"),
    "accounts:change_password": ("old", "nobody knows it"),
    "accounts:confirm_two_steps": ("code", "000000"),
    "accounts:end_two_steps": ("password", "nobody knows it"),
    "accounts:key_create": ("requests_per_minute", "-1"),
    "accounts:key_revoke": ("name", "another"),
    "accounts:invite": ("email", "nobody"),
    "accounts:remove": ("name", "another"),
    "accounts:restrict": ("name", "prodution"),
    "accounts:team_create": ("name", LONG),
    "accounts:team_rename": ("name", LONG),
    "accounts:team_delete": ("name", "another"),
    "artifacts:delete": ("name", "another"),
    "artifacts:pushes": ("destination", "nowhere"),
    "benchmarks:start": ("levels", "none"),
    "configs:rename": ("name", LONG),
    "deployments:backpressure": ("policy", "NONSENSE"),
    "deployments:deactivate": ("name", "another"),
    "deployments:delete": ("name", "another"),
    "deployments:deploy": ("model_name", "/no name/"),
    "deployments:environment_create": ("name", "production"),
    "deployments:environment_delete": ("name", "another"),
    "deployments:model_delete": ("name", "another"),
    "deployments:moves": ("max_surge_percent", "999"),
    "deployments:rename": ("name", "/no name/"),
    "deployments:resize": ("max_replica", "0"),
    "deployments:schedules": ("min_replica", "-1"),
    "deployments:schedules_timezone": ("timezone", "Mars/Base"),
    "fleet:label": ("name", "no label!"),
    "remote_code:list": ("commit", "short"),
    "remote_code:revoke": ("reason", ""),
    "secrets:delete": ("name", "another"),
    "secrets:expire": ("expires_at", "nonsense"),
    "secrets:list": ("name", "no name!"),
    "set_price": ("per_hour", "-2"),
    "traffic_samples:consent": ("percent", "a tenth"),
}

CHOSEN_ONLY = {
    "accounts:set_role",
    "accounts:set_account_status",
    "deployments:promote",
    "deployments:schedule_delete",
    "deployments:wake",
    "fleet:assign_devices",
    "fleet:assign_pool",
}
"""Forms of choices and boxes: nothing is typed into them."""
ANOTHER_WAY = {
    "accounts:code": "tests/browser/test_accessibility.py",
    "configs:editor": "tests/browser/nothing_typed_is_lost",
    "configs:new": "tests/browser/nothing_typed_is_lost",
    "secrets:test": "any text may name a repository or a bucket",
}


def test_each_form_with_a_wrong_value_names_the_field_that_is_wrong(world: World) -> None:
    unclear = {}
    for name, (field, value) in WRONG.items():
        with undone():
            path, form = POSTS[name](world)
            answer = world.browser.post(path, {**form, field: value})
            if not (is_marked(answer, field, value) or names_field(answer, path, field)):
                unclear[name] = f"{answer.status_code} {said(answer)}"
    assert not unclear, "\n".join(f"{name}: {each}" for name, each in unclear.items())


def test_no_form_with_something_typed_is_forgotten(world: World) -> None:
    hidden = {"leaving", "schedule"}
    asking = {}
    for name in POSTS.keys() - {*WRONG, *CHOSEN_ONLY, *ANOTHER_WAY}:
        with undone():
            _, form = POSTS[name](world)
            asking[name] = {field for field in form.keys() - hidden if form[field]}
    assert {name: fields for name, fields in asking.items() if fields} == {}


@contextmanager
def undone() -> Iterator[None]:
    """Each form finds the team as it was."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def is_marked(answer: HttpResponseBase, field: str, value: str) -> bool:
    """Whether the page has the form as it was sent, with the field marked."""
    if answer.status_code != 400:
        return False
    page = answer.content.decode()  # type: ignore[attr-defined]
    return 'aria-invalid="true"' in page and f'name="{field}"' in page and value in page


def names_field(answer: HttpResponseBase, path: str, field: str) -> bool:
    """Whether the next page puts the form back, with the words beside the field."""
    return answer.status_code == 302 and any(
        report and report["path"] == path and field in report["fields"]
        for report in refusals(answer)
    )


def refusals(answer: HttpResponseBase) -> list[Any]:
    return [refusal_of(each) for each in get_messages(answer.wsgi_request)]  # type: ignore[attr-defined]


def said(answer: HttpResponseBase) -> str:
    reports = [*get_messages(answer.wsgi_request)]  # type: ignore[attr-defined]
    return f"{reports[-1]} {reports[-1].tags}" if reports else "nothing"
