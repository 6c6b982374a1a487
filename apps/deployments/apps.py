from django.apps import AppConfig


class DeploymentsConfig(AppConfig):
    name = "apps.deployments"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.accounts.teams.elsewhere import owners_register
        from apps.accounts.teams.team_models import environments_register, models_register
        from apps.configs.traffic_samples.selectors import model_names_register
        from apps.deployments.secret_uses import secret_uses
        from apps.deployments.selectors import (
            environments_among,
            model_names,
            models_among,
            team_of_model,
        )
        from apps.secrets.usage import uses_register

        uses_register(secret_uses)
        models_register(models_among)
        model_names_register(model_names)
        owners_register("model_id", team_of_model)
        environments_register(environments_among)
