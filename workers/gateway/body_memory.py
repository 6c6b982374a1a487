"""Memory for request bodies, shared so that nobody can take what others need."""

from ipaddress import IPv6Address

from workers.gateway.refusals import Refusal, rate_limited
from workers.gateway.request import Request
from workers.gateway.snapshot import Key

_SMALL_BODY_BYTES = 64 * 1024
_KEYS_SHARE, _ADDRESS_SHARE, _SMALL_SHARE = 1, 3, 15
"""How many times the free memory a key, an address, and small bodies of either may hold."""


class BodyMemory:
    """A key or an address may hold some multiple of what is free.

    So the more is held, the less may be, and there is always room for someone new.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self.held_bytes = 0
        self._by_key: dict[str, int] = {}
        self._by_address: dict[str, int] = {}

    def take(self, request: Request, key: Key) -> Refusal | None:
        """Count what came of a body since the last time; return why that is too much."""
        more_bytes = request.body_bytes - request.held_bytes
        free = self._capacity_bytes - self.held_bytes - more_bytes
        small = request.body_bytes <= _SMALL_BODY_BYTES
        of_key = self._by_key.get(key.id, 0) + more_bytes
        if of_key > free * (_SMALL_SHARE if small else _KEYS_SHARE):
            return _KEY_HOLDS_MUCH
        of_address = self._by_address.get(request.address, 0) + more_bytes
        if of_address > free * (_SMALL_SHARE if small else _ADDRESS_SHARE):
            return _NO_MEMORY
        self.held_bytes += more_bytes
        self._by_key[key.id], self._by_address[request.address] = of_key, of_address
        request.held_bytes, request.held_by = request.body_bytes, key.id
        return None

    def release(self, request: Request) -> None:
        if size_bytes := request.held_bytes:
            self.held_bytes -= size_bytes
            _give(self._by_key, request.held_by, size_bytes)
            _give(self._by_address, request.address, size_bytes)
            request.held_bytes = 0


def address_of(peer: object) -> str:
    """Return who stands behind a socket's peer: of IPv6 the /64, which is one host's to choose."""
    host = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    mapped = address.ipv4_mapped
    return str(mapped) if mapped is not None else address.packed[:8].hex()


def _give(bytes_of: dict[str, int], name: str, size_bytes: int) -> None:
    left = bytes_of[name] - size_bytes
    if left:
        bytes_of[name] = left
    else:
        del bytes_of[name]


_KEY_HOLDS_MUCH = rate_limited(
    "Requests of this API key that the gateway is reading hold as much memory as one key may. "
    "Send fewer large bodies at a time.",
    retry_after_seconds=5,
)
_NO_MEMORY = Refusal(
    status=503,
    code="gateway_busy",
    error_code="model_unavailable",
    message="The gateway holds too many large request bodies. Send the request again later.",
    retry_after_seconds=5,
)
