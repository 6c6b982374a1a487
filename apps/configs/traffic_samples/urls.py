from django.urls import URLPattern, path

from apps.configs.traffic_samples import views
from apps.configs.traffic_samples.api import HeldSamplesView, TrafficSamplesView

app_name = "traffic_samples"
urlpatterns: list[URLPattern] = [
    path("", views.samples, name="samples"),
    path("consent/", views.consent, name="consent"),
    path("revoke/", views.revoke, name="revoke"),
    path("delete/", views.delete, name="delete"),
]
api: list[URLPattern] = [
    path("traffic_samples", TrafficSamplesView.as_view(), name="traffic_samples"),
    path("traffic_samples/held", HeldSamplesView.as_view(), name="held_samples"),
]
