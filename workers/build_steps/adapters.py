"""LoRA adapters of a build: fetched beside the model, and into the artifact."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import CheckpointRepository, Spec
from controlplane.domain.spec.adapter_folders import ADAPTERS_FOLDER, adapter_folder
from controlplane.domain.spec.engine_build import LoraConfiguration
from controlplane.sources import SourceOptions, fetch, resolve_adapter
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job

FIELD = "trt_llm.build.lora_adapters"


def fetch_adapters(
    job: Job, model: Path, options: SourceOptions, events: Events
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return what each adapter is, and the digests of its files by path below the model."""
    build = Spec.model_validate(job.spec).engine_build
    limit = (build.lora_configuration or LoraConfiguration()).max_lora_rank
    told, digests = [], dict[str, str]()
    for name, place in (build.lora_adapters or {}).items():
        found, files = _fetch(job, name, place, model, options, events)
        _check(name, Path(adapter_folder(str(model), name)), limit)
        told.append(found)
        digests.update(files)
    return told, digests


def carry_adapters(fetched: Path, made: Path) -> None:
    """Let a model that a later step made have the adapters of the fetched one."""
    source = fetched / ADAPTERS_FOLDER
    if source.is_dir():
        # Links: both folders are steps' outputs, and nobody writes to them again.
        shutil.copytree(source, made / ADAPTERS_FOLDER, copy_function=os.link)


def _fetch(
    job: Job,
    name: str,
    place: CheckpointRepository,
    model: Path,
    options: SourceOptions,
    events: Events,
) -> tuple[dict[str, Any], Mapping[str, str]]:
    if set(name) <= {"."}:
        raise _refusal(name, "The name of an adapter cannot be made of dots alone.")
    token = job.secrets.get(place.runtime_secret_name)
    resolved = resolve_adapter(place, token=token, options=options)
    files = fetch(
        resolved,
        Path(adapter_folder(str(model), name)),
        token=token,
        options=options,
        on_progress=lambda done, total: events.progress(done, total, "bytes"),
    )
    told = {"name": name, "source": place.source.value, "repo": place.repo,
            "commit": resolved.commit}  # fmt: skip
    return told, {adapter_folder("", name).lstrip("/") + f"/{each.path}": each.sha256
                  for each in files}  # fmt: skip


def _check(name: str, folder: Path, limit: int) -> None:
    """Refuse before a long build what the engine would refuse at its start."""
    try:
        config = json.loads((folder / "adapter_config.json").read_text())
        ranks = [*_ranks(config)]
    except (ValueError, TypeError, AttributeError) as error:
        raise _refusal(name, f"Its adapter_config.json cannot be read: {error}.") from error
    if config.get("peft_type") != "LORA":
        raise _refusal(name, f"`peft_type` is `{config.get('peft_type')}`; only LORA is served.")
    if (highest := max(ranks)) > limit:
        raise _refusal(
            name, f"It has rank {highest}, above `lora_configuration.max_lora_rank` {limit}."
        )


def _ranks(config: Mapping[str, Any]) -> Iterator[int]:
    yield int(config["r"]) if "r" in config else 8
    yield from map(int, (config.get("rank_pattern") or {}).values())


def _refusal(name: str, reason: str) -> StepFailure:
    return StepFailure(
        Failure(
            code="EHB-ADAPTER",
            blame=Blame.CONFIGURATION,
            sentence=f"The adapter `{name}` cannot be served. {reason}",
            field=f"{FIELD}.{name}",
            hint="Change the adapter or its limits as the sentence says, then build again.",
        )
    )
