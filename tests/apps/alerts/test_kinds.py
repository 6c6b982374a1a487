"""The document names every kind of alert in the product's own words."""

from pathlib import Path

from apps.alerts.kinds import ALERT_KINDS

DOCUMENT = Path(__file__).parents[3] / "docs" / "alerts.md"


def test_every_kind_stands_in_the_document() -> None:
    rows = [f"| `{kind.name}` | {kind.when} |" for kind in ALERT_KINDS]
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [row for row in rows if row not in text] == []
