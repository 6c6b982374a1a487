import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from controlplane.domain.notifications import Message, Outcome

TIMEOUT_SECONDS = 10.0
_PORTS = {"smtp": 587, "smtps": 465}
_PERMANENT = 500


def send_mail(message: Message, *, server_url: str, sender: str) -> Outcome:
    """Return how it went; one mail to all mailboxes."""
    if not server_url:
        return Outcome(
            sentence="This installation has no mail server.",
            hint="The operator sets EMAIL_URL and EMAIL_FROM for the workers.",
            may_retry=False,
        )
    try:
        with _connected(server_url) as server:
            refused = server.send_message(_mail(message, sender))
    except (smtplib.SMTPException, OSError) as error:
        return _failed(error, urlsplit(server_url).hostname or "?")
    return _refused(list(refused)) if refused else Outcome()


@contextmanager
def _connected(server_url: str) -> Iterator[smtplib.SMTP]:
    parts = urlsplit(server_url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    trusted = ssl.create_default_context()
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            host, port, timeout=TIMEOUT_SECONDS, context=trusted
        )
    else:
        server = smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
    try:
        _log_in(server, parts.username, parts.password, trusted, is_safe=parts.scheme == "smtps")
        yield server
    finally:
        # A mail that was taken stays so, whatever is said at parting.
        with suppress(smtplib.SMTPException, OSError):
            server.quit()
        server.close()


def _log_in(
    server: smtplib.SMTP,
    user: str | None,
    password: str | None,
    trusted: ssl.SSLContext,
    *,
    is_safe: bool,
) -> None:
    """Encrypt where the server can; a password is never sent without."""
    server.ehlo()
    if not is_safe and server.has_extn("starttls"):
        server.starttls(context=trusted)
        server.ehlo()
        is_safe = True
    if user:
        if not is_safe:
            raise smtplib.SMTPNotSupportedError("the server offers no STARTTLS for the login")
        server.login(unquote(user), unquote(password or ""))


def _mail(message: Message, sender: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, message.target
    mail["Subject"] = " ".join(f"[Enginehouse] {message.title}".split())
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(idstring=message.id, domain="enginehouse.invalid")
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    return mail


def _failed(error: Exception, host: str) -> Outcome:
    code = getattr(error, "smtp_code", 0)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _refused(list(error.recipients))
    words = f"it answered {code}" if code else str(error) or type(error).__name__
    return Outcome(
        sentence=f"The mail server `{host}` did not take it: {words}.",
        hint="The operator looks at EMAIL_URL and EMAIL_FROM.",
        may_retry=not code or code < _PERMANENT,
    )


def _refused(mailboxes: list[str]) -> Outcome:
    named = ", ".join(f"`{each}`" for each in mailboxes)
    return Outcome(
        sentence=f"The mail server refused {named}; the others have the mail.",
        hint="Change the mailboxes of the channel.",
        may_retry=False,
    )
