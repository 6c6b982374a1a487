from collections.abc import Sequence
from typing import Any

from apps.deployments.history.changes import changes_list
from apps.deployments.history.switches import rollback_targets
from apps.deployments.models import Deployment, Environment, ServedModel

CHANGES_SHOWN = 20


def history_of(deployment: Deployment, environments: Sequence[Environment]) -> dict[str, Any]:
    """Return the latest changes, and for each of its environments what that would go back to."""
    here = [each for each in environments if each.current_id == deployment.id]
    targets = rollback_targets(here) if here else {}
    return {
        "changes": changes_list(
            model=deployment.model,
            environments=environments,
            deployment=deployment,
            limit=CHANGES_SHOWN,
        ),
        "rollbacks": [
            {"environment": each.name, "to": targets[each.id]}
            for each in here
            if each.id in targets
        ],
    }


def history_of_model(model: ServedModel, environments: Sequence[Environment]) -> dict[str, Any]:
    targets = rollback_targets(environments) if environments else {}
    return {
        "changes": changes_list(model=model, environments=environments, limit=CHANGES_SHOWN),
        "places": [{"place": each, "back_to": targets.get(each.id)} for each in environments],
    }
