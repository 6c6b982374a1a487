"""The web process: Django under ASGI."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from apps.rest.body_limit import BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

application = BodyLimit(get_asgi_application(), limit_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
