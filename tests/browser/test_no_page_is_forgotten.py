"""Every address that shows a page is among those that axe-core, 320 px and the camera walk."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, resolve

from tests.browser.screenshots import pages_of, pages_of_admins

if TYPE_CHECKING:
    from tests.browser.stage import Stage

NOT_PAGES = {
    "accounts:audit_export": "a file",
    "accounts:code": "the second step of a sign-in that has begun",
    "accounts:session": "who is signed in, for our own scripts",
    "artifacts:download": "a file",
    "artifacts:passport": "a file",
    "benchmarks:export": "a file",
    "builds:forecast_of_revision": "a part of the revision's page",
    "builds:log": "lines for the log of a build's page",
    "builds:support_bundle": "a file",
    "dashboard:config_schema": "a file for editors",
    "dashboard:incidents": "a part of the overview",
    "deployments:deploy_effect": "a part of the page that deploys",
    "deployments:log": "lines for the log of a deployment's page",
    "deployments:log_file": "the same as a file",
    "deployments:series": "numbers for the charts",
    "healthz": "a probe",
    "livez": "a probe",
    "metrics": "text for Prometheus",
    "metrics_targets": "JSON for Prometheus",
    "openid_connect_callback": "the provider's way back",
    "openid_connect_login": "the way to the provider",
    "readyz": "a probe",
}
PROGRAMS = ("v1", "internal/")


def test_no_page_is_forgotten(stage: "Stage") -> None:
    walked = {
        resolve(path.partition("?")[0]).view_name
        for path in (pages_of(stage) | pages_of_admins()).values()
    }
    shown = {name for name, view in named_views() if "GET" in (methods_of(view) or ["GET"])}
    assert shown - walked == NOT_PAGES.keys()


@pytest.mark.usefixtures("measured")
def test_every_page_that_is_walked_is_there(stage: "Stage") -> None:
    for user, paths in ((stage.owner, pages_of(stage)), (stage.admin, pages_of_admins())):
        client = Client()
        client.force_login(user)
        statuses = {name: client.get(path).status_code for name, path in paths.items()}
        assert {name: each for name, each in statuses.items() if each != 200} == {}


def named_views() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every address that people open, by its name."""
    yield from _below(get_resolver().url_patterns, "", ())


def _below(
    patterns: list[Any], path: str, spaces: tuple[str, ...]
) -> Iterator[tuple[str, Callable[..., Any]]]:
    for each in patterns:
        whole = path + str(each.pattern)
        if whole.startswith(PROGRAMS):
            continue
        if isinstance(each, URLPattern):
            yield ":".join((*spaces, each.name or whole)), each.callback
        else:
            below = (*spaces, each.namespace) if each.namespace else spaces
            yield from _below(each.url_patterns, whole, below)


def methods_of(view: Callable[..., Any] | None) -> list[str] | None:
    """Return the methods that a view was decorated with, None where it takes any."""
    while view is not None:
        for cell in getattr(view, "__closure__", None) or ():
            holding = cell.cell_contents
            if isinstance(holding, list | tuple) and holding and {*map(type, holding)} == {str}:
                return [*holding]
        view = getattr(view, "__wrapped__", None)
    return None
