from django.apps import AppConfig

from controlplane.database_clock import follow_database_clock


class LeasesConfig(AppConfig):
    name = "apps.leases"
    label = "leases"

    def ready(self) -> None:
        """Have whoever runs these apps stamp rows by the clock that leases go by."""
        follow_database_clock()
