"""`contributing/adding_a_page.md`, followed in a copy of the tree."""

from pathlib import Path

from tests.contributing.throwaway import copy_tree, not_as_listed

PAGE = "adding_a_page"
VIEW = '''"""A page that says nothing."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.pages import page


@page
@require_GET
def throwaway(request: HttpRequest) -> HttpResponse:
    """Show nothing."""
    return render(request, "dashboard/throwaway_page.html")
'''
TEMPLATE = """{# nothing #}
{% extends "base.html" %}
{% block title %}Throwaway · Enginehouse{% endblock %}
{% block main %}<div class="head"><h1>Throwaway</h1></div>{% endblock %}
"""
TEST = '''"""The page that says nothing."""

import pytest
from django.test import Client

from tests.apps.pages import signed_in
from tests.factories import make_cast

pytestmark = pytest.mark.django_db


def test_it_is_shown_to_who_is_signed_in_alone() -> None:
    assert "<h1>Throwaway" in signed_in(make_cast().owner).get("/throwaway/").content.decode()
    assert Client().get("/throwaway/").status_code == 302
'''
CONTRACTS = (
    "tests/browser/test_no_page_is_forgotten.py",
    "tests/contracts/test_route_names.py",
    "tests/contracts/test_vocabulary.py",
)


def test_a_page_takes_the_files_of_its_page_and_is_walked(tmp_path: Path) -> None:
    copy = copy_tree(tmp_path)
    urls = "apps/dashboard/urls.py"
    copy.write("apps/dashboard/throwaway_page.py", VIEW)
    copy.write("templates/dashboard/throwaway_page.html", TEMPLATE)
    copy.write("tests/apps/dashboard/test_throwaway_page.py", TEST)
    copy.put(
        urls, ", throwaway_page", after="from apps.dashboard import config_reference, rule_pages"
    )
    copy.put(urls, '    path("throwaway/", throwaway_page.throwaway, name="throwaway"),\n',
             before='    path("rules/"')  # fmt: skip
    copy.put("apps/ui/context.py", '    ("Throwaway", "dashboard:throwaway"),\n',
             before='    ("Secrets", "secrets:list"),\n')  # fmt: skip
    copy.put("tests/browser/screenshots.py", '        "throwaway": "/throwaway/",\n',
             before='        "rules": "/rules/')  # fmt: skip
    copy.put("CHANGELOG.md", "- A page about nothing.\n", after="### REST\n\n")
    assert not_as_listed(PAGE, copy.changed()) == []
    copy.test("tests/apps/dashboard/test_throwaway_page.py", *CONTRACTS)
