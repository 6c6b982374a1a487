from django.apps import AppConfig


class BuildsConfig(AppConfig):
    name = "apps.builds"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.builds.pushes.secret_uses import push_secret_uses
        from apps.builds.secret_uses import secret_uses
        from apps.secrets.usage import uses_register

        uses_register(secret_uses)
        uses_register(push_secret_uses)
