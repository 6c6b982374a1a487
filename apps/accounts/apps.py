from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "apps.accounts"

    def ready(self) -> None:
        from apps.accounts.sealing import sealed_register
        from apps.accounts.signing_in.authenticators import authenticators_are_sealed

        sealed_register(authenticators_are_sealed)
