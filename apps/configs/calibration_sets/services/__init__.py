"""Writes of calibration sets and of previews."""

from apps.configs.calibration_sets.services.previews import (
    preview_claim,
    preview_finish,
    preview_request,
)
from apps.configs.calibration_sets.services.sets import Upload, set_delete, set_upload

__all__ = [
    "Upload",
    "preview_claim",
    "preview_finish",
    "preview_request",
    "set_delete",
    "set_upload",
]
