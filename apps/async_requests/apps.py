from django.apps import AppConfig


class AsyncRequestsConfig(AppConfig):
    name = "apps.async_requests"

    def ready(self) -> None:
        # Models must be loaded before anything that reads them is imported.
        from apps.async_requests.metrics import add_async_requests
        from apps.deployments.metrics.page import parts_register

        parts_register(add_async_requests)
