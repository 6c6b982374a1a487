"""The product's settings without its middleware, its pages and its REST framework's views."""

from pathlib import Path

from controlplane.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.bare_django.views"
# Django does not start without it; it costs microseconds.
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
    }
]
