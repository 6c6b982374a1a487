"""Which builds and pushes were given a secret, the newest first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from django.urls import reverse

from apps.accounts.models import Team
from apps.builds.models import ArtifactPush, Build
from apps.secrets.usage import Use

MOST_OF_A_SECRET = 10
_MOST_READ = 300


def build_secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    builds = Build.objects.filter(
        team=team, revision__secret_names__has_any_keys=list(names)
    ).order_by("-number")
    rows = builds.values_list("id", "number", "revision__config__name", "revision__secret_names")
    return _first_of_each(
        (name, _of_build(build_id, number, config))
        for build_id, number, config, listed in rows[:_MOST_READ]
        for name in sorted(set(listed) & set(names))
    )


def push_secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    pushes = ArtifactPush.objects.filter(team=team, secret_name__in=list(names))
    rows = pushes.order_by("-created_at").values_list(
        "secret_name", "id", "artifact_id", "destination"
    )
    return _first_of_each((name, _of_push(*push)) for name, *push in rows[:_MOST_READ])


def _first_of_each(uses: Iterable[tuple[str, Use]]) -> Iterator[tuple[str, Use]]:
    count: Counter[str] = Counter()
    for name, use in uses:
        count[name] += 1
        if count[name] <= MOST_OF_A_SECRET:
            yield name, use


def _of_build(build_id: str, number: int, config: str) -> Use:
    url = reverse("builds:build", args=[number])
    return Use(kind="build", id=build_id, name=f"{config}, build {number}", url=url)


def _of_push(push_id: str, artifact_id: str, destination: str) -> Use:
    url = reverse("artifacts:pushes", args=[artifact_id])
    return Use(kind="push", id=push_id, name=destination, url=url)
