"""Addresses that every REST client needs: the schema, the version, and an answer to the rest."""

from django.urls import path

from apps.rest import converters as _converters  # noqa: F401  (registers `<anything:…>`)
from apps.rest.api import InferencePathView, UnknownPathView, VersionView, inference_paths
from apps.rest.specification import SpecificationView

api = [
    path("spec", SpecificationView.as_view(), name="spec"),
    path("version", VersionView.as_view(), name="version"),
]
last = [
    *(path(each, InferencePathView.as_view()) for each in inference_paths()),
    path("", UnknownPathView.as_view()),
    path("<anything:rest>", UnknownPathView.as_view()),
]
"""Comes after every other path, or it would hide them."""
bare = [path("v1", UnknownPathView.as_view())]
"""The prefix alone, without the slash that every path continues."""
