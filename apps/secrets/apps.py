from django.apps import AppConfig


class SecretsConfig(AppConfig):
    name = "apps.secrets"

    def ready(self) -> None:
        from apps.accounts.sealing import sealed_register
        from apps.secrets.models import Secret

        sealed_register(Secret.objects.exists)
