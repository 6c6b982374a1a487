"""What lies between a host and its bucket: certificates of an operator's own, and proxies."""

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controlplane.artifacts import ArtifactFailure, ArtifactStore, Patience
from controlplane.artifacts.variables import store_variables
from controlplane.clock import SYSTEM
from tests.artifacts.places import BucketPlace
from tests.loopback_server import LoopbackServer, nobody_listens

ONCE = Patience(attempts=1, backoff_seconds=1.0, silence_seconds=60.0, upload_seconds=60.0)
DAY = datetime.timedelta(days=1)
EMPTY = (
    b"<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
)


class EmptyBucket(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(EMPTY)))
        self.end_headers()
        self.wfile.write(EMPTY)

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[str, Path]]:
    """Give the address of an empty bucket, and the file of the authority that vouches for it."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("Our authority", authority_key, "Our authority", authority_key)
    own = _certificate("store", key, "Our authority", authority_key)
    (folder / "authority.pem").write_bytes(authority)
    (folder / "store.pem").write_bytes(own + _private(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "store.pem")
    with LoopbackServer(("127.0.0.1", 0), EmptyBucket) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who trusts us not
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}", folder / "authority.pem"
        server.shutdown()
        thread.join()


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, issuers: ec.EllipticCurvePrivateKey
) -> bytes:
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, issuer)]
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(SYSTEM.now() - DAY)
        .not_valid_after(SYSTEM.now() + DAY)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
        .sign(issuers, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def opened(endpoint: str, **more: str) -> ArtifactStore:
    variables = {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "example",
        "AWS_ENDPOINT_URL": endpoint,
    }
    return ArtifactStore.open("s3://engines/x", variables=variables | more, patience=ONCE)


def test_an_authority_of_ones_own_is_trusted_when_it_is_named(tmp_path: Path) -> None:
    with tls_server(tmp_path) as (endpoint, authority):
        assert opened(endpoint, AWS_CA_BUNDLE=str(authority)).digests() == []
        with pytest.raises(ArtifactFailure) as caught:
            opened(endpoint).digests()
    assert caught.value.failure.code == "EHA-CERTIFICATE"
    assert endpoint in caught.value.failure.sentence


def test_a_file_of_certificates_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactFailure, match=r"AWS_CA_BUNDLE names `.*gone`"):
        opened("https://127.0.0.1:9", AWS_CA_BUNDLE=str(tmp_path / "gone"))


def test_the_proxy_of_the_host_is_asked_but_for_hosts_past_it(
    bucket: BucketPlace, folder: Path
) -> None:
    with nobody_listens() as address:
        bucket.variables |= store_variables({"http_proxy": f"http://{address}"})
        with pytest.raises(ArtifactFailure) as caught:
            bucket.open().publish(folder, {})
        assert caught.value.failure.code == "EHA-OFFLINE"
        bucket.variables |= {"no_proxy": "127.0.0.1"}
        assert bucket.open().publish(folder, {})
