from django.apps import AppConfig


class AsyncRequestsConfig(AppConfig):
    name = "apps.async_requests"
