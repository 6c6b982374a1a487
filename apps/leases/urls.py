from django.urls import URLPattern, path

from apps.leases.internal_api import lease_secrets

internal: list[URLPattern] = [
    path("leases/<slug:kind>/<slug:id>/secrets", lease_secrets, name="lease_secrets"),
]
