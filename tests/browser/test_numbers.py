"""What the browser draws is written as the server writes it."""

import pytest
from django.templatetags.static import static

from apps.ui import formats
from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser
VALUES = (0, 0.0004, 0.005, 0.0096, 0.0123, 0.2, 0.999, 1, 3.44, 9.96, 10, 59.7, 99.5, 100, 1234.6,
          86_399, 273_600, 2_240_113)  # fmt: skip
WRITTEN = """async ([address, values]) => {
  const formats = await import(address);
  return Object.fromEntries(["number", "rate", "duration", "percent"].map(
    (name) => [name, [...values, null].map((value) => formats[name](value))],
  ));
}"""


def test_the_browser_writes_numbers_as_the_server_does(visit: OpenPage) -> None:
    page = visit("/sign-in/")
    written = page.evaluate(WRITTEN, [static("js/numbers.js"), VALUES])
    for name, shown in written.items():
        write = getattr(formats, name)
        assert shown == [write(value) for value in (*VALUES, None)], name
