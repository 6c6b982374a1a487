from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.builds.models import Artifact, Build
from apps.builds.services.reuse import ReuseState
from apps.builds.values import value_words

_TITLES = {
    ReuseState.SAME: "Taken from an earlier build",
    ReuseState.LOST: "Built anew",
    ReuseState.DIFFERS: "Why it was built anew",
    ReuseState.INCOMPARABLE: "Built anew",
    ReuseState.FIRST: "Built anew",
}


@dataclass(frozen=True, kw_only=True)
class DifferenceRow:
    label: str
    before: str
    now: str


@dataclass(frozen=True, kw_only=True)
class ReusePanel:
    """What the worker found of the build's inputs; `artifact` is None where it is gone."""

    reuse: Mapping[str, Any]
    artifact: Artifact | None

    @property
    def state(self) -> ReuseState:
        return ReuseState(self.reuse["state"])

    @property
    def title(self) -> str:
        return _TITLES[self.state]

    @property
    def sentence(self) -> str:
        count = len(self.reuse["differences"])
        match self.state:
            case ReuseState.SAME:
                return (
                    "Checkpoint commit, config, tools and calibration data are those of an "
                    "artifact that exists, so nothing was made a second time."
                )
            case ReuseState.LOST:
                return (
                    "An artifact of exactly these inputs exists, but its stored files were gone "
                    "or damaged, so it was made again."
                )
            case ReuseState.DIFFERS:
                inputs = "input differs" if count == 1 else "inputs differ"
                return f"{count} {inputs} from the nearest artifact of this config or checkpoint."
            case ReuseState.INCOMPARABLE:
                return (
                    "Earlier artifacts of this config or checkpoint were made before their "
                    "inputs were kept, so nobody can say what differs."
                )
        return "The team has no earlier artifact of this config or checkpoint."

    @property
    def differences(self) -> Sequence[DifferenceRow]:
        return [
            DifferenceRow(
                label=each["label"],
                before=value_words(each["before"]),
                now=value_words(each["now"]),
            )
            for each in self.reuse["differences"]
        ]


def reuse_panel(build: Build) -> ReusePanel | None:
    """Return what is known of the build's inputs; None before its worker has looked."""
    if build.reuse is None:
        return None
    artifacts = Artifact.objects.filter(team_id=build.team_id, id=build.reuse["artifact_id"])
    return ReusePanel(reuse=build.reuse, artifact=artifacts.only("id", "created_at").first())
