"""Addresses that every REST client needs: the schema and the health of the API."""

from django.urls import path
from drf_spectacular.views import SpectacularJSONAPIView

api = [path("spec", SpectacularJSONAPIView.as_view(), name="spec")]
