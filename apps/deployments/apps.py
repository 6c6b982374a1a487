from django.apps import AppConfig


class DeploymentsConfig(AppConfig):
    name = "apps.deployments"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.accounts.team_models import models_register
        from apps.deployments.lookups import models_among
        from apps.deployments.secret_uses import secret_uses
        from apps.secrets.usage import uses_register

        uses_register(secret_uses)
        models_register(models_among)
