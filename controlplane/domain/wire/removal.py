"""How a node is told that it was removed, so that nobody else can tell it so.

Its agent ends what it runs on this alone. A proxy's 410, or another server's, must not do that.
"""

import hashlib
import hmac


def removal_signature(*, credential_sha256: str, node_id: str) -> str:
    """Return what only the control plane and the node can compute."""
    key = credential_sha256.encode()
    return hmac.new(key, f"node removed: {node_id}".encode(), hashlib.sha256).hexdigest()


def is_removal(*, credential_sha256: str, node_id: str, signature: str) -> bool:
    expected = removal_signature(credential_sha256=credential_sha256, node_id=node_id)
    return hmac.compare_digest(expected.encode(), signature.encode())
