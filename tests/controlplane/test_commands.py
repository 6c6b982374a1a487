"""What commands of an installation do without."""

import subprocess
import sys

_LOADED = """
import sys, django
from django.core.management import load_command_class
django.setup()
commands = [load_command_class(app, name) for app, name in (
    ("apps.dashboard", "prepare"), ("apps.dashboard", "demo_access"),
    ("apps.accounts", "sign_in_link"),
)]
from apps.accounts.signing_in.links import sign_in_link_url
sign_in_link_url("a-token")
print(any(each.requires_system_checks for each in commands), "controlplane.urls" in sys.modules)
"""


def test_those_that_a_start_waits_for_import_no_page() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["False", "False"]), done.stderr
