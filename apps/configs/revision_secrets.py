from collections.abc import Mapping
from typing import Any

from apps.secrets.services.values import secrets_reveal
from controlplane.domain.spec import Spec


def revision_secrets(row: Any) -> Mapping[str, str]:
    names = Spec.model_validate(row.revision.spec).secret_names
    return secrets_reveal(team=row.team, names=names)
