"""Addresses of the overview and of the probes."""

from django.urls import URLPattern, path

from apps.dashboard import views

app_name = "dashboard"
urlpatterns: list[URLPattern] = [path("", views.overview, name="overview")]
probes: list[URLPattern] = [path("healthz", views.healthz)]
