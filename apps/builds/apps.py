from django.apps import AppConfig


class BuildsConfig(AppConfig):
    name = "apps.builds"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.builds.secret_uses import build_secret_uses, push_secret_uses
        from apps.secrets.usage import uses_register

        uses_register(build_secret_uses)
        uses_register(push_secret_uses)
