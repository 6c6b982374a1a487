"""An engine's command -> the command that runs it in a container."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from controlplane.domain.runtimes import Launch
from controlplane.domain.runtimes.device_links import DEVICE_LINKS
from workers.runtimes.container import lifeline
from workers.runtimes.container.image import PYTHON, Image
from workers.runtimes.container.mark import Mark
from workers.runtimes.container.order import Mount, Order

FILES, CACHE, IMPORTS = "/enginehouse/files", "/enginehouse/cache", "/enginehouse/imports"
FOLDER = "container"
_LIFELINE = "lifeline.py"
_DIGITS = 16
_ROOT = Path(__file__).resolve().parents[3]
_PASSED_ON = ("LANG", "LC_ALL", "TZ", "VLLM_USE_FLASHINFER_SAMPLER", *DEVICE_LINKS)


def model_in_container(content_digest: str) -> str:
    """Return where an artifact lies in every container: compile caches are keyed by that, too."""
    return f"/enginehouse/models/{content_digest.rpartition(':')[2][:_DIGITS]}"


def contained(
    launch: Launch,
    image: Image,
    *,
    model: Mount,
    folder: Path,
    gpus: Sequence[str],
    environment: Mapping[str, str],
    failure_file: Path,
    imports: Path | None = None,
) -> Launch:
    """Return the launch of the process that stands for the container on this host.

    `launch` was rendered for the container's own Python and paths; what it needs is written below
    `folder`; `environment` is the caller's own, marked with its lease; the container's Python finds
    what is in `imports`.
    """
    own = folder / FOLDER
    files = own / "files"
    files.mkdir(parents=True, exist_ok=True)
    for name, text in launch.files.items():
        (files / name).write_text(text)
    (files / _LIFELINE).write_bytes(Path(lifeline.__file__).read_bytes())
    cache = image.cache_folder(environment)
    cache.mkdir(parents=True, exist_ok=True)
    mark = Mark.of(environment)
    order = Order(
        image_id=image.id,
        reference=image.reference,
        lease=mark.lease,
        instance=mark.instance,
        mounts=(
            model,
            Mount(source=str(files), target=FILES),
            Mount(source=str(cache), target=CACHE, is_writable=True),
            *(() if imports is None else (Mount(source=str(imports), target=_seen_at(imports)),)),
        ),
        environment={
            **_environment(launch, environment, mark, has_gpus=bool(gpus)),
            **({} if imports is None else {"PYTHONPATH": _seen_at(imports)}),
        },
        failure_file=str(failure_file),
        gpus=tuple(gpus),
        has_writable_root=environment.get("ENGINE_CONTAINER_WRITABLE") == "1",
        shared_memory_bytes=_shared_memory_bytes(),
    )
    order.write(own / "order.json")
    inside = (PYTHON, f"{FILES}/{_LIFELINE}", *launch.argv_in(FILES))
    outside = (sys.executable, "-m", "workers.runtimes.container", str(own / "order.json"))
    # Wherever it is started, this process finds the program that it is part of.
    found_at = {"PYTHONPATH": str(_ROOT)}
    return replace(launch, argv=(*outside, "--", *inside), environment=found_at, files={})


def _seen_at(imports: Path) -> str:
    """Return a place that is named by the content: what numba compiled is found by it."""
    return f"{IMPORTS}/{imports.name}"


def remover(environment: Mapping[str, str]) -> list[str]:
    mark = Mark.of(environment)
    return [
        sys.executable, "-m", "workers.runtimes.container.leftovers", mark.lease, mark.instance,
    ]  # fmt: skip


def _environment(
    launch: Launch, environment: Mapping[str, str], mark: Mark, *, has_gpus: bool
) -> dict[str, str]:
    return {
        **{name: environment[name] for name in _PASSED_ON if name in environment},
        "PYTHONUNBUFFERED": "1",
        "SPT_NOENV": "1",
        # The user of the agent has no line in the image's list of users, and no home there.
        "USER": "enginehouse",
        "HOME": CACHE,
        "VLLM_CACHE_ROOT": f"{CACHE}/vllm",
        "NUMBA_CACHE_DIR": f"{CACHE}/numba",
        "HF_MODULES_CACHE": "/tmp/modules",  # nosec B108 (the container's own, in memory)
        # Images that CUDA is built into ask for all GPUs where nobody names any.
        **({} if has_gpus else {"NVIDIA_VISIBLE_DEVICES": "void"}),
        **launch.environment,
        **mark.environment,
    }


def _shared_memory_bytes() -> int:
    """Return half of the host's memory, as the host's own /dev/shm has: NCCL works through it."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
