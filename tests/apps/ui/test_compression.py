"""Whole pages are compressed for who takes it; parts, small ones and REST are not."""

import gzip

import pytest
from django.http import HttpRequest, HttpResponse

from apps.ui.compression import CompressedPagesMiddleware

PAGE = "<p>words of a page</p>" * 400


def answered(
    *, accepts: str = "gzip, br", content_type: str = "text/html", page: str = PAGE, **headers: str
) -> HttpResponse:
    request = HttpRequest()
    request.META = {"HTTP_ACCEPT_ENCODING": accepts} | headers
    handler = CompressedPagesMiddleware(lambda _: HttpResponse(page, content_type=content_type))
    response: HttpResponse = handler(request)
    return response


def test_a_page_is_compressed_and_says_the_same() -> None:
    response = answered()
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["Content-Length"] == str(len(response.content))
    assert "Accept-Encoding" in response.headers["Vary"]
    assert gzip.decompress(response.content).decode() == PAGE
    assert len(response.content) < len(PAGE) / 10


@pytest.mark.parametrize(
    "told",
    [
        {"accepts": "identity"},
        {"content_type": "application/json"},
        {"page": "<p>short</p>"},
        {"HTTP_HX_REQUEST": "true"},
    ],
    ids=lambda told: next(iter(told)),
)
def test_what_is_not_to_be_compressed_stays_as_it_is(told: dict[str, str]) -> None:
    response = answered(**told)
    assert "Content-Encoding" not in response.headers
    assert response.content.decode() == told.get("page", PAGE)


def test_the_length_of_a_compressed_page_is_never_the_same_for_long() -> None:
    assert len({len(answered().content) for _ in range(20)}) > 1
