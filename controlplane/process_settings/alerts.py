"""How alerts leave by mail."""

from typing import Annotated

from pydantic import AfterValidator

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import ALERTS, CommonSettings
from controlplane.process_settings.kinds import url_of

MailUrl = Annotated[str, AfterValidator(url_of("smtp", "smtps"))]


class AlertSettings(CommonSettings):
    """Of web and workers."""

    group = ALERTS
    read_by = "web, workers"

    email_url: MailUrl | None = variable("EMAIL_URL", None, is_secret=True)
    """The mail server: `smtps://user:password@host:465`, or `smtp://…:587`, which is encrypted
    (STARTTLS) where the server can and never logs in without. Without it no channel sends mail."""

    email_from: str = variable("EMAIL_FROM", "enginehouse@localhost")
    """The sender of mail."""
