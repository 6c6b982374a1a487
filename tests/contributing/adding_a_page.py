"""What `contributing/adding_a_page.md` says of a page about nothing."""

from tests.contributing.throwaway import Change, Copy

VIEW = '''"""A page that says nothing."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.pages import page


@page
@require_GET
def pointless(request: HttpRequest) -> HttpResponse:
    """Show nothing."""
    return render(request, "dashboard/pointless_page.html")
'''
TEMPLATE = """{# nothing #}
{% extends "base.html" %}
{% block title %}Pointless · Enginehouse{% endblock %}
{% block main %}<div class="head"><h1>Pointless</h1></div>{% endblock %}
"""
TEST = '''"""The page that says nothing."""

import pytest
from django.test import Client

from tests.apps.pages import signed_in
from tests.factories import make_cast

pytestmark = pytest.mark.django_db


def test_it_is_shown_to_who_is_signed_in_alone() -> None:
    assert "<h1>Pointless" in signed_in(make_cast().owner).get("/pointless/").content.decode()
    assert Client().get("/pointless/").status_code == 302
'''
CONTRACTS = (
    "tests/browser/test_no_page_is_forgotten.py",
    "tests/contracts/test_route_names.py",
    "tests/contracts/test_vocabulary.py",
)


def _follow(copy: Copy) -> None:
    urls = "apps/dashboard/urls.py"
    copy.write("apps/dashboard/pointless_page.py", VIEW)
    copy.write("templates/dashboard/pointless_page.html", TEMPLATE)
    copy.write("tests/apps/dashboard/test_pointless_page.py", TEST)
    copy.put(
        urls, ", pointless_page", after="from apps.dashboard import config_reference, rule_pages"
    )
    copy.put(urls, '    path("pointless/", pointless_page.pointless, name="pointless"),\n',
             before='    path("rules/"')  # fmt: skip
    copy.put("apps/ui/navigation.py",
             '    Place(name="Pointless", route="dashboard:pointless"),\n',
             before='    Place(name="Runtimes",')  # fmt: skip
    copy.put("tests/browser/screenshots.py", '        "pointless": "/pointless/",\n',
             before='        "rules": "/rules/')  # fmt: skip
    copy.put("CHANGELOG.md", "- A page about nothing.\n", after="### REST\n\n")


CHANGES = (
    Change(
        page="adding_a_page",
        of="a page",
        follow=_follow,
        tests=("tests/apps/dashboard/test_pointless_page.py", *CONTRACTS),
    ),
)
