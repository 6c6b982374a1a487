from collections.abc import Iterable

from apps.deployments.models import Environment


def model_deletion_words(environments: Iterable[Environment], *, deployments: int) -> str:
    names = ", ".join(sorted(each.name for each in environments))
    places = f"environments ({names})" if names else "environments"
    return (
        f"Its {places} and deployments ({deployments}) go with it, with their addresses, settings "
        "and history: requests to it get an error from now on, and nothing of it can be brought "
        "back. Builds, artifacts and usage stay. It is refused while one of the deployments runs."
    )
