from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "apps.alerts"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.alerts.channels.secret_uses import channel_secret_uses
        from apps.secrets.usage import uses_register

        uses_register(channel_secret_uses)
