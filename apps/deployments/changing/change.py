"""What another text of its config would change of a deployment, said before anything is done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from apps.builds.comparisons.comparison import ComparedPart, compare_settings
from apps.builds.models import Build
from apps.builds.services.taking import reasons_to_build
from apps.configs.models import Revision
from apps.configs.selectors import revision_last
from apps.configs.services.examination import examine_text
from apps.configs.services.verdicts import verdict_fields
from apps.deployments.models import PRODUCTION, Deployment
from apps.rest.errors import Conflict, InvalidInput
from controlplane.domain.rules.examine import Examination
from controlplane.domain.spec.serving_change import whole


@dataclass(frozen=True, kw_only=True)
class SettingsChange:
    deployment: Deployment
    build: Build
    """What the deployment serves."""
    revision: Revision
    """As it would be saved."""
    examination: Examination
    environment: str
    """Where what comes of it goes; empty: beside what serves."""

    @property
    def needs_build(self) -> bool:
        return bool(self.reasons_to_build)

    @cached_property
    def reasons_to_build(self) -> Sequence[str]:
        """The settings by which another artifact is asked for."""
        return reasons_to_build(self.revision, runtime=self.examination.runtime, earlier=self.build)

    @cached_property
    def parts(self) -> tuple[ComparedPart, ComparedPart]:
        """Settings and memory plan, each with what differs."""
        served = self.build.revision
        before = Revision(spec=whole(served.spec), plan=served.plan)
        return compare_settings(Build(revision=before), Build(revision=self.revision))

    @property
    def is_the_same(self) -> bool:
        return not self.parts[0].rows

    @cached_property
    def checked(self) -> Mapping[str, Any]:
        return self.examination.to_json()

    @property
    def blocks(self) -> bool:
        return bool(self.checked["blocks_build"])

    @property
    def later_revision(self) -> int | None:
        """The config's last revision, where that is not the one that is served."""
        last = revision_last(config=self.build.revision.config)
        served = self.build.revision.number
        return last.number if last is not None and last.number != served else None


def change_of(
    *, deployment: Deployment, text: str, environment: str | None = None
) -> SettingsChange:
    """Return what the text would change; without `environment`, where the deployment serves now.

    Raises:
        InvalidInput: the text is no config.
        Conflict: nobody knows any more what the deployment was built from.
    """
    build = served_build(deployment)
    examination = examine_text(team=deployment.model.team, text=text)
    if examination.spec is None:
        raise _no_config(examination)
    revision = Revision(
        config=build.revision.config,
        text=text,
        spec=examination.spec.model_dump(mode="json"),
        **verdict_fields(examination),
    )
    return SettingsChange(
        deployment=deployment,
        build=build,
        revision=revision,
        examination=examination,
        environment=place_of(deployment) if environment is None else environment,
    )


def served_build(deployment: Deployment) -> Build:
    """Return the build of what is served, with its revision. Raises Conflict."""
    if deployment.build is None:
        raise Conflict(
            f"The build of `{deployment.name}` is gone, and its config with it.",
            hint="Deploy a build of the config that you want, and promote it.",
        )
    return deployment.build


def place_of(deployment: Deployment) -> str:
    """Return the environment that it serves, production before others; empty where none."""
    names = list(deployment.current_of.order_by("name").values_list("name", flat=True))
    return PRODUCTION if PRODUCTION in names else (names[0] if names else "")


def _no_config(examination: Examination) -> InvalidInput:
    findings = examination.to_json()["findings"]
    return InvalidInput(
        " ".join(finding["message"] for finding in findings[:3]),
        code=findings[0]["code"],
        fields=[field for finding in findings for field in finding["fields"]],
        hint="Every error is in `details.findings`, with its line.",
        source=findings[0]["source"],
        details={"findings": findings},
    )
