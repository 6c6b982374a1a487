"""Settings: secrets of this installation."""

from controlplane.domain.settings_catalogue.setting import Group, Setting

INSTALLATION = Group(
    title="Secrets of this installation",
    settings=(
        Setting(
            name="SECRET_KEY",
            default="made once in `DATA_DIR/keys`",
            read_by="web, workers",
            says="Signs sessions; at least 32 characters.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="KEY_RING_FILE",
            default="`DATA_DIR/keys/secrets.keyring`",
            read_by="web",
            says="The keys that seal stored secrets. Several web hosts need the same file; "
            "back it up apart from the database. `manage.py secret_rotate` adds a key "
            "to it.",
        ),
        Setting(
            name="OIDC_ISSUER_URL",
            default="none",
            read_by="web",
            says="The organisation's OpenID Connect provider; people then sign in there. Its "
            "client needs the redirect address "
            "`PUBLIC_URL/sign-in/oidc/login/callback/`.",
        ),
        Setting(
            name="OIDC_CLIENT_ID",
            default="none",
            read_by="web",
            says="How the provider knows this installation.",
        ),
        Setting(
            name="OIDC_CLIENT_SECRET",
            default="none",
            read_by="web",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="OIDC_NAME",
            default="`Single sign-on`",
            read_by="web",
            says="What the button on the sign-in page says.",
        ),
        Setting(
            name="OIDC_DOMAINS",
            default="none",
            read_by="web",
            says="Mail domains, separated by commas, whose people become members of the "
            "default team at their first sign-in; all others need an invitation.",
        ),
        Setting(
            name="NON_ASCII_EMAILS",
            default="`0`",
            read_by="web",
            says="`1`: e-mail addresses may have letters beyond ASCII before the `@`, but for "
            "those that fold into ASCII.",
        ),
        Setting(
            name="SIGN_IN_ACCOUNTS_PER_ADDRESS",
            default="`10`",
            read_by="web",
            says="After failed sign-ins to so many accounts from one address within 15 minutes, "
            "passwords are not taken from it for 15 minutes; `0`: no limit. Raise it where "
            "a proxy in front has everybody come from its own address.",
        ),
        Setting(
            name="ENROLLMENT_TOKEN",
            default="none",
            read_by="agent, gateway",
            says="The one-time token for the first start on a host.",
            is_secret=True,
        ),
        Setting(
            name="API_REQUESTS_PER_MINUTE",
            default="`1200`",
            read_by="web",
            says="How many requests one API key or signed-in person may send to `/v1` in a "
            "minute; `0`: no limit.",
        ),
    ),
)
