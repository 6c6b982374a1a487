#!/usr/bin/env python
"""The entry point for people: `manage.py up`, `manage.py check_config`, and Django's commands."""

import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from controlplane.collecting import without_collecting


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    try:
        with without_collecting():
            django.setup()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # A wrong setting is the operator's to mend: one sentence, which names the variable.
        sys.exit(str(error))


if __name__ == "__main__":
    main()
