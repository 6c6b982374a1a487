"""What happens before an engine can start: its artifact is copied here, its command rendered.

`python -m workers.agent.prepare FOLDER [--store-fd PIPE]`, a short process: neither agent nor
runner grows by what it imports. What it reads from the pipe opens the artifact store.
"""

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.artifacts import ArtifactFailure
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures.registry import serving
from controlplane.domain.memory import UnplannableError
from controlplane.domain.runtimes import RUNTIMES, Launch, Start
from controlplane.domain.spec import Spec
from workers.agent.clean_devices import DevicesTaken, visible_devices, wait_until_clean
from workers.agent.copies import Copies
from workers.agent.failures import NoLauncher
from workers.agent.folders import ReplicaFolder
from workers.filled_pipe import read_pipe, store_descriptor
from workers.runtimes.container.failures import FILE_NAME, ContainerRefused
from workers.runtimes.container.launch import contained, model_in_container, remover
from workers.runtimes.container.order import Mount
from workers.runtimes.installed import Installed
from workers.runtimes.launchers import LAUNCHERS
from workers.runtimes.ports import NoFreePort, PortRange, free_port
from workers.runtimes.standing_name import standing_name

_log = logging.getLogger(__name__)


def main() -> int:
    """Write the launch record; 1 with a failure record where that cannot be done."""
    # What it says goes into the engine's log.
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    folder = ReplicaFolder(path=Path(sys.argv[1]).absolute())
    descriptor = store_descriptor(sys.argv)
    login = None if descriptor is None else read_pipe(descriptor)
    desired, run = folder.read("wanted"), folder.read("run")
    if desired is None or run is None:
        return 1
    try:
        folder.write("launch", _launch(folder, desired, run, login))
    except (ArtifactFailure, NoLauncher, DevicesTaken, ContainerRefused) as error:
        _log.error("%s", error)
        folder.write("failure", error.failure.to_json())
        return 1
    except NoFreePort as error:
        _log.error("%s", error)
        folder.write("failure", serving.NO_PORT.failure(reason=str(error)).to_json())
        return 1
    except (UnplannableError, ValueError) as error:
        _log.error("%s", error)
        folder.write("failure", serving.NOT_RENDERED.failure(reason=str(error)).to_json())
        return 1
    return 0


def _launch(
    folder: ReplicaFolder,
    desired: Mapping[str, Any],
    run: Mapping[str, Any],
    login: Mapping[str, str] | None,
    *,
    clock: Clock = SYSTEM,
) -> dict[str, Any]:
    runtime = str(desired["runtime"])
    installed = _installed(runtime, str(run["python"]))
    devices = [str(uuid) for uuid in desired.get("devices", ())]
    wait_until_clean(devices, clock=clock)
    digest = str(desired["content_digest"])
    # The node's own setting wins: a shared folder may be mounted elsewhere here.
    url = os.environ.get("ARTIFACT_URL") or str(desired["artifact_url"])
    copies = Copies(
        models=Path(run["models_dir"]),
        replicas=folder.path.parent,
        most_bytes=run.get("copies_bytes"),
        url=url,
        login=login,
    )
    model = copies.take(digest, clock=clock)
    host = str(run["host"])
    address = {"host": host, "port": free_port(host, PortRange(*run["ports"]))}
    if installed.image is not None:
        mount = Mount(source=str(model), target=model_in_container(digest))
        launch = _rendered(desired, run, installed, model_dir=mount.target, **address)
        return address | _in_container(folder, launch, installed, mount, devices)
    model_dir = standing_name(runtime, folder.path, model, digest)
    launch = _rendered(desired, run, installed, model_dir=model_dir, **address)
    own = {**installed.environment, **visible_devices(devices)}
    if _runs_remote_code(desired):
        own["HF_MODULES_CACHE"] = str(folder.path / "modules")
    return address | _as_process(folder, launch, own)


def _rendered(
    desired: Mapping[str, Any], run: Mapping[str, Any], installed: Installed, **place: Any
) -> Launch:
    start = Start(
        python=installed.python,
        threads=int(run["threads"]),
        memory_bytes=int(desired["memory_bytes"]),
        version=installed.version,
        # Its lease was planned with the same; an older control plane does not say, and has planned
        # for float32.
        computes_bfloat16=bool(desired.get("computes_bfloat16", False)),
        runs_remote_code=_runs_remote_code(desired),
        traces_url=os.environ.get("TRACES_URL"),
        **place,
    )
    return RUNTIMES[str(desired["runtime"])].render(
        Spec.model_validate(desired["spec"]),
        CheckpointFacts.model_validate(desired["checkpoint"] or {}),
        start,
    )


def _runs_remote_code(desired: Mapping[str, Any]) -> bool:
    # What an older control plane does not say is not run.
    return bool(desired.get("runs_remote_code", False))


def _as_process(folder: ReplicaFolder, launch: Launch, own: Mapping[str, str]) -> dict[str, Any]:
    for name, text in launch.files.items():
        (folder.path / name).write_text(text)
    return {
        "argv": list(launch.argv_in(str(folder.path))),
        "environment": {**launch.environment, **own},
    }


def _in_container(
    folder: ReplicaFolder, launch: Launch, installed: Installed, model: Mount,
    devices: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    assert installed.image is not None
    shown = visible_devices(devices)["CUDA_VISIBLE_DEVICES"]
    outside = contained(
        launch,
        installed.image,
        model=model,
        imports=installed.imports,
        folder=folder.path,
        gpus=[uuid for uuid in shown.split(",") if uuid],
        environment=os.environ,
        failure_file=folder.path / FILE_NAME,
    )
    return {
        "argv": list(outside.argv),
        "environment": dict(outside.environment),
        "remove": remover(os.environ),
    }


def _installed(runtime: str, own_python: str) -> Installed:
    launcher = LAUNCHERS.get(runtime)
    installed = launcher.installed(os.environ, own_python=own_python) if launcher else None
    if installed is None:
        raise NoLauncher(serving.NO_LAUNCHER.failure(runtime=runtime))
    return installed


if __name__ == "__main__":
    sys.exit(main())
