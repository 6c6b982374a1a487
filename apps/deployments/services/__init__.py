"""Writes of deployments, by noun."""

from apps.deployments.services.autoscaling import (
    AutoscalingAnswer,
    autoscaling_settings,
    autoscaling_update,
)
from apps.deployments.services.builds import deployments_after_build
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_copy,
    deployment_create,
    deployment_deactivate,
    deployment_delete,
    deployment_rename,
    deployment_retry,
)
from apps.deployments.services.environments import (
    PRODUCTION,
    environment_cancel_promotion,
    environment_configure,
    environment_create,
    environment_delete,
)
from apps.deployments.services.failed_starts import failed_starts_clear, failed_starts_prune
from apps.deployments.services.models import model_create, model_delete
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.deployments.services.promoting import environment_promote
from apps.deployments.services.promotion import promotion_settings
from apps.deployments.services.reconcile import deployment_reconcile, deployment_settle
from apps.deployments.services.removing import HeldByNode, node_held, node_remove
from apps.deployments.services.replicas import replicas_prune
from apps.deployments.services.sweeping import deployments_sweep

__all__ = [
    "PRODUCTION",
    "AutoscalingAnswer",
    "HeldByNode",
    "ReplicaReport",
    "autoscaling_settings",
    "autoscaling_update",
    "deployment_activate",
    "deployment_copy",
    "deployment_create",
    "deployment_deactivate",
    "deployment_delete",
    "deployment_reconcile",
    "deployment_rename",
    "deployment_retry",
    "deployment_settle",
    "deployments_after_build",
    "deployments_sweep",
    "environment_cancel_promotion",
    "environment_configure",
    "environment_create",
    "environment_delete",
    "environment_promote",
    "failed_starts_clear",
    "failed_starts_prune",
    "model_create",
    "model_delete",
    "node_held",
    "node_remove",
    "promotion_settings",
    "replicas_observe",
    "replicas_prune",
]
