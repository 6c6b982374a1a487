"""Writes of calibration sets and of previews."""

from apps.configs.calibration_sets.services.previews import (
    RENEW_SECONDS,
    PreviewLease,
    preview_claim,
    preview_finish,
    preview_redeemable,
    preview_release,
    preview_renew,
    preview_request,
    previews_sweep,
)
from apps.configs.calibration_sets.services.sets import Upload, set_delete, set_upload

__all__ = [
    "RENEW_SECONDS",
    "PreviewLease",
    "Upload",
    "preview_claim",
    "preview_finish",
    "preview_redeemable",
    "preview_release",
    "preview_renew",
    "preview_request",
    "previews_sweep",
    "set_delete",
    "set_upload",
]
