from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.deployments.models import PRODUCTION, Environment


@dataclass(frozen=True, kw_only=True)
class EnvironmentDeletion:
    environment: Environment

    @property
    def dialog_id(self) -> str:
        return f"delete-{self.environment.id}"

    @property
    def words(self) -> str:
        place = self.environment
        stays = (
            f"{place.current.name} stays as it is, under its own address. " if place.current else ""
        )
        ends = f"The promotion to {place.candidate.name} ends. " if place.candidate else ""
        return (
            f"Requests to its address get an error from now on. {stays}{ends}Its settings, "
            "schedules and history go with it and cannot be brought back."
        )


def deletions_of(environments: Iterable[Environment]) -> Sequence[EnvironmentDeletion]:
    """Return those that may be deleted: `production` always exists."""
    return [
        EnvironmentDeletion(environment=each) for each in environments if each.name != PRODUCTION
    ]
