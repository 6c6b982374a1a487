"""The way between this machine and wherever a checkpoint or data set lies."""

from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.pattern import log_pattern

_PYTHON = "CPython 3.11, socket and ssl"
_CLIENT = "httpx2 2.16 through huggingface_hub 2.4.0"

PATTERNS = (
    log_pattern(
        "EHB-DNS",
        Blame.MACHINE,
        r"Name or service not known|Temporary failure in name resolution|"
        r"No address associated with hostname|nodename nor servname provided",
        "{subject} could not find the address of the host that it asked for {repo}.",
        "Check the name server of the build machine, and HF_ENDPOINT where you set one.",
        text="huggingface_hub.errors.LocalEntryNotFoundError: Got: ConnectError: [Errno -2] "
        "Name or service not known",
        source=_CLIENT,
    ),
    log_pattern(
        "EHB-REFUSED",
        Blame.MACHINE,
        r"\[Errno 111\]|Connection refused",
        "{subject} was refused a connection where it asked for {repo}: nothing listens there.",
        "Check HF_ENDPOINT and the proxy of the build machine, then retry.",
        text="huggingface_hub.errors.LocalEntryNotFoundError: Got: ConnectError: [Errno 111] "
        "Connection refused",
        source=_CLIENT,
    ),
    log_pattern(
        "EHB-UNREACHABLE",
        Blame.MACHINE,
        r"Network is unreachable|No route to host|Network is down",
        "The build machine has no route into the network, and was to fetch {repo}.",
        "Check its network and firewall, or copy the checkpoint into a folder of "
        "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
        text="httpx2.ConnectError: [Errno 101] Network is unreachable",
        source=_PYTHON,
    ),
    log_pattern(
        "EHB-RESET",
        Blame.MACHINE,
        r"Connection reset by peer|peer closed connection without sending complete message"
        r"|IncompleteRead\(",
        "The connection broke off while {it} was reading.",
        "Retry: what was fetched so far is kept. If it persists, look at the proxy.",
        text="httpx2.RemoteProtocolError: peer closed connection without sending complete "
        "message body (received 1048576 bytes, expected 4976698672)",
        source=_CLIENT,
    ),
    log_pattern(
        "EHB-TIMEOUT",
        Blame.MACHINE,
        r"ReadTimeout\b|ConnectTimeout\b|timed out\b|Connection timed out",
        "{subject} asked for {repo} and got no answer in time.",
        "Retry. If it persists, check the network and proxy of the build machine.",
        text="httpx2.ConnectTimeout: _ssl.c:983: The handshake operation timed out",
        source=_CLIENT,
    ),
    log_pattern(
        "EHB-TLS",
        Blame.MACHINE,
        r"CERTIFICATE_VERIFY_FAILED(?!\] certificate verify failed: certificate is not yet)",
        "The build machine does not trust the certificate of the host that it asked for {repo}.",
        "Behind a proxy that opens TLS, put its certificate into the machine's store and set "
        "SSL_CERT_FILE for the build worker.",
        text="httpx2.ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify "
        "failed: self-signed certificate in certificate chain (_ssl.c:1006)",
        source=_PYTHON,
    ),
    log_pattern(
        "EHB-CLOCK",
        Blame.MACHINE,
        r"RequestTimeTooSkewed|difference between the request time and the|"
        r"certificate is not yet valid",
        "The clock of the build machine is wrong: what it asked for was refused.",
        "Set the clock of the build worker (NTP), then retry.",
        text="RequestTimeTooSkewed: The difference between the request time and the current "
        "time is too large.",
        source="Amazon S3 API reference, error responses",
    ),
    log_pattern(
        "EHB-PROXY",
        Blame.MACHINE,
        r"ProxyError\b|407 Proxy Authentication Required",
        "The proxy of the build machine did not let {repo} through.",
        "Check HTTPS_PROXY of the build worker, its login, and what the proxy allows.",
        text="httpx2.ProxyError: 403 Forbidden",
        source=_CLIENT,
    ),
)
