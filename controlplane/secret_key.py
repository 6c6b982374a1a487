import os
import secrets
from pathlib import Path


def kept_secret_key(data_dir: Path) -> str:
    kept = data_dir / "keys" / "django.key"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return kept.read_text().strip()
