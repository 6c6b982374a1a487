from django.apps import AppConfig


class ConfigsConfig(AppConfig):
    name = "apps.configs"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.accounts.teams.elsewhere import owners_register
        from apps.configs.models import Config
        from apps.configs.secret_uses import secret_opens, secret_uses
        from apps.secrets.usage import opened_register, uses_register

        def team_of_config(id: str) -> str | None:
            return Config.objects.filter(id=id).values_list("team_id", flat=True).first()

        owners_register("config_id", team_of_config)
        uses_register(secret_uses)
        opened_register(secret_opens)
