"""Writes of the fleet, by noun: enrollment tokens, nodes, GPUs, gateways, workers."""

from apps.fleet.services.assigning import device_assign, node_label, pool_assign
from apps.fleet.services.clocks import clock_ahead
from apps.fleet.services.devices import (
    Claimant,
    NoRoom,
    device_leases_prune,
    devices_claim,
    devices_keep,
    devices_lock,
    devices_obstacle,
    devices_release,
)
from apps.fleet.services.enrollment import (
    EnrollmentRefused,
    enrollment_refusal_audit,
    enrollment_token_create,
    enrollment_token_redeem,
)
from apps.fleet.services.gateways import gateway_applied, gateway_enroll, gateway_seen
from apps.fleet.services.listening import listening_beat
from apps.fleet.services.nodes import (
    DeviceReport,
    DeviceUse,
    node_enroll,
    node_observe,
    node_replicas_heard,
    node_versions_note,
    node_wanted_version_bump,
    nodes_lock,
)
from apps.fleet.services.placing import node_cordon, node_drain, node_uncordon, node_undrain
from apps.fleet.services.removing import NodeRemoved, node_devices_lock, node_fence
from apps.fleet.services.workers import worker_arrived, worker_left, worker_seen

__all__ = [
    "Claimant",
    "DeviceReport",
    "DeviceUse",
    "EnrollmentRefused",
    "NoRoom",
    "NodeRemoved",
    "clock_ahead",
    "device_assign",
    "device_leases_prune",
    "devices_claim",
    "devices_keep",
    "devices_lock",
    "devices_obstacle",
    "devices_release",
    "enrollment_refusal_audit",
    "enrollment_token_create",
    "enrollment_token_redeem",
    "gateway_applied",
    "gateway_enroll",
    "gateway_seen",
    "listening_beat",
    "node_cordon",
    "node_devices_lock",
    "node_drain",
    "node_enroll",
    "node_fence",
    "node_label",
    "node_observe",
    "node_replicas_heard",
    "node_uncordon",
    "node_undrain",
    "node_versions_note",
    "node_wanted_version_bump",
    "nodes_lock",
    "pool_assign",
    "worker_arrived",
    "worker_left",
    "worker_seen",
]
