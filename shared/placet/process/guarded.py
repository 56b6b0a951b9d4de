"""The one HTTP client for addresses that came from outside: it reaches public servers and no others."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Self

import httpx2
from httpcore2 import SOCKET_OPTION, AsyncNetworkBackend, AsyncNetworkStream, ConnectError
from httpcore2 import AnyIOBackend as PlainBackend

from placet.errors import FieldError, Invalid, NotAllowed, Unavailable

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host name, as texts."""

LONGEST_URL: Final = 2000
_NAT64: Final = (
    ipaddress.ip_network("64:ff9b::/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
)
_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_ISATAP: Final = 0x5EFE
_NEVER: Final = (
    ipaddress.ip_network("169.254.0.0/16"),
    ipaddress.ip_network("fe80::/10"),
    ipaddress.ip_network("fd00:ec2::/32"),
)
"""Where clouds keep their metadata: refused also in development."""


class AddressRefused(NotAllowed):
    """The address leads to where a stranger must not send us."""

    code = "address_refused"


class CallFailed(Unavailable):
    """No answer came: no connection, a time-out, or something that is not HTTP."""

    code = "call_failed"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the other side answered; `body` is at most what was allowed."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


def embedded(address: IP) -> list[IP]:
    """The address and every IPv4 address that it carries in itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    found: list[IP | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    value = int(address)
    last = ipaddress.IPv4Address(value & 0xFFFFFFFF)
    isatap = (value >> 32) & 0xFDFFFFFF == _ISATAP
    if isatap or address in _COMPATIBLE or any(address in network for network in _NAT64):
        found.append(last)
    carried = [each for each in found if each is not None]
    # A mapped address is that IPv4 address; the other forms also have to be public themselves.
    return carried if address.ipv4_mapped else [address, *carried]


def is_public(address: IP) -> bool:
    """Whether anybody on the internet has this address, in every form that it can be read."""
    return all(
        each.is_global and not each.is_multicast and not each.is_reserved
        for each in embedded(address)
        if not (isinstance(each, ipaddress.IPv6Address) and each in _NAT64[0])
    )


def is_tolerable(address: IP) -> bool:
    """Whether development may reach it: public, private or loopback, but no metadata service."""
    return not any(
        each.is_multicast
        or each.is_unspecified
        or any(each.version == network.version and each in network for network in _NEVER)
        for each in embedded(address)
    )


class SystemResolver:
    """The machine's resolver, on threads of its own: a name server that hangs holds up no others."""

    def __init__(self, threads: int = 16) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="placet-resolve")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The addresses. Raises OSError."""

        def look_up() -> list[str]:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return list(dict.fromkeys(str(each[4][0]) for each in found))

        return await asyncio.get_running_loop().run_in_executor(self._pool, look_up)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class GuardedBackend(AsyncNetworkBackend):
    """Connects to an address that it has checked itself: what a name meant before does not count."""

    def __init__(self, resolve: Resolve, *, allow_private: bool) -> None:
        self._resolve = resolve
        self._allowed = is_tolerable if allow_private else is_public
        self._plain = PlainBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2 names it
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """Connect. Raises AddressRefused if any address of the host is not allowed."""
        failure: Exception = ConnectError("the name has no address")
        for address in await self._checked(host, port):
            try:
                return await self._plain.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except ConnectError as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """Refuse."""
        raise AddressRefused("no address from outside leads to a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        """Wait between two tries."""
        await asyncio.sleep(seconds)

    async def _checked(self, host: str, port: int) -> Sequence[str]:
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise ConnectError("the name can't be resolved") from error
        for each in found:
            # A zone (fe80::1%eth0) is cut off: what it stands behind is link-local anyway.
            if not self._allowed(ipaddress.ip_address(each.partition("%")[0])):
                raise AddressRefused("the host has an address that is not public")
        return found


class GuardedClient:
    """Sends to addresses that came from outside: checked, bounded, without redirects or proxies."""

    def __init__(self, *, allow_private: bool = False, resolve: Resolve | None = None) -> None:
        self._allow_private = allow_private
        self._own = SystemResolver() if resolve is None else None
        self._resolve: Resolve = resolve or self._own  # type: ignore[assignment] # one of the two
        self._made: httpx2.AsyncClient | None = None

    @property
    def _client(self) -> httpx2.AsyncClient:
        """The client, made at its first use: reading the trusted certificates takes a while."""
        if self._made is None:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
            transport = httpx2.AsyncHTTPTransport(trust_env=False, limits=limits)
            # There is no public way to give httpx2 a backend; a test holds this one.
            transport._pool._network_backend = GuardedBackend(
                self._resolve, allow_private=self._allow_private
            )
            self._made = httpx2.AsyncClient(
                transport=transport, trust_env=False, follow_redirects=False, timeout=None
            )
        return self._made

    def check(self, url: str) -> None:
        """Refuse early what can be told from the text; each connection is checked anyway.

        Raises:
            Invalid: with what is wrong about it.
        """
        if problem := self._problem(url):
            raise Invalid(f"the URL {problem}", [FieldError("/url", problem)])

    async def post(
        self,
        url: str,
        *,
        body: bytes,
        headers: Mapping[str, str],
        within: timedelta = timedelta(seconds=10),
        at_most: int = 64 * 1024,
    ) -> Reply:
        """Send once; `within` holds for everything, from the name to the last byte that is read.

        A body that is longer or slower than allowed is cut: the status has come by then.

        Raises:
            Invalid, AddressRefused: it must not be sent there.
            CallFailed: no answer came; it may have been received nevertheless.
        """
        self.check(url)
        reading = _Reading(at_most)
        try:
            async with asyncio.timeout(within.total_seconds()):
                sent = {"Accept-Encoding": "identity", "User-Agent": "placet", **headers}
                async with self._client.stream("POST", url, content=body, headers=sent) as response:
                    await reading.take(response)
        except TimeoutError as error:
            if reading.reply is None:
                raise CallFailed(f"no answer within {within.total_seconds():g} s") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
            if reading.reply is None:
                raise CallFailed(f"no answer: {type(error).__name__}") from error
        return reading.done()

    async def close(self) -> None:
        """Close all connections."""
        if self._made is not None:
            await self._made.aclose()
        if self._own is not None:
            self._own.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _problem(self, url: str) -> str | None:
        try:
            parts = httpx2.URL(url)
        except (httpx2.InvalidURL, UnicodeError, ValueError):
            return "can't be read"
        if len(url) > LONGEST_URL:
            return f"has more than {LONGEST_URL} characters"
        if parts.scheme != "https" and not (self._allow_private and parts.scheme == "http"):
            return "must begin with https://"
        if not parts.host or parts.userinfo or parts.fragment:
            return "needs a host, and can't have a user, a password or a fragment"
        return None if self._may_be_public(parts.host) else "leads to a private address"

    def _may_be_public(self, host: str) -> bool:
        allowed = is_tolerable if self._allow_private else is_public
        name = host.rstrip(".").lower()
        if name == "localhost" or name.endswith(".localhost"):
            return self._allow_private
        address = _literal(name)
        return address is None or allowed(address)


class _Reading:
    """What has come of an answer so far."""

    def __init__(self, at_most: int) -> None:
        self.reply: Reply | None = None
        self._left = at_most
        self._body = bytearray()

    async def take(self, response: httpx2.Response) -> None:
        """Read the head, and the body as far as it is allowed; raw, so that nothing unpacks."""
        self.reply = Reply(response.status_code, response.headers, b"")
        async for part in response.aiter_raw():
            self._body += part[: self._left - len(self._body)]
            if len(self._body) >= self._left:
                return

    def done(self) -> Reply:
        """The answer; called only once its head has come."""
        assert self.reply is not None  # noqa: S101 - the callers raise otherwise
        return Reply(self.reply.status, self.reply.headers, bytes(self._body))


def _literal(host: str) -> IP | None:
    """An address written out, in any spelling that a resolver takes: 127.1, 0x7f000001, 2130706433."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None
