"""The Prometheus page of a team's deployments, under the hosted product's names.

Source: its list of supported metrics, read 2026-11-27. Here `status_code` is a class, such as
`2xx`, times to first byte are of streamed requests only, and token counts come from the gateways
for every engine.
"""

from collections.abc import Callable, Iterator, Mapping

from apps.accounts.models import Team
from apps.deployments.metrics.counted import add_counted
from apps.deployments.metrics.shown import Shown, shown_of
from apps.deployments.metrics.standing import add_standing
from apps.deployments.models import SweepRecord
from apps.fleet.selectors import clocks_apart
from controlplane.domain.wire.exposition import Form, Page, labels_text, sample

AddPart = Callable[[Page, Team, Mapping[str, Shown]], None]
_parts: list[AddPart] = []


def parts_register(add: AddPart) -> None:
    """Have the page tell of what lies above deployments, too."""
    if add not in _parts:
        _parts.append(add)


def metrics_parts(*, team: Team, form: Form = Form.TEXT) -> Iterator[bytes]:
    """Give the exposition for every deployment of the team, in parts that ask the database nothing.

    On the page of the default team, what the installation counts of itself comes last.
    """
    page, shown = Page(form), shown_of(team)
    add_counted(page, team, shown)
    add_standing(page, team, shown)
    for add in _parts:
        add(page, team, shown)
    if team.is_default:
        _add_installation(page)
    return page.parts()


def metrics_page(*, team: Team, form: Form = Form.TEXT) -> bytes:
    return b"".join(metrics_parts(team=team, form=form))


def _add_installation(page: Page) -> None:
    record = SweepRecord.objects.filter(id=1).first()
    name = "enginehouse_reconcile_missed_total"
    words = "Deployments that needed a move that nothing had called for: each is a fault."
    missed = record.missed if record else 0
    page.add(name, "counter", words, [sample(name, "", missed)])
    name = "enginehouse_clock_ahead_seconds"
    words = "Of the database's clock, where it is more than a minute; negative where behind."
    apart = [
        sample(name, labels_text(("kind", "name"), (kind, who)), ahead)
        for kind, who, ahead in clocks_apart()
    ]
    page.add(name, "gauge", words, apart)
