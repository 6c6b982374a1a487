"""What still runs by a grant: deployments whose engines run that very code."""

from collections.abc import Sequence

from django.db.models import QuerySet

from apps.configs.models import RemoteCodeGrant
from apps.deployments.models import Deployment
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL
from controlplane.domain.spec.repository_forms import shown

_Key = tuple[str, str, str]


def running_by(grants: Sequence[RemoteCodeGrant]) -> dict[str, list[Deployment]]:
    deployments: dict[_Key, list[Deployment]] = {}
    for deployment in _running({grant.commit for grant in grants}):
        assert deployment.artifact is not None
        checkpoint = deployment.artifact.passport["checkpoint"]
        key = (checkpoint["source"], shown(checkpoint["repo"]), checkpoint["commit"])
        deployments.setdefault(key, []).append(deployment)
    return {
        grant.id: deployments.get((grant.source, grant.repo, grant.commit), []) for grant in grants
    }


def _running(commits: set[str]) -> QuerySet[Deployment]:
    return (
        Deployment.objects.filter(artifact__passport__remote_code__commit__in=list(commits))
        .exclude(state__in=DEPLOYMENT_TERMINAL)
        .select_related("artifact", "model__team")
        .defer("artifact__files", "checkpoint")
        .order_by("model__team__name", "model__name", "name")
    )
