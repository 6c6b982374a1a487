"""Deploy what a stand-in serves, and print the id of its model."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from apps.builds.models import Build


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    django.setup()
    print(_deployed(replicas=int(os.environ["REPLICAS"])))


def _deployed(*, replicas: int) -> str:
    """Return the id of a model whose deployment wants so many replicas."""
    from django.conf import settings

    from apps.accounts.models import Team
    from apps.deployments.served_models.services import model_create
    from apps.deployments.services.autoscaling import autoscaling_update
    from controlplane.artifacts import ArtifactStore
    from tests.factories import make_artifact
    from tests.factories_serving import make_servable_build

    team = Team.objects.get()
    with tempfile.TemporaryDirectory() as source:
        (Path(source) / "config.json").write_text("{}")
        published = ArtifactStore.open(settings.ARTIFACT_URL).publish(Path(source), {"format": 1})
    artifact = make_artifact(team=team, content_digest=published.content_digest)
    build = make_servable_build(team=team, artifact=artifact)
    if share := os.environ.get("SHARE_OF_HOST"):
        _make_large(build, float(share))
    model, deployment = model_create(team=team, name="tiny", build=build)
    autoscaling_update(
        deployment=deployment, changes={"min_replica": replicas, "max_replica": replicas}
    )
    return model.id


def _make_large(build: "Build", share: float) -> None:
    """Let each replica claim that share of the smallest host, so that no host takes two."""
    from apps.fleet.models import Device
    from tests.factories_serving import CHECKPOINT

    devices = list(Device.objects.all())
    bytes_a_parameter = 2 if all(each.computes_bfloat16 for each in devices) else 4
    smallest = min(each.memory_bytes for each in devices)
    parameters = int(smallest * share) // bytes_a_parameter
    large = {**CHECKPOINT, "weight_bytes": 4 * parameters, "parameters": parameters}
    build.steps.filter(name="inspect").update(result={"checkpoint": large})


if __name__ == "__main__":
    main()
