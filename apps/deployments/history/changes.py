from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from apps.accounts.audit.changes import Change, changes_of
from apps.accounts.models import AuditEntry
from apps.deployments.models import Deployment, Environment, ServedModel

ROLLED_BACK = "environment.roll_back"
_MOVES = ("environment.promote", ROLLED_BACK, "environment.cancel_promotion")
_NAMES_ITSELF = ("deployment.create", "deployment.copy")
_VERBS: Mapping[str, str] = {
    "activate": "activated",
    "autoscale": "sized anew",
    "configure": "settings changed",
    "copy": "copied",
    "create": "created",
    "deactivate": "deactivated",
    "delete": "deleted",
    "rename": "renamed",
    "retry": "tried again",
}
_Names = Callable[[Any], str]


@dataclass(frozen=True, kw_only=True)
class ModelChange:
    entry: AuditEntry
    words: str
    values: Sequence[Change]
    """What its settings were and have become."""


def changes_list(
    *,
    model: ServedModel,
    environments: Sequence[Environment],
    deployment: Deployment | None = None,
    limit: int,
) -> Sequence[ModelChange]:
    """Return the latest changes of these environments and the model's deployments, newest first.

    With `deployment`, of all deployments only those of this one.
    """
    names = dict(model.deployments.values_list("id", "name"))
    places = [str(each.id) for each in environments]
    ids = [deployment.id] if deployment else list(names)
    entries = AuditEntry.objects.filter(team_id=model.team_id).filter(
        Q(action__startswith="deployment.", target_id__in=ids)
        | Q(action__startswith="environment.", target_id__in=places)
    )
    return [_change(entry, names) for entry in entries.order_by("-at", "-id")[:limit]]


def _change(entry: AuditEntry, names: Mapping[str, str]) -> ModelChange:
    def named(id: Any) -> str:
        return f"`{names.get(id, id)}`" if id else "nothing"

    moves = entry.action in _MOVES
    values = [] if moves or entry.action in _NAMES_ITSELF else changes_of(entry)
    words = _move(entry, named) if moves else _plain(entry)
    return ModelChange(entry=entry, words=words, values=values)


def _move(entry: AuditEntry, named: _Names) -> str:
    before, after, place = entry.before or {}, entry.after or {}, _own_name(entry)
    if entry.action == "environment.cancel_promotion":
        return f"Promotion of {named(before.get('candidate'))} to {place} cancelled"
    verb = "rolled back" if entry.action == ROLLED_BACK else "promoted"
    left, entered = named(before.get("deployment")), named(after.get("deployment"))
    return f"{place} {verb} from {left} to {entered}"


def _plain(entry: AuditEntry) -> str:
    verb = entry.action.partition(".")[2]
    words = f"{_own_name(entry)} {_VERBS.get(verb, verb.replace('_', ' '))}"
    build = (entry.after or {}).get("build") if verb == "create" else None
    return f"{words} from build {build}" if build else words


def _own_name(entry: AuditEntry) -> str:
    return f"`{entry.target_label.rpartition('/')[2]}`"
