from apps.accounts.models import User
from apps.builds.models import Build
from apps.builds.services.requests import build_create
from apps.builds.services.taking import build_take_artifact
from apps.configs.services.configs import revision_create
from apps.deployments.changing.change import SettingsChange
from apps.deployments.models import Deployment
from apps.deployments.selectors import environment_get
from apps.deployments.services.deployments import deployment_create
from apps.rest.errors import Conflict


def deployment_change_settings(*, change: SettingsChange, user: User | None) -> Deployment:
    """Return the deployment that takes over by a roll once it is ready, built only where it must.

    Raises:
        Conflict: nothing differs, the checks block it, or the environment is already being
            promoted to; nothing is saved then.
    """
    _refuse(change)
    revision = revision_create(
        config=change.build.revision.config, text=change.revision.text, user=user
    )
    made: list[Deployment] = []

    def deploy(build: Build) -> None:
        made.append(
            deployment_create(
                model=change.deployment.model,
                build=build,
                environment=change.environment or None,
                user=user,
            )
        )

    if change.needs_build:
        build_create(revision=revision, user=user, deploy=deploy)
    else:
        build_take_artifact(revision=revision, earlier=change.build, user=user, deploy=deploy)
    return made[0]


def _refuse(change: SettingsChange) -> None:
    if change.is_the_same:
        raise Conflict(
            f"These are the settings that `{change.deployment.name}` has.",
            code="nothing_differs",
            fields=["text"],
        )
    if change.environment:
        _refuse_place(change)
    if change.blocks:
        findings = [each for each in change.checked["findings"] if each["severity"] == "error"]
        first = (findings or change.checked["waiting"])[0]
        raise Conflict(
            f"{first['code']}: {first['message']}",
            code="revision_blocked" if findings else "revision_waiting",
            fields=[field for each in findings for field in each["fields"]],
            hint="Nothing was saved. `dry_run` tells all that the checks say.",
            details={"findings": findings, "waiting": change.checked["waiting"]},
        )


def _refuse_place(change: SettingsChange) -> None:
    """Before anything is saved: what is promoted to is locked only once the revision is there."""
    model = change.deployment.model
    place = environment_get(team=model.team, model_id=model.id, name=change.environment)
    if place.candidate_id is not None:
        raise Conflict(
            f"Environment `{place.name}` is already being promoted to.",
            fields=["environment"],
            hint="Wait for that promotion, or cancel it.",
        )
