"""Which pushes were given a secret, the newest first."""

from collections import Counter
from collections.abc import Iterator, Sequence

from django.urls import reverse

from apps.accounts.models import Team
from apps.builds.models import ArtifactPush
from apps.secrets.usage import Use

MOST_OF_A_SECRET = 10
_MOST_READ = 300


def push_secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    """Return which of the team's last pushes name which of the secrets."""
    pushes = ArtifactPush.objects.filter(team=team, secret_name__in=list(names))
    told = pushes.order_by("-created_at").values_list(
        "id", "artifact_id", "destination", "secret_name"
    )
    count: Counter[str] = Counter()
    for push_id, artifact_id, destination, name in told[:_MOST_READ]:
        count[name] += 1
        if count[name] <= MOST_OF_A_SECRET:
            url = reverse("artifacts:pushes", args=[artifact_id])
            yield name, Use(kind="push", id=push_id, name=destination, url=url)
