from django.urls import URLPattern, path

from apps.routes import internal_api, samples_api

internal: list[URLPattern] = [
    path("routes", internal_api.routes),
    path("gateways/applied", internal_api.gateways_applied),
    path("gateways/load", internal_api.gateways_load),
    path("gateways/samples", samples_api.gateways_samples),
    path("usage", internal_api.usage),
]
