"""`docs/settings.md` lists every environment variable that is read, and no other."""

import re
from pathlib import Path

from controlplane.domain.runtimes import RUNTIMES
from controlplane.process_settings.base import ProcessSettings, variables
from controlplane.process_settings.control_plane import ControlPlaneSettings, UpSettings
from controlplane.process_settings.engines import EngineHostSettings, RuntimeSettings
from controlplane.process_settings.reference import (
    DECLARING,
    settings_by_group,
    write_reference,
)
from controlplane.process_settings.store import StoreSettings
from workers.agent.settings import Settings as AgentSettings
from workers.gateway.settings import Settings as GatewaySettings

ROOT = Path(__file__).resolve().parents[2]
PASSED_TO_LAUNCHERS = (
    "workers/build_steps/weights/comparing.py",
    "workers/runtimes/container/docker_engine.py",
    "workers/runtimes/container/image.py",
    "workers/runtimes/container/launch.py",
    "workers/runtimes/engine_cache.py",
    *(f"workers/runtimes/{name}/launcher.py" for name in RUNTIMES),
)
READ = re.compile(r"environ(?:ment)?\.get\(\s*\"([A-Z][A-Z0-9_]+)\"")


def read_by(*processes: str) -> set[str]:
    return {
        setting.name
        for group in settings_by_group()
        for setting in group.settings
        if {*processes, "all"} & set(setting.read_by.split(", "))
    }


def test_the_page_is_as_the_fields_of_the_settings_say() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    assert page == write_reference(settings_by_group()), "run manage.py write_settings_reference"


def test_every_variable_of_any_class_is_on_the_page_once() -> None:
    listed = [setting.name for group in settings_by_group() for setting in group.settings]
    assert len(listed) == len(set(listed))
    assert set(listed) == {name for each in below(ProcessSettings) for name in variables(each)}
    assert set(DECLARING) <= below(ProcessSettings)


def below(settings: type[ProcessSettings]) -> set[type[ProcessSettings]]:
    classes = settings.__subclasses__()
    return set(classes).union(*map(below, classes))


def test_each_process_reads_what_the_page_says() -> None:
    store = set(variables(StoreSettings))
    engines = {*variables(EngineHostSettings), *variables(RuntimeSettings)}
    django = set(variables(ControlPlaneSettings))
    assert read_by("web", "workers") == django | store
    assert read_by("up") <= django | set(variables(UpSettings))
    assert read_by("gateway") == set(variables(GatewaySettings))
    shared = {"ARTIFACT_URL"} | store | (engines - {"MODEL_CLASS_CACHE"})
    assert read_by("agent") == set(variables(AgentSettings)) | shared
    assert read_by("build worker") - read_by() == engines


def test_what_launchers_read_of_the_environment_passed_to_them_is_declared() -> None:
    names = {
        name for file in PASSED_TO_LAUNCHERS for name in READ.findall((ROOT / file).read_text())
    }
    assert names == {*variables(EngineHostSettings), *variables(RuntimeSettings)}
