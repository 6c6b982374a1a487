from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.accounts.models import Team
from apps.deployments.models import Deployment, Environment
from controlplane.domain.wire.exposition import labels_text

_BASE = ("model_id", "model_name", "deployment_id", "environment", "rollout_phase")


@dataclass(frozen=True, slots=True)
class Shown:
    model_id: str
    model_name: str
    id: str
    places: tuple[str, ...]
    is_promoting: bool
    _written: dict[str | None, str] = field(default_factory=dict)

    def labels(self, environment: str | None = None) -> str:
        """Return its labels, in the environment that was asked or in the first that it serves."""
        if environment not in self._written:
            self._written[environment] = self._labels(environment)
        return self._written[environment]

    def _labels(self, environment: str | None) -> str:
        named = environment if environment is not None else next(iter(self.places), "")
        phase = "promoting" if self.is_promoting else "stable" if self.places else ""
        return labels_text(_BASE, (self.model_id, self.model_name, self.id, named, phase))


def shown_of(team: Team) -> Mapping[str, Shown]:
    current, promoting = _places(team)
    rows = Deployment.objects.filter(model__team=team).order_by("-created_at", "id")
    return {
        id: Shown(model_id, name, id, tuple(sorted(current.get(id, ()))), id in promoting)
        for id, model_id, name in rows.values_list("id", "model_id", "model__name")
    }


def _places(team: Team) -> tuple[Mapping[str, list[str]], set[str]]:
    current: dict[str, list[str]] = defaultdict(list)
    promoting: set[str] = set()
    rows = Environment.objects.filter(model__team=team)
    for name, serving, candidate in rows.values_list("name", "current_id", "candidate_id"):
        if serving is not None:
            current[serving].append(name)
        if candidate is not None:
            promoting.add(candidate)
    return current, promoting
