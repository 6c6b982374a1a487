"""The documentation as pages: every link of it leads somewhere, and nothing of it is raw HTML."""

import re
from functools import cache

import pytest
from django.conf import settings

from apps.dashboard.docs.library import documents
from apps.dashboard.docs.markdown import html_of
from apps.ui.navigation import GROUPS
from tests.apps.pages import signed_in
from tests.factories import make_cast

HREF = re.compile(r'href="([^"#]*)(?:#([^"]*))?"')
OF_PAGES = re.compile(r"'dashboard:document' '([^']+)' %\}(?:#([\w-]+))?")
ID = re.compile(r' id="([^"]*)"')


def test_every_link_within_leads_to_a_document_and_a_heading_that_are_there() -> None:
    lost = []
    for document in documents().values():
        folder = document.path.rpartition("/")[0]
        for target, heading in HREF.findall(document.html):
            if target.startswith("http"):
                continue
            path = _joined(folder, target).removesuffix(".html") if target else document.path
            there = documents().get(path)
            if there is None or (heading and heading not in _headings(path)):
                lost.append((document.path, target, heading))
    assert lost == []


def test_every_link_of_a_page_leads_to_a_document_and_a_heading_that_are_there() -> None:
    links = [
        link
        for template in (settings.ROOT / "templates").rglob("*.html")
        for link in OF_PAGES.findall(template.read_text())
    ]
    assert ("several_hosts", "4-the-gpu-host") in links
    lost = [
        (path, heading)
        for path, heading in links
        if path not in documents() or (heading and heading not in _headings(path))
    ]
    assert lost == []


@cache
def _headings(path: str) -> frozenset[str]:
    return frozenset(ID.findall(documents()[path].html))


def _joined(folder: str, target: str) -> str:
    parts = folder.split("/") if folder else []
    for part in target.split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def test_what_every_place_says_is_written_about_it_is_there() -> None:
    named = {place.document for group in GROUPS for place in group.places} - {""}
    assert named <= documents().keys()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A `b`, c\n", '<h1 id="a-b-c">A <code>b</code>, c</h1>'),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("[x](../LICENSE)", "<p>x</p>"),
        ("[x](../config.md)", '<p><a href="../config.html">x</a></p>'),
        ("[x](javascript:alert)", "<p>[x](javascript:alert)</p>"),
        ("|a|\n|-|\n|b<br>c|", "<td>b<br />\nc</td>"),
        ("2,650 of `1,024`", "2\u202f650 of <code>1,024</code>"),
    ],
)
def test_markdown_becomes_html_without_what_does_not_belong(text: str, html: str) -> None:
    assert html in html_of(text, page="guide/x.md")


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
def test_a_document_is_read_by_who_is_signed_in_and_none_outside_of_the_folder() -> None:
    page = signed_in(make_cast().member)
    assert "<h1" in page.get("/docs/").content.decode()
    assert "<h1" in page.get("/docs/guide/from_vllm.html").content.decode()
    for path in ("/docs/../README.html", "/docs/%2e%2e/README.html", "/docs/nowhere.html"):
        assert page.get(path).status_code == 404, path
