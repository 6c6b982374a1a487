"""Which addresses a user's URL may lead to, decided on the address that is then connected to."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from controlplane.domain.failures.registry import archives
from controlplane.sources.archive_failures import archive_failure

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Target:
    url: str
    """With the address in the host's place, unless a proxy asks for us."""
    host: str
    """What the `Host` header says, and the name that a certificate must hold."""
    server_name: str | None = None
    proxy: str | None = None


def targets(url: str, *, allow_private: bool) -> list[Target]:
    """Return the ways to ask for an http(s) URL. Raises SourceFailure.

    A name is looked up once, and the address found is the one connected to: a name that answers
    differently the second time gains nothing. A proxy of the operator looks names up itself, and
    decides itself where it may go.
    """
    parts = urlsplit(url)
    name = parts.hostname or ""
    literal = _as_address(name)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if literal is None and proxy and not proxy_bypass(name) and name != "localhost":
        return [Target(url=url, host=parts.netloc, proxy=proxy)]
    addresses = [literal] if literal else _look_up(url, name, _port(parts))
    if not allow_private:
        for address in addresses:
            if not all(each.is_global and not each.is_multicast for each in _meanings(address)):
                raise archive_failure(archives.PRIVATE, url, host=name)
    return [
        Target(
            url=urlunsplit(parts._replace(netloc=f"{_bracketed(each)}:{_port(parts)}")),
            host=parts.netloc,
            server_name=None if literal else name,
        )
        for each in addresses
    ]


def _look_up(url: str, name: str, port: int) -> list[_Address]:
    try:
        addresses = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
        )
    except OSError as error:
        raise archive_failure(
            archives.OFFLINE, url, detail=f"`{name}` cannot be resolved: {error.strerror}"
        ) from None
    except UnicodeError:
        raise archive_failure(archives.OFFLINE, url, detail=f"`{name}` is no host name") from None
    # A scope, as in `fe80::1%eth0`, is of this machine's network anyway.
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in addresses]


def _meanings(address: _Address) -> list[_Address]:
    """Return the address and every other one that a router may take it for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inside.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    embedded = [each for each in inside if each is not None]
    return embedded if address.ipv4_mapped else [address, *embedded]


def _as_address(name: str) -> _Address | None:
    """Return a host written as an address, in any of the ways that a resolver takes for one."""
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name))
    except OSError:
        return None


def _bracketed(address: _Address) -> str:
    return f"[{address}]" if address.version == 6 else str(address)


def _port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]
