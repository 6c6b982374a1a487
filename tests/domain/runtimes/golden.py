"""What each config is served with, one file a case; written anew by this module.

`python -m tests.domain.runtimes.golden` rewrites them all; read the difference before you keep it.
"""

import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from controlplane.domain.commands.invocation import RefusedCommandError
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.rules.examples import BERT, LLAMA_8B, LLAMA_70B, QWEN2_7B
from controlplane.domain.runtimes import trtllm, vllm
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.spec import Spec, parse_mapping, parse_text
from tests.domain.cases import as_config_yaml, lines
from tests.domain.commands.command_cases import as_command, command_cases

FOLDER = Path(__file__).parent
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SEEDS = Path(__file__).parents[2] / "seeds" / "data"
DRIVERS: dict[str, ModuleType] = {"vllm": vllm, "trtllm": trtllm}
_BY_WORD = {"70b": LLAMA_70B, "qwen2": QWEN2_7B}


@cache
def cases() -> dict[str, Spec]:
    """Return every config of the seeds and of the public cases, read when first asked for."""
    return dict(specs())


def specs() -> Iterator[tuple[str, Spec]]:
    """Yield every config of the seeds and of the public cases that parses, by its name."""
    for file in sorted(SEEDS.glob("*.yaml")):
        if (spec := parse_text(file.read_text()).spec) is not None:
            yield file.stem, spec
    for case in lines("truss_configs.jsonl"):
        if (spec := parse_mapping(as_config_yaml(case["facts"])).spec) is not None:
            yield case["id"], spec
    for case in command_cases():
        if (spec := _imported(as_command(case))) is not None:
            yield case["id"], spec


def checkpoint_of(spec: Spec) -> CheckpointFacts:
    """Return facts of about the right shape: rendering reads lengths and sizes alone."""
    if spec.base_model.is_encoder:
        return BERT
    repo = spec.checkpoint.repo.lower() if spec.checkpoint else ""
    return next((facts for word, facts in _BY_WORD.items() if word in repo), LLAMA_8B)


def launch_of(runtime: str, spec: Spec, **changes: Any) -> Launch:
    """Return what one runtime is started with."""
    launch: Launch = DRIVERS[runtime].render.render(
        spec,
        checkpoint_of(spec),
        model_dir="/models/artifact",
        host="127.0.0.1",
        port=4000,
        python="python",
        threads=8,
        memory_bytes=80 * GIB,
        **changes,
    )
    return launch


def written(launch: Launch) -> str:
    """Return a launch as a file that is easy to compare."""
    content = {
        "environment": dict(launch.environment),
        "changed": {each.field: each.flag for each in launch.changed},
        "ignored_settings": {each.flag: each.reason for each in launch.ignored_settings},
        "files": {name: yaml.load(text, LOADER) for name, text in launch.files.items()},
    }
    report = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    return f"# {shlex.join(launch.argv)}\n{report}"


def _imported(command: str) -> Spec | None:
    try:
        return parse_text(import_command(command).text).spec
    except RefusedCommandError:
        return None


if __name__ == "__main__":
    for runtime in DRIVERS:
        folder = FOLDER / runtime / "golden"
        for old in folder.glob("*.yaml"):
            old.unlink()
        for name, spec in specs():
            (folder / f"{name}.yaml").write_text(written(launch_of(runtime, spec)))
