"""What `contributing/adding_a_runtime.md` says of an engine that serves nothing."""

from tests.contributing.throwaway import Change, Copy

DOMAIN = "controlplane/domain/runtimes/throwaway"
WORKERS = "workers/runtimes/throwaway"
RUNTIME = '''"""An engine that serves nothing, as one of the runtimes."""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.runtimes.launch import Launch, Start
from controlplane.domain.runtimes.native import failures, metrics, routes
from controlplane.domain.runtimes.runtime import HostSetting, Runtime
from controlplane.domain.runtimes.throwaway import capabilities, proofs
from controlplane.domain.spec import Spec


class Throwaway(Runtime):
    """An engine that serves nothing."""

    name = "throwaway"
    label = title = "Throwaway"
    capabilities = capabilities
    proofs = proofs
    routes = routes
    metrics = metrics
    failures = failures
    memory = RuntimeMemory(name="throwaway")
    python_setting = HostSetting(name="THROWAWAY_PYTHON", says="The Python that has nothing.")

    def render(self, spec: Spec, checkpoint: CheckpointFacts, start: Start) -> Launch:
        """Return the launch of nothing."""
        return Launch(argv=(start.python, "-c", ""), environment={}, files={})


RUNTIME = Throwaway()
'''
CAPABILITIES = '''"""What it can do: nothing."""

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.runtimes.capability import Capability, Feature, refused

VERSIONS = ("0.1",)
SEEN_VERSION = VERSIONS[0]


def capability(feature: Feature, device_kind: str = CPU, version: str = "0.1") -> Capability:
    """Return that it does not."""
    return refused("it serves nothing")
'''
PROOFS = '''"""Nothing shows anything of it."""

from controlplane.domain.runtimes.capability import Feature, Proof

PROOFS: dict[Feature, tuple[Proof, ...]] = {}
'''
LAUNCHER = '''"""It is on no host."""

from collections.abc import Mapping
from typing import Any

from workers.runtimes.installed import Installed
from workers.runtimes.launcher import Ask, Launcher


class ThrowawayLauncher:
    """Started nowhere."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return what the setting names."""
        python = environment.get("THROWAWAY_PYTHON", "")
        return Installed(python=python) if python else None

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return nothing."""
        return None


LAUNCHER: Launcher = ThrowawayLauncher()
'''
TEST = '''"""It is known wherever one asks for it."""

from controlplane.domain.memory.plan import plan
from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.rules.rule import ALL_RUNTIMES, GPU_RUNTIMES
from controlplane.domain.runtimes import RUNTIMES
from controlplane.process_settings.reference import settings_by_group
from controlplane.domain.spec import parse_text
from tests.domain.memory.models import device
from workers.agent import settings
from workers.build_steps import environment
from workers.runtimes.launchers import LAUNCHERS
from workers.runtimes.named import named_runtimes

CONFIG = """
model_name: x
resources: {accelerator: H100}
enginehouse: {runtime: throwaway}
trt_llm: {build: {base_model: decoder, checkpoint_repository: {source: HF, repo: a/b}}}
"""


def test_a_config_names_it_and_it_is_planned() -> None:
    spec = parse_text(CONFIG).spec
    assert spec is not None and spec.runtime_name == "throwaway"
    planned = plan(spec, LLAMA_8B, device("H100"), RUNTIMES[spec.runtime_name].memory)
    assert planned.runtime_name == "throwaway"


def test_rules_hosts_and_settings_know_it() -> None:
    assert "throwaway" in ALL_RUNTIMES & GPU_RUNTIMES & LAUNCHERS.keys()
    assert "throwaway" in named_runtimes({"THROWAWAY_PYTHON": "python3"})
    assert "THROWAWAY_PYTHON" in {
        each.name for group in settings_by_group() for each in group.settings
    }
    assert "THROWAWAY_PYTHON" in {*settings._PASSED_ON} & {*environment._ALLOWED}
'''
CONTRACTS = (
    "tests/domain/runtimes/throwaway",
    "tests/domain/runtimes/test_proofs.py",
    "tests/domain/runtimes/test_open_routes.py",
    "tests/domain/runtimes/test_reference.py",
    "tests/domain/rules/test_rules_by_their_own_examples.py",
    "tests/workers/runtimes/test_named.py",
    "tests/contracts/test_runtime_names.py",
    "tests/contracts/test_settings_page.py",
)


def _follow(copy: Copy) -> None:
    _write_it(copy)
    copy.put(
        "controlplane/domain/spec/choices.py",
        '    THROWAWAY = "throwaway"\n',
        after='    TRTLLM = "trtllm"\n',
    )
    assert [path for path in copy.changed() if not _is_its_own(path)] == [
        "controlplane/domain/spec/choices.py"
    ]
    copy.put("CHANGELOG.md", "- An engine for nobody.\n", after="### vLLM and TensorRT-LLM\n\n")


def _write_it(copy: Copy) -> None:
    copy.write(f"{DOMAIN}/__init__.py", "")
    copy.write(f"{DOMAIN}/runtime.py", RUNTIME)
    copy.write(f"{DOMAIN}/capabilities.py", CAPABILITIES)
    copy.write(f"{DOMAIN}/proofs.py", PROOFS)
    copy.write(f"{WORKERS}/__init__.py", "")
    copy.write(f"{WORKERS}/launcher.py", LAUNCHER)
    copy.write("tests/domain/runtimes/throwaway/test_throwaway.py", TEST)


def _is_its_own(path: str) -> bool:
    return path.startswith((f"{DOMAIN}/", f"{WORKERS}/", "tests/domain/runtimes/throwaway/"))


CHANGES = (
    Change(
        page="adding_a_runtime",
        of="a runtime",
        follow=_follow,
        commands=(
            "write_runtime_reference",
            "write_settings_reference",
            "write_config_reference",
            "write_rule_reference",
        ),
        tests=CONTRACTS,
    ),
)
