"""Why serving did not work, where the reason is ours to find and not the engine's to say."""

from collections.abc import Mapping, Sequence

from apps.fleet.models import Node
from apps.fleet.services import NoRoom
from controlplane.domain.failures import Blame, Failure

_NAMED = 4


def no_room(refusals: Sequence[NoRoom], kind: str, pool: str, closed: Mapping[str, str]) -> Failure:
    """Return why no node takes the replica; `closed` has those that take nothing now, and why."""
    reasons = [str(refused) for refused in refusals]
    if not reasons:
        told = ", ".join(f"`{name}` is {why}" for name, why in [*closed.items()][:_NAMED])
        return Failure(
            code="EHD-NO-NODE",
            blame=Blame.MACHINE,
            sentence=f"No live node of pool `{pool}` has a `{kind}` GPU."
            + (f" Of those that have one, {told}." if told else ""),
            field="resources.accelerator",
            hint="Start an agent on such a machine, uncordon one, or name another accelerator.",
        )
    if any(refused.is_used_by_others for refused in refusals):
        return Failure(
            code="EHD-CARD-IN-USE",
            blame=Blame.MACHINE,
            sentence=" ".join(reasons),
            hint="End what uses the GPU, or take the GPU out of the pool; it starts by itself "
            "when the GPU is free.",
        )
    return Failure(
        code="EHD-NO-ROOM",
        blame=Blame.MACHINE,
        sentence=" ".join(reasons),
        hint="Deactivate another deployment, or add a machine; it starts by itself when there is "
        "room.",
    )


def backing_off(waiting: str, refusals: Sequence[NoRoom]) -> Failure:
    """Return until when the replica waits for nodes that failed to start it."""
    return Failure(
        code="EHD-BACKOFF",
        blame=Blame.MACHINE,
        sentence=" ".join([waiting, *(str(refused) for refused in refusals)]),
        hint="Mend what it says; it is tried again by itself. To try at once, press Try again now, "
        "or POST …/retry.",
    )


def pool_of_others(pool: str) -> Failure:
    """Return why none of the pool's GPUs are for this team."""
    return Failure(
        code="EHD-POOL",
        blame=Blame.CONFIGURATION,
        sentence=f"The GPUs of pool `{pool}` are assigned to other teams.",
        field="enginehouse.pool",
        hint="Name a pool of your team, or have an admin of the organisation assign this one.",
    )


def not_placeable(sentence: str) -> Failure:
    """Return why the replica's memory cannot be planned."""
    return Failure(
        code="EHD-UNPLANNED",
        blame=Blame.CONFIGURATION,
        sentence=sentence,
        hint="Check the config again and build a new revision.",
    )


def node_silent(node_name: str) -> Failure:
    """Return why a replica counts no more: its node does not speak."""
    return Failure(
        code="EHD-NODE-SILENT",
        blame=Blame.MACHINE,
        sentence=f"Node `{node_name}`, where a replica runs, does not speak to the control plane.",
        hint="Look whether the machine, its network and its agent are up.",
    )


def gone_from_node(node_name: str) -> Failure:
    """Return the failure of a replica that its node no longer knows."""
    return Failure(
        code="EHD-GONE",
        blame=Blame.MACHINE,
        sentence=f"Node `{node_name}` no longer has this replica; it may have restarted or lost "
        "its data folder.",
        hint="Nothing to do: another replica takes its place.",
    )


def elsewhere(node: Node, host: str) -> Failure:
    """Return the failure of a replica that its node wants reached at another address."""
    return Failure(
        code="EHD-ADDRESS",
        blame=Blame.MACHINE,
        sentence=f"Node `{node.name}` is enrolled at `{node.address}`, and its agent says that the "
        f"replica listens at `{host}`, where it is not asked.",
        hint="Set NODE_ADDRESS of the agent back, or remove `agent/credential.json` from its data "
        "folder and start it with a new ENROLLMENT_TOKEN.",
    )


def foreign_port(node: Node, port: int) -> Failure:
    """Return the failure of a replica at a port that is none of its agent's."""
    return Failure(
        code="EHD-PORT",
        blame=Blame.MACHINE,
        sentence=f"Port {port} of node `{node.name}` is none of those that its agent gives to "
        f"engines, {node.lowest_engine_port} to {node.highest_engine_port}, and is not asked.",
        hint="Give the agent ENGINE_PORTS in which ports are free, remove `agent/credential.json` "
        "from its data folder, and start it with a new ENROLLMENT_TOKEN.",
    )


def unexplained() -> Failure:
    """Return the failure of a replica whose node did not say why."""
    return Failure(
        code="EHD-UNEXPLAINED",
        blame=Blame.OURS,
        sentence="The engine ended, and its node gave no reason.",
        hint="Read the deployment's logs.",
    )
