"""`contributing/adding_a_runtime.md`, followed in a copy of the tree."""

from pathlib import Path

from tests.contributing.throwaway import Copy, copy_tree, not_as_listed

PAGE = "adding_a_runtime"
DOMAIN = "controlplane/domain/runtimes"
PACKAGE = '''"""An engine that serves nothing."""

from controlplane.domain.runtimes.native import failures, metrics, parse, render, routes
from controlplane.domain.runtimes.throwaway import capabilities, proofs

__all__ = ["capabilities", "failures", "metrics", "parse", "proofs", "render", "routes"]
'''
CAPABILITIES = '''"""What it can do: nothing."""

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.runtimes.capability import Capability, Feature, refused

VERSIONS = ("0.1",)


def capability(feature: Feature, card_kind: str = CPU, version: str = "0.1") -> Capability:
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
from workers.runtimes.launcher import Ask


class ThrowawayLauncher:
    """Started nowhere."""

    def installed(self, environment: Mapping[str, str], *, own_python: str) -> Installed | None:
        """Return what the setting names."""
        python = environment.get("THROWAWAY_PYTHON", "")
        return Installed(python=python) if python else None

    def read_report(self, ask: Ask, log: str) -> dict[str, Any] | None:
        """Return nothing."""
        return None
'''
SETTING = '''    throwaway_python: str = variable("THROWAWAY_PYTHON", "")
    """The Python that has nothing."""

'''
CONTRACTS = (
    "tests/domain/runtimes/test_proofs.py",
    "tests/domain/runtimes/test_open_routes.py",
    "tests/domain/runtimes/test_reference.py",
    "tests/domain/rules/test_rules_by_their_own_examples.py",
    "tests/workers/runtimes/test_named.py",
    "tests/contracts/test_settings_page.py",
)


def test_a_runtime_takes_the_files_of_its_page_and_is_known_everywhere(tmp_path: Path) -> None:
    copy = copy_tree(tmp_path)
    _write_it(copy)
    _name_it_in_the_core(copy)
    _name_it_on_hosts(copy)
    copy.put("CHANGELOG.md", "- An engine for nobody.\n", after="### vLLM and TensorRT-LLM\n\n")
    copy.manage("write_runtime_reference")
    copy.manage("write_settings_reference")
    assert not_as_listed(PAGE, copy.changed()) == []
    copy.test(*CONTRACTS)


def _write_it(copy: Copy) -> None:
    copy.write(f"{DOMAIN}/throwaway/__init__.py", PACKAGE)
    copy.write(f"{DOMAIN}/throwaway/capabilities.py", CAPABILITIES)
    copy.write(f"{DOMAIN}/throwaway/proofs.py", PROOFS)
    copy.write("workers/runtimes/throwaway/launcher.py", LAUNCHER)


def _name_it_in_the_core(copy: Copy) -> None:
    package, choice = f"{DOMAIN}/__init__.py", f"{DOMAIN}/choice.py"
    copy.put(package, "throwaway, ", after="from controlplane.domain.runtimes import native, ")
    copy.put(package, ', "throwaway": throwaway', after='"trtllm": trtllm')
    copy.put(choice, ', "throwaway": "nothing"', after='"trtllm": "TensorRT-LLM"')
    copy.put(choice, ', "throwaway": trtllm', after='"trtllm": trtllm')
    copy.put(f"{DOMAIN}/open_routes.py", ', "throwaway": NATIVE', after='"trtllm": TRTLLM')
    copy.put(
        f"{DOMAIN}/reference.py",
        '    yield "| `throwaway` | 0.1 | nowhere | not run by us |\\n"\n\n\n',
        before="def _metrics()",
    )
    copy.put(
        "controlplane/domain/rules/rule.py", ', "throwaway"', after='"native", "vllm", "trtllm"'
    )
    choices, spec = "controlplane/domain/spec/choices.py", "controlplane/domain/spec/spec.py"
    copy.put(choices, '\n    THROWAWAY = "throwaway"', after='    TRTLLM = "trtllm"')
    copy.put(spec, ', "throwaway"', after='Literal["native", "vllm", "trtllm"')
    copy.put(
        spec,
        '            case RuntimeChoice.THROWAWAY:\n                return "throwaway"\n',
        before='        return "vllm" if self.accelerator else "native"\n',
    )
    copy.put(
        "controlplane/domain/memory/runtime_memory.py",
        '\n        "throwaway": RuntimeMemory(),',
        after='"trtllm": RuntimeMemory(measured=True),',
    )


def _name_it_on_hosts(copy: Copy) -> None:
    launchers = "workers/runtimes/launchers.py"
    copy.put(
        launchers,
        "from workers.runtimes.throwaway.launcher import ThrowawayLauncher\n",
        before="from workers.runtimes.trtllm.launcher",
    )
    copy.put(launchers, ', "throwaway": ThrowawayLauncher()', after='"trtllm": TrtllmLauncher()')
    copy.put(
        "workers/runtimes/named.py",
        '        "throwaway": environment.get("THROWAWAY_PYTHON"),\n',
        before='        "trtllm": environment',
    )
    copy.put(
        "tests/workers/runtimes/test_named.py",
        '        ({"THROWAWAY_PYTHON": "python3"}, {"native", "throwaway"}),\n',
        after='        ({}, {"native"}),\n',
    )
    copy.put(
        "tests/contracts/test_settings_page.py",
        '    "workers/runtimes/throwaway/launcher.py",\n',
        before='    "workers/runtimes/trtllm/launcher.py",\n',
    )
    for passes_on in ("workers/agent/settings.py", "workers/build_steps/environment.py"):
        copy.put(passes_on, '"THROWAWAY_PYTHON", ', before='"VLLM_CACHE_ROOT"')
    copy.put(
        "controlplane/process_settings/engines.py",
        SETTING,
        before="    vllm_image: str",
    )
