"""A draft's text is read once per change, whatever checks, shows or plans it."""

from collections import Counter

import pytest

from controlplane.domain.spec import text as reading
from tests.apps.pages import signed_in
from tests.factories import config_text, make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each text was read."""
    counted: Counter[str] = Counter()
    read_yaml = reading.read_yaml

    def count(text: str) -> object:
        counted[text] += 1
        return read_yaml(text)

    monkeypatch.setattr(reading, "read_yaml", count)
    return counted


def posted(text: str, **changes: str) -> dict[str, str]:
    return {"text": text, "changed": "", "base": "1", "view": "form"} | changes


@pytest.mark.parametrize(
    "address", ["/configs/new/check/", "/configs/new/fit/", "/builds/forecast/"]
)
def test_a_typed_text_is_read_once(reads: Counter[str], address: str) -> None:
    client = signed_in(make_cast().owner)
    reads.clear()
    assert client.post(address, posted(config_text())).status_code == 200
    assert reads == {config_text(): 1}


def test_a_text_with_a_touched_field_is_read_by_the_edit_and_by_the_page(
    reads: Counter[str],
) -> None:
    client = signed_in(make_cast().owner)
    reads.clear()
    form = posted(config_text(), changed="max_batch_size", max_batch_size="3")
    page = client.post("/configs/new/check/", form).content.decode()
    assert "max_batch_size: 3" in page
    # Each for the change, which proves what it wrote, and for what the page shows of it.
    assert reads.pop(config_text()) == 2
    assert [*reads.values()] == [2]
