from django.apps import AppConfig


class ConfigsConfig(AppConfig):
    name = "apps.configs"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.configs.secret_uses import secret_opens, secret_uses
        from apps.secrets.usage import opened_register, uses_register

        uses_register(secret_uses)
        opened_register(secret_opens)
