"""Another name for a config; its id, revisions, builds and deployments stay as they are."""

from django.db import IntegrityError, transaction

from apps.accounts.audit.recording import audit
from apps.configs.models import Config
from apps.configs.services.configs import checked_name
from apps.rest.errors import Conflict


def config_rename(*, config: Config, name: str) -> None:
    """Give a config another name. Raises InvalidInput, and Conflict for a name that is taken."""
    name = checked_name(name)
    try:
        with transaction.atomic():
            Config.objects.filter(id=config.id).update(name=name)
            before, after = {"name": config.name}, {"name": name}
            audit("config.rename", config, team=config.team, before=before, after=after)
    except IntegrityError:
        raise Conflict(
            f"There is a config named `{name}` already.", code="name_taken", fields=["name"]
        ) from None
    config.name = name
