"""Which deployments stand on a build that was given a secret."""

from collections.abc import Iterator, Sequence

from django.urls import reverse

from apps.accounts.models import Team
from apps.deployments.models import Deployment
from apps.secrets.usage import Use

_MOST_READ = 300


def secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    deployments = Deployment.objects.filter(
        model__team=team, build__revision__secret_names__has_any_keys=list(names)
    ).order_by("model__name", "-created_at")
    rows = deployments.values_list(
        "id", "name", "model_id", "model__name", "build__revision__secret_names"
    )
    for deployment_id, deployment, model_id, model, listed in rows[:_MOST_READ]:
        use = Use(
            kind="deployment",
            id=deployment_id,
            name=f"{model}, {deployment}",
            url=reverse("deployments:deployment", args=[model_id, deployment_id]),
        )
        for name in sorted(set(listed) & set(names)):
            yield name, use
