"""Where checkpoints come from, as the operator has set it."""

from typing import Any

from django.conf import settings


def source_settings() -> dict[str, Any]:
    return {
        "local_checkpoint_roots": settings.LOCAL_CHECKPOINT_ROOTS,
        "hf_endpoint": settings.HF_ENDPOINT,
        "s3_endpoint": settings.S3_ENDPOINT,
        "s3_region": settings.S3_REGION,
        "gcs_endpoint": settings.GCS_ENDPOINT,
        "azure_endpoint": settings.AZURE_ENDPOINT,
        "azure_account": settings.AZURE_ACCOUNT,
        "allow_private_addresses": settings.ALLOW_PRIVATE_ADDRESSES,
        "cache_dir": str(settings.DATA_DIR / "cache"),
    }
