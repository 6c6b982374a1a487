"""The secrets of an installation, and who may come in."""

from pydantic import field_validator

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import INSTALLATION, CommonSettings
from controlplane.process_settings.kinds import Folder, HttpUrl, LowerList

SHORTEST_SECRET_KEY = 32


class SignInSettings(CommonSettings):
    """Of the web process; `SECRET_KEY` is empty where it is kept in the data folder."""

    group = INSTALLATION
    read_by = "web"

    secret_key: str = variable(
        "SECRET_KEY",
        "",
        shown="made once in `DATA_DIR/keys`",
        read_by="web, workers",
        is_secret=True,
    )
    """Signs sessions; at least 32 characters."""

    key_ring_file: Folder = variable(
        "KEY_RING_FILE",
        default_factory=lambda settings: settings["data_dir"] / "keys" / "secrets.keyring",
        shown="`DATA_DIR/keys/secrets.keyring`",
    )
    """The keys that seal stored secrets. Several web hosts need the same file; back it up apart
    from the database. `manage.py secret_rotate` adds a key to it."""

    oidc_issuer_url: HttpUrl | None = variable("OIDC_ISSUER_URL", None)
    """The organisation's OpenID Connect provider; people then sign in there. Its client needs the
    redirect address `PUBLIC_URL/sign-in/oidc/login/callback/`."""

    oidc_client_id: str = variable("OIDC_CLIENT_ID", "")
    """How the provider knows this installation."""

    oidc_client_secret: str = variable("OIDC_CLIENT_SECRET", "", is_secret=True)
    """What proves that to it."""

    oidc_name: str = variable("OIDC_NAME", "Single sign-on")
    """What the button on the sign-in page says."""

    oidc_domains: LowerList = variable("OIDC_DOMAINS", [])
    """Mail domains, separated by commas, whose people become members of the default team at their
    first sign-in; all others need an invitation."""

    non_ascii_emails: bool = variable("NON_ASCII_EMAILS", False)
    """`1`: e-mail addresses may have letters beyond ASCII before the `@`, but for those that fold
    into ASCII."""

    sign_in_accounts_per_address: int = variable("SIGN_IN_ACCOUNTS_PER_ADDRESS", 10, ge=0)
    """After failed sign-ins to so many accounts from one address within 15 minutes, passwords are
    not taken from it for 15 minutes; `0`: no limit. Raise it where a proxy in front has everybody
    come from its own address."""

    api_requests_per_minute: int = variable("API_REQUESTS_PER_MINUTE", 1200, ge=0)
    """How many requests one API key or signed-in person may send to `/v1` in a minute; `0`: no
    limit."""

    @field_validator("secret_key")
    @classmethod
    def _is_long(cls, text: str) -> str:
        if text and len(text) < SHORTEST_SECRET_KEY:
            raise ValueError(f"shorter than {SHORTEST_SECRET_KEY} characters.")
        return text
