"""The way between this machine and wherever a checkpoint or data set lies."""

import re

from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.pattern import Example, Pattern

_CHECKED = "2026-11-28"
_PYTHON = "CPython 3.11, socket and ssl"
_CLIENT = "httpx2 2.16 through huggingface_hub 2.4.0"

PATTERNS = (
    Pattern(
        code="EHB-DNS",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"Name or service not known|Temporary failure in name resolution|"
            r"No address associated with hostname|nodename nor servname provided"
        ),
        sentence="{subject} could not find the address of the host that it asked for {repo}.",
        hint="Check the name server of the build machine, and HF_ENDPOINT where you set one.",
        example=Example(
            text="huggingface_hub.errors.LocalEntryNotFoundError: Got: ConnectError: [Errno -2] "
            "Name or service not known",
            source=_CLIENT,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-REFUSED",
        blame=Blame.MACHINE,
        expression=re.compile(r"\[Errno 111\]|Connection refused"),
        sentence="{subject} was refused a connection where it asked for {repo}: nothing "
        "listens there.",
        hint="Check HF_ENDPOINT and the proxy of the build machine, then retry.",
        example=Example(
            text="huggingface_hub.errors.LocalEntryNotFoundError: Got: ConnectError: [Errno 111] "
            "Connection refused",
            source=_CLIENT,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-UNREACHABLE",
        blame=Blame.MACHINE,
        expression=re.compile(r"Network is unreachable|No route to host|Network is down"),
        sentence="The build machine has no way into the network, asked for {repo}.",
        hint="Check its network and firewall, or copy the checkpoint into a folder of "
        "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
        example=Example(
            text="httpx2.ConnectError: [Errno 101] Network is unreachable",
            source=_PYTHON,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-RESET",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"Connection reset by peer|peer closed connection without sending complete message"
            r"|IncompleteRead\("
        ),
        sentence="The connection broke off while {it} was reading.",
        hint="Retry: what was fetched so far is kept. If it persists, look at the proxy.",
        example=Example(
            text="httpx2.RemoteProtocolError: peer closed connection without sending complete "
            "message body (received 1048576 bytes, expected 4976698672)",
            source=_CLIENT,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-TIMEOUT",
        blame=Blame.MACHINE,
        expression=re.compile(r"ReadTimeout\b|ConnectTimeout\b|timed out\b|Connection timed out"),
        sentence="{subject} waited for an answer that did not come, asked for {repo}.",
        hint="Retry. If it persists, check the network and proxy of the build machine.",
        example=Example(
            text="httpx2.ConnectTimeout: _ssl.c:983: The handshake operation timed out",
            source=_CLIENT,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-TLS",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"CERTIFICATE_VERIFY_FAILED(?!\] certificate verify failed: certificate is not yet)"
        ),
        sentence="The build machine does not trust the certificate of the host that it asked for "
        "{repo}.",
        hint="Behind a proxy that opens TLS, put its certificate into the machine's store and set "
        "SSL_CERT_FILE for the build worker.",
        example=Example(
            text="httpx2.ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify "
            "failed: self-signed certificate in certificate chain (_ssl.c:1006)",
            source=_PYTHON,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-CLOCK",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"RequestTimeTooSkewed|difference between the request time and the|"
            r"certificate is not yet valid"
        ),
        sentence="The clock of the build machine is wrong: what it asked for was refused.",
        hint="Set the clock of the build worker (NTP), then retry.",
        example=Example(
            text="RequestTimeTooSkewed: The difference between the request time and the current "
            "time is too large.",
            source="Amazon S3 API reference, error responses",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-PROXY",
        blame=Blame.MACHINE,
        expression=re.compile(r"ProxyError\b|407 Proxy Authentication Required"),
        sentence="The proxy of the build machine did not let {repo} through.",
        hint="Check HTTPS_PROXY of the build worker, its login, and what the proxy allows.",
        example=Example(
            text="httpx2.ProxyError: 403 Forbidden",
            source=_CLIENT,
            checked=_CHECKED,
        ),
    ),
)
