"""Python that a checkpoint brings: whether this build may run it, and what it says when not.

It runs where an admin of the organisation has granted the repository at the very commit that was
fetched, and where Transformers has no class of its own for it. The grant is looked up anew for
each step: what was revoked in between is not run again.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.artifacts.digests import FileEntry
from controlplane.domain.failures.registry import remote_code
from controlplane.domain.json_text import read_json
from controlplane.domain.remote_code import LiveGrant
from controlplane.domain.spec import Spec
from workers.build_steps import outputs
from workers.build_steps import remote_code_failures as failures
from workers.build_steps.earlier import fetched
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job

Config = Mapping[str, Any]

LEFT, KEPT, UNNEEDED = "left", "kept", "unneeded"
"""What `fetch` did with the code: not granted; granted and taken; granted, and none is of use."""
_MODEL_KEYS = (
    "AutoModelForCausalLM", "AutoModelForSequenceClassification",
    "AutoModelForTokenClassification", "AutoModelForMaskedLM", "AutoModel",
)  # fmt: skip
"""Of an `auto_map`, the first that is there names the class to load."""


def grant_at(job: Job, commit: str) -> LiveGrant | None:
    return job.options.remote_code.live_at(commit)


def grant_of(job: Job) -> LiveGrant | None:
    return grant_at(job, fetched(job).commit)


def runs(job: Job) -> bool:
    """Return whether an engine of this build runs the checkpoint's own code."""
    remote_code = outputs.read(job.input("inspect")).values.get("remote_code") or {}
    return bool(remote_code.get("runs")) and grant_of(job) is not None


def brings_code(folder: Path) -> bool:
    return isinstance(_configs(folder)[0].get("auto_map"), Mapping)


def is_needed(folder: Path) -> bool:
    """Return whether Transformers lacks the class of the model."""
    # Imported here: most checkpoints bring no code, and the import takes a second.
    import transformers

    return _architecture(folder) not in dir(transformers)


def kept(
    files: tuple[FileEntry, ...], folder: Path, *, is_granted: bool
) -> tuple[tuple[FileEntry, ...], dict[str, Any]]:
    """Return the files that stay, and what `fetch` tells of the checkpoint's own code.

    Code that nothing needs is removed again: an artifact holds what is read, and no more.
    """
    code = [each for each in files if each.path.endswith(".py")]
    if code and brings_code(folder) and is_needed(folder):
        named = [{"path": each.path, "sha256": each.sha256} for each in code]
        return files, {"remote_code_state": KEPT, "remote_code": named}
    for each in code:
        (folder / each.path).unlink()
    state = {"remote_code_state": UNNEEDED if is_granted else LEFT} if brings_code(folder) else {}
    return tuple(each for each in files if each not in code), state


def look(job: Job, folder: Path) -> dict[str, Any] | None:
    """Return what becomes of the code that the checkpoint brings; None where it brings none.

    A build that quantizes needs the class; unquantized, an engine may know the model by itself.

    Raises StepFailure where the build cannot go on without the code, and may not run it.
    """
    if not brings_code(folder):
        return None
    spec, grant = Spec.model_validate(job.spec), grant_of(job)
    needed = is_needed(folder)
    architecture = _architecture(folder)
    if needed and not _is_run_by(spec.runtime_name):
        raise StepFailure.of(remote_code.NEVER_RUN, architecture=architecture)
    if needed and grant is None and not spec.quantization_type.is_none:
        raise refused(job, architecture)
    if needed and grant is not None:
        _check_loads(folder)
    runs = needed and grant is not None
    return {
        "needed": needed,
        "runs": runs,
        "grant": grant.model_dump() if grant is not None and runs else None,
        "files": [each.model_dump() for each in fetched(job).remote_code] if runs else None,
    }


def model_class(folder: Path) -> Any:
    """Return the class that the checkpoint's own code defines; this runs that code.

    Raises StepFailure where the code lies elsewhere or does not load.
    """
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    _refuse_elsewhere(folder)
    config = _configs(folder)[0]
    named: Mapping[str, str] = config.get("auto_map") or {}
    key = next((each for each in _MODEL_KEYS if each in named), None)
    if key is None:
        raise failures.no_class(sorted(named), _MODEL_KEYS)
    try:
        return get_class_from_dynamic_module(named[key], str(folder), local_files_only=True)
    except Exception as error:  # whatever someone else's code raises
        raise failures.not_run(named[key], error) from error


def refused(job: Job, architecture: str | None) -> StepFailure:
    """Return why the code is not run: never granted, revoked, or granted at another commit."""
    return failures.refusal(fetched(job).commit, job.options.remote_code, architecture)


def _check_loads(folder: Path) -> None:
    """Raise StepFailure early, before GPUs are waited for, where its configuration is broken."""
    import transformers

    _refuse_elsewhere(folder)
    try:
        transformers.AutoConfig.from_pretrained(
            folder, trust_remote_code=True, local_files_only=True
        )
    except Exception as error:  # whatever someone else's code raises
        raise failures.not_run("config.json", error) from error


def _refuse_elsewhere(folder: Path) -> None:
    """Raise StepFailure for classes that lie in another repository, which no grant covers."""
    for config in _configs(folder):
        for name in _references(config.get("auto_map")):
            if "--" in name:
                raise StepFailure.of(remote_code.ELSEWHERE, repo=name.partition("--")[0])


def _references(auto_map: object) -> Sequence[str]:
    references: list[str] = []
    for value in auto_map.values() if isinstance(auto_map, Mapping) else ():
        references += [each for each in (value if isinstance(value, list) else [value]) if each]
    return [str(each) for each in references]


def _is_run_by(runtime: str) -> bool:
    # Here and not above: most checkpoints bring no code, and `fetch` starts sooner without.
    from controlplane.domain.runtimes import RUNTIMES

    return RUNTIMES[runtime].runs_remote_code


def _architecture(folder: Path) -> str | None:
    named = _configs(folder)[0].get("architectures") or [None]
    return str(named[0]) if named[0] else None


def _configs(folder: Path) -> tuple[Config, Config]:
    """Return config.json and tokenizer_config.json; an empty one where a file is not there."""
    return _read(folder / "config.json"), _read(folder / "tokenizer_config.json")


def _read(path: Path) -> Config:
    try:
        content = read_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, Mapping) else {}
