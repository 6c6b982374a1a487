from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import configuration, machine, ours

_ITSELF = "Nothing to do: another replica takes its place."
_LOGS = "Read the deployment's logs."
_CHECK_AGAIN = "Check the config again and build a new revision."

NO_NODE = machine(
    "EHD-NO-NODE",
    "No live node of pool `{pool}` has a `{kind}` GPU.{others}",
    "Start an agent on such a machine, uncordon one, or name another accelerator.",
    field=fields.ACCELERATOR,
)
POOL = configuration(
    "EHD-POOL",
    "The GPUs of pool `{pool}` are assigned to other teams.",
    "Name a pool of your team, or have an admin of the organisation assign this one.",
    field="enginehouse.pool",
)
ADDRESS = machine(
    "EHD-ADDRESS",
    "Node `{node}` is enrolled at `{address}`, and its agent says that the replica listens at "
    "`{host}`, where it is not asked.",
    "Set NODE_ADDRESS of the agent back, or remove `agent/credential.json` from its data folder "
    "and start it with a new ENROLLMENT_TOKEN.",
)
PORT = machine(
    "EHD-PORT",
    "Port {port} of node `{node}` is none of those that its agent gives to engines, {lowest} to "
    "{highest}, and is not asked.",
    "Give the agent ENGINE_PORTS in which ports are free, remove `agent/credential.json` from its "
    "data folder, and start it with a new ENROLLMENT_TOKEN.",
)
NO_ROOM = machine(
    "EHD-NO-ROOM",
    "{reasons}",
    "Deactivate another deployment, or add a machine; it starts by itself when there is room.",
    meaning="All GPUs of that kind are taken.",
)
GPU_IN_USE = machine(
    "EHD-CARD-IN-USE",
    "{reasons}",
    "End what uses the GPU, or take the GPU out of the pool; it starts by itself when the GPU is "
    "free.",
    meaning="Someone else is on the only GPUs that nobody claimed.",
)
BACKOFF = machine(
    "EHD-BACKOFF",
    "{reasons}",
    "Mend what it says; it is tried again by itself. To try at once, press Try again now, or POST "
    "…/retry.",
    meaning="Nodes that failed to start it wait before the next try.",
)
UNPLANNED = configuration(
    "EHD-UNPLANNED", "{reason}", _CHECK_AGAIN, meaning="The replica's memory cannot be planned."
)
NODE_SILENT = machine(
    "EHD-NODE-SILENT",
    "Node `{node}`, where a replica runs, does not speak to the control plane.",
    "Look whether the machine, its network and its agent are up.",
)
GONE = machine(
    "EHD-GONE",
    "Node `{node}` no longer has this replica; it may have restarted or lost its data folder.",
    _ITSELF,
)
UNEXPLAINED = ours("EHD-UNEXPLAINED", "The engine ended, and its node gave no reason.", _LOGS)
NO_PORT = machine(
    "EHN-NO-PORT",
    "This host has no port for an engine: {reason}.",
    "End what listens there, or give the agent another ENGINE_PORTS and enroll it again.",
)
RUNNER_KILLED = machine(
    "EHN-RUNNER-KILLED",
    "The process that supervises this engine was killed, and the engine with it.",
    "Look for the out-of-memory killer in the kernel's log, or for whoever killed it.",
)
REBOOT = machine("EHN-REBOOT", "The machine restarted.", _ITSELF)
NEVER_READY = machine(
    "EHN-NEVER-READY",
    "The engine is not ready, and for {seconds:.0f} seconds it has logged, computed and read "
    "nothing.",
    "Read the deployment's logs: it waits for something that does not come.",
)
NO_ANSWER = ours(
    "EHN-NO-ANSWER",
    "The engine did not answer its health check for {seconds:.0f} seconds.",
    "Nothing to do: it was ended, and another replica takes its place.",
)
NOT_STARTED = machine(
    "EHN-NOT-STARTED",
    "{reason}",
    "Read the agent's log on that node.",
    meaning="The runner of an engine could not be started.",
)
DISK_FULL = machine(
    "EHN-DISK-FULL",
    "The disk that holds `{folder}` on this node is full.",
    "Free space there, or point the agent's DATA_DIR at a larger disk.",
)
NOT_RENDERED = configuration(
    "EHN-NOT-RENDERED", "The engine's command could not be written: {reason}", _CHECK_AGAIN
)
NO_LAUNCHER = machine(
    "EHN-NO-LAUNCHER",
    "The agent of this node cannot start the runtime `{runtime}`.",
    "Serve on a node whose agent has it (`VLLM_PYTHON` or `VLLM_IMAGE`, `TRTLLM_PYTHON` or "
    "`TRTLLM_IMAGE` name it), or set `enginehouse.runtime: native` and build again.",
    field=fields.RUNTIME,
)
GPU_TAKEN = machine(
    "EHN-CARD-TAKEN",
    "{in_use}",
    "End that process, or take the GPU out of the pool.",
    meaning="Another process computes on the leased GPU.",
)
GPU_MEMORY = machine(
    "EHN-CARD-MEMORY",
    "{held}",
    "A process of another container may hold it; otherwise the driver has not given it back, "
    "and the machine has to restart.",
    meaning="Memory of the leased GPU is in use, by no process that is seen.",
)
GPU_LOST = machine(
    "EHN-CARD-LOST",
    "The GPU cannot be asked whether it is free: {reason}.",
    "Look at the driver's messages in the kernel's log (Xid).",
)
GPU_LOCKED = machine("EHN-ENDED", "Another process still holds the GPU (`{reason}`).", _LOGS)
NOT_EXECUTED = machine("EHN-ENDED", "The engine could not be started: {reason}.", _LOGS)
ENGINE_KILLED = machine(
    "EHN-ENDED",
    "The {what} was killed (SIGKILL); when nobody did it, memory ran out.",
    _LOGS,
)
ENDED_BY_SIGNAL = machine("EHN-ENDED", "The {what} was ended by {signal}.", _LOGS)
ENDED = machine("EHN-ENDED", "The {what} ended with exit code {exit_code}.", _LOGS)
