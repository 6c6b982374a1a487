"""The variables of AWS by which the artifact store is opened: read here and nowhere else.

Children get no variables of the sort. What they need of them comes to them as their secrets do.
"""

import os
from collections.abc import Mapping

from controlplane.artifacts.failures import unreadable_file

_SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""The first is no secret, and belongs to the second."""
_PROXIES = tuple(
    each for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY") for each in (name, name.lower())
)
"""Of the process, not of AWS: along with the others for a child that has none of its own."""
LOGIN = frozenset(_SECRETS) | {f"{name}_FILE" for name in _SECRETS}
"""What no process gets that has no use for the store."""


def store_variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return those that are set, the content of `<name>_FILE` in place of a secret's file.

    Raises ArtifactFailure where such a file cannot be read.
    """
    # Here and not above: steps, which get what these tell, start sooner without them.
    from controlplane.process_settings.store import StoreSettings
    from controlplane.process_settings.wrong import UnreadableFile

    given = os.environ if environment is None else environment
    try:
        settings = StoreSettings.read(given)
    except UnreadableFile as wrong:
        raise unreadable_file(wrong.variable, wrong.path, wrong.error) from None
    proxies = {name: given[name].strip() for name in _PROXIES if given.get(name)}
    return proxies | settings.by_variable()


def secret_values(variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(variables[name] for name in _SECRETS[1:] if name in variables)
