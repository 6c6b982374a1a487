"""Writes of the fleet, by noun: enrollment tokens, nodes, cards, gateways, workers."""

from apps.fleet.services.cards import (
    NoRoom,
    card_leases_prune,
    cards_claim,
    cards_keep,
    cards_release,
)
from apps.fleet.services.enrollment import (
    EnrollmentRefused,
    enrollment_token_create,
    enrollment_token_redeem,
)
from apps.fleet.services.gateways import gateway_applied, gateway_enroll, gateway_seen
from apps.fleet.services.nodes import (
    CardReport,
    CardUse,
    Enrolled,
    node_cordon,
    node_enroll,
    node_observe,
    node_uncordon,
    node_wanted_version_bump,
)
from apps.fleet.services.workers import worker_arrived, worker_left, worker_seen

__all__ = [
    "CardReport",
    "CardUse",
    "Enrolled",
    "EnrollmentRefused",
    "NoRoom",
    "card_leases_prune",
    "cards_claim",
    "cards_keep",
    "cards_release",
    "enrollment_token_create",
    "enrollment_token_redeem",
    "gateway_applied",
    "gateway_enroll",
    "gateway_seen",
    "node_cordon",
    "node_enroll",
    "node_observe",
    "node_uncordon",
    "node_wanted_version_bump",
    "worker_arrived",
    "worker_left",
    "worker_seen",
]
