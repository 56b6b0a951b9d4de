"""The guarded client reaches public servers, and no spelling of an address leads it elsewhere."""

import ipaddress
from collections.abc import Sequence

import pytest

from placet.errors import Invalid
from placet.process.guarded import (
    AddressRefused,
    CallFailed,
    GuardedBackend,
    GuardedClient,
    is_public,
    is_tolerable,
)

pytestmark = pytest.mark.unit

PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",  # noqa: S104 - refused
    "255.255.255.255",
    "224.0.1.1",
    "240.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "::",
    "::1",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a00:1",
    "2001:0:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2a00:1450:4001:81b:0:5efe:7f00:1",
]
PUBLIC = [
    "8.8.8.8",
    "93.184.215.14",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_not_everybody_has_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
    assert is_tolerable(ipaddress.ip_address(address))


def test_development_reaches_its_own_machine_but_no_metadata_service() -> None:
    for allowed in ("127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "fc00::1"):
        assert is_tolerable(ipaddress.ip_address(allowed))
    for refused in ("169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "::", "224.0.0.1"):
        assert not is_tolerable(ipaddress.ip_address(refused))


BAD_URLS = [
    "http://example.com/",
    "ftp://example.com/",
    "https://",
    "https:///path",
    "https://user:password@example.com/",
    "https://example.com/#part",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0/",
    "https://127.0.0.1./",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[fe80::1%25eth0]/",
    "https://localhost/",
    "https://LOCALHOST./",
    "https://a.localhost/",
    "https://169.254.169.254/latest/meta-data/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://" + "a" * 2000 + ".example/",
    "not a url",
    "",
]


@pytest.mark.parametrize("url", BAD_URLS)
async def test_ap_104_no_spelling_of_an_address_gets_a_connection(url: str) -> None:
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async with GuardedClient(resolve=resolve) as client:
        with pytest.raises((Invalid, AddressRefused)):
            await client.post(url, body=b"{}", headers={})


@pytest.mark.parametrize("url", BAD_URLS[:6])
def test_ap_104_what_the_text_tells_is_said_before_anything_is_stored(url: str) -> None:
    with pytest.raises(Invalid) as raised:
        GuardedClient().check(url)
    assert raised.value.errors[0].pointer == "/url"


@pytest.mark.parametrize("address", PRIVATE)
async def test_ap_104_a_name_that_leads_inside_is_refused_when_it_is_connected(
    address: str,
) -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return [address]

    async with GuardedClient(resolve=resolve) as client:
        client.check("https://innocent.example/")
        with pytest.raises(AddressRefused):
            await client.post("https://innocent.example/", body=b"", headers={})


async def test_one_bad_address_among_good_ones_is_enough_to_refuse() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["8.8.8.8", "10.0.0.1"]

    with pytest.raises(AddressRefused):
        await GuardedBackend(resolve, allow_private=False).connect_tcp("x.example", 443)


async def test_ap_106_a_name_that_changes_its_mind_is_checked_again_at_each_connection() -> None:
    answers = iter([["10.0.0.1"], ["127.0.0.1"], ["fd00::1"]])

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return next(answers)

    async with GuardedClient(resolve=resolve) as client:
        for _ in range(3):
            with pytest.raises(AddressRefused):
                await client.post("https://rebinding.example/", body=b"", headers={})


async def test_a_name_that_can_not_be_resolved_is_a_failed_call() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        raise OSError("no such name")

    async with GuardedClient(resolve=resolve) as client:
        with pytest.raises(CallFailed):
            await client.post("https://nowhere.example/", body=b"", headers={})


async def test_a_socket_of_this_machine_is_no_address() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return []

    with pytest.raises(AddressRefused):
        await GuardedBackend(resolve, allow_private=True).connect_unix_socket("/run/x.sock")
