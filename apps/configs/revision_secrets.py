"""The secrets that work on a revision may have."""

from collections.abc import Mapping
from typing import Any

from apps.secrets.services.values import secrets_reveal
from controlplane.domain.spec import Spec


def revision_secrets(row: Any) -> Mapping[str, str]:
    """Return the values that the spec of the row's revision names, of the row's team."""
    names = Spec.model_validate(row.revision.spec).secret_names
    return secrets_reveal(team=row.team, names=names)
