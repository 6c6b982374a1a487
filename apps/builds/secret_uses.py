"""Which builds were given a secret, the newest first."""

from collections import Counter
from collections.abc import Iterator, Sequence

from django.urls import reverse

from apps.accounts.models import Team
from apps.builds.models import Build
from apps.secrets.usage import Use

MOST_OF_A_SECRET = 10
_MOST_READ = 300


def secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    """Return which of the team's last builds name which of the secrets."""
    builds = Build.objects.filter(
        team=team, revision__secret_names__has_any_keys=list(names)
    ).order_by("-number")
    told = builds.values_list("id", "number", "revision__config__name", "revision__secret_names")
    count: Counter[str] = Counter()
    for build_id, number, config, listed in told[:_MOST_READ]:
        use = Use(
            kind="build",
            id=build_id,
            name=f"{config}, build {number}",
            url=reverse("builds:build", args=[number]),
        )
        for name in sorted(set(listed) & set(names)):
            count[name] += 1
            if count[name] <= MOST_OF_A_SECRET:
                yield name, use
