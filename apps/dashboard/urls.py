"""Addresses of the overview and of the probes."""

from django.urls import URLPattern

app_name = "dashboard"
urlpatterns: list[URLPattern] = []
probes: list[URLPattern] = []
