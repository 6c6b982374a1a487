"""The variables of AWS by which the artifact store is opened: read here and nowhere else.

Children get no variables of the sort. What they need of them comes to them as their secrets do.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from controlplane.artifacts.failures import unreadable_file

_SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Each may be named by a file too; the first is no secret, and belongs to the second."""
_PLACE = (
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE",
)  # fmt: skip
_ROLE = (
    "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)  # fmt: skip
_PROXIES = tuple(
    each for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY") for each in (name, name.lower())
)
"""Of the process, not of AWS: along with the others for a child that has none of its own."""
NAMES = _SECRETS + _PLACE + _ROLE
LOGIN = frozenset(_SECRETS) | {f"{name}_FILE" for name in _SECRETS}
"""What no process gets that has no use for the store."""


def store_variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return those that are set, the content of `<name>_FILE` in place of a secret's file.

    Raises ArtifactFailure where such a file cannot be read.
    """
    given = os.environ if environment is None else environment
    plain = _PLACE + _ROLE + _PROXIES
    found = {name: given[name].strip() for name in plain if given.get(name)}
    return found | {name: value for name in _SECRETS if (value := _secret(name, given))}


def secret_values(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return what of the variables no log may show."""
    return tuple(variables[name] for name in _SECRETS[1:] if name in variables)


def _secret(name: str, given: Mapping[str, str]) -> str:
    file_name = given.get(f"{name}_FILE")
    if not file_name:
        return given.get(name, "").strip()
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable_file(f"{name}_FILE", file_name, error) from None
