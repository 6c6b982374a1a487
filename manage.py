#!/usr/bin/env python
"""The entry point for people: `manage.py up`, `manage.py check_config`, and Django's commands."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
