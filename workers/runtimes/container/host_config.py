"""What a container may do on its host: see its GPUs, its model and the network, and little else."""

import resource
from typing import Any

from workers.runtimes.container.order import Order

_TMPFS = "rw,exec,nosuid,nodev,mode=1777"
"""Kernels that an engine compiles are loaded from there."""
_LIMITS = {"memlock": resource.RLIMIT_MEMLOCK, "stack": resource.RLIMIT_STACK}


def host_config(engine: Any, order: Order) -> dict[str, Any]:
    """Return the engine's form of it; no limit on memory, which the plan keeps to."""
    from docker.types import DeviceRequest, Mount

    gpus = DeviceRequest(device_ids=list(order.gpus), capabilities=[["gpu", "compute", "utility"]])
    config: dict[str, Any] = engine.create_host_config(
        mounts=[
            Mount(each.target, each.source, type="bind", read_only=not each.is_writable)
            for each in order.mounts
        ],
        device_requests=[gpus] if order.gpus else None,
        # As a process has it: the port was chosen on the host, and agent and gateways go there.
        network_mode="host",
        shm_size=order.shared_memory_bytes,
        tmpfs={"/tmp": _TMPFS},  # nosec B108 (the container's own, in memory)
        read_only=not order.has_writable_root,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        ulimits=_own_limits(),
        # Its output is passed on and kept by whoever supervises it: a copy would grow for ever.
        log_config={"Type": "none", "Config": {}},
        restart_policy={"Name": "no"},
    )
    return config


def _own_limits() -> list[Any]:
    """Return what a process of this host's agent may pin and stack, which NCCL cares for."""
    from docker.types import Ulimit

    limits = ((name, *resource.getrlimit(number)) for name, number in _LIMITS.items())
    return [Ulimit(name=name, soft=soft, hard=hard) for name, soft, hard in limits]
