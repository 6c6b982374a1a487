"""Why serving did not work, where the reason is ours to find and not the engine's to say."""

from collections.abc import Sequence

from apps.fleet.services import NoRoom
from controlplane.domain.failures import Blame, Failure


def no_room(refusals: Sequence[NoRoom], kind: str, pool: str) -> Failure:
    """Return why no node takes the replica."""
    reasons = [str(refused) for refused in refusals]
    if not reasons:
        return Failure(
            code="EHD-NO-NODE",
            blame=Blame.MACHINE,
            sentence=f"No live node of pool `{pool}` has a `{kind}` card.",
            field="resources.accelerator",
            hint="Start an agent on such a machine, uncordon one, or name another accelerator.",
        )
    if any(refused.is_used_by_others for refused in refusals):
        return Failure(
            code="EHD-CARD-IN-USE",
            blame=Blame.MACHINE,
            sentence=" ".join(reasons),
            hint="End what uses the card, or take the card out of the pool; it starts by itself "
            "when the card is free.",
        )
    return Failure(
        code="EHD-NO-ROOM",
        blame=Blame.MACHINE,
        sentence=" ".join(reasons),
        hint="Deactivate another deployment, or add a machine; it starts by itself when there is "
        "room.",
    )


def pool_of_others(pool: str) -> Failure:
    """Return why none of the pool's cards are for this team."""
    return Failure(
        code="EHD-POOL",
        blame=Blame.CONFIGURATION,
        sentence=f"The cards of pool `{pool}` are assigned to other teams.",
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


def gone_from_node(node_name: str) -> Failure:
    """Return the failure of a replica that its node no longer knows."""
    return Failure(
        code="EHD-GONE",
        blame=Blame.MACHINE,
        sentence=f"Node `{node_name}` no longer has this replica; it may have restarted or lost "
        "its data folder.",
        hint="Nothing to do: another replica takes its place.",
    )


def unexplained() -> Failure:
    """Return the failure of a replica whose node did not say why."""
    return Failure(
        code="EHD-UNEXPLAINED",
        blame=Blame.OURS,
        sentence="The engine ended, and its node gave no reason.",
        hint="Read the deployment's logs.",
    )
