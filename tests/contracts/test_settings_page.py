"""`docs/settings.md` lists every environment variable that is read, and no other."""

import re
from pathlib import Path

from controlplane.artifacts import variables
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.settings_catalogue import SETTINGS, write_reference

ROOT = Path(__file__).resolve().parents[2]
READERS = (
    "controlplane/settings.py",
    "controlplane/environment.py",
    "controlplane/management/commands/up.py",
    "workers/agent/__main__.py",
    "workers/agent/settings.py",
    "workers/build_steps/weights/comparing.py",
    "workers/gateway/settings.py",
    "workers/runtimes/container/docker_engine.py",
    "workers/runtimes/container/image.py",
    "workers/runtimes/container/launch.py",
    *(f"workers/runtimes/{name}/launcher.py" for name in RUNTIMES),
)
READ = re.compile(
    r"(?:env_\w+|_url|_number|environ(?:ment)?\.get)\(\s*(?:environment,\s*)?\"([A-Z][A-Z0-9_]+)\""
)
SET_BY_THE_SUPERVISOR = {"LISTEN_FDS"}


def variables_read() -> set[str]:
    found = {name for file in READERS for name in READ.findall((ROOT / file).read_text())}
    return found | set(variables.NAMES)


def variables_listed() -> set[str]:
    page = (ROOT / "docs" / "settings.md").read_text()
    return set(re.findall(r"^\| `([A-Z0-9_]+)` \|", page, flags=re.MULTILINE))


def test_every_variable_is_listed_and_every_listed_one_is_read() -> None:
    assert variables_listed() == variables_read() - SET_BY_THE_SUPERVISOR


def test_the_page_is_as_the_catalogue_of_settings_says() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    assert page == write_reference(SETTINGS), "run manage.py write_settings_reference"
