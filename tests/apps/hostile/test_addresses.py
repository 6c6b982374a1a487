"""What an address asks a page for may be anything; no page breaks on it."""

from typing import Any

import pytest

from tests.apps.breadth import Choose, chosen
from tests.apps.hostile.test_page_access import addresses, things_of
from tests.apps.pages import signed_in
from tests.factories import make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]

ASKED = (
    ("after", "at", "beside", "call", "config", "copy", "from", "label", "name", "page", "q",
     "severity", "state", "to", "version", "view"),
    ("build", "example", "repo"),
)  # fmt: skip
"""Every name that a page reads from its address; the second ones are read before some others."""


@chosen
@pytest.mark.parametrize("value", ["\0", "-1"])
def test_no_page_breaks_on_what_its_address_asks_for(
    settings: Any, tmp_path: Any, value: str, choose: Choose
) -> None:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    cast = make_cast()
    paths = choose(addresses(things_of(cast)))
    client = signed_in(cast.organisation_admin)
    client.raise_request_exception = False
    broken = [
        (path, names)
        for path in paths
        for names in ASKED
        if client.get(path, dict.fromkeys(names, value)).status_code >= 500
    ]
    assert broken == []
