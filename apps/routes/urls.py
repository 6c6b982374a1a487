"""Addresses for gateways under /internal/v1."""

from django.urls import URLPattern

internal: list[URLPattern] = []
