"""Settings: where they come from, and what a wrong one says."""

from pathlib import Path

import pytest

from placet.errors import SettingsError
from placet.process.platform import from_settings
from placet.process.settings import Settings, load, require

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLACET_DATA", ":memory:")


def test_the_environment_stands_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "placet.toml").write_text(
        'port = 1111\nhost = "0.0.0.0"\nallowed_hosts = ["a.example"]\n[limits]\nx = 1\n'
    )
    monkeypatch.setenv("PLACET_PORT", "2222")
    settings = load(Settings)
    assert (settings.port, settings.host) == (2222, "0.0.0.0")  # noqa: S104 - only read
    assert settings.allowed_hosts == ("a.example",)
    monkeypatch.setenv("PLACET_ALLOWED_HOSTS", "b.example, c.example")
    assert load(Settings).allowed_hosts == ("b.example", "c.example")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLACET_PORT", "eighty"),
        ("PLACET_AMQP_URL", "http://user:hush@host"),
        ("PLACET_MONGO_URL", "postgres://user:hush@host"),
        ("PLACET_PUBLIC_URL", "placet.example"),
        ("PLACET_LOG_LEVEL", "loud"),
        ("PLACET_OIDC_ISSUER", "http://issuer.example"),
        ("PLACET_OIDC_JWKS_URL", "ftp://issuer.example/jwks"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as caught:
        load(Settings)
    assert "placet.toml" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "placet.toml").write_text("port = = 1")
    with pytest.raises(SettingsError, match=r"placet\.toml"):
        load(Settings)


def test_a_missing_setting_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="PLACET_AMQP_URL is missing: it needs a bus"):
        require(load(Settings), "amqp_url", "it needs a bus")
    monkeypatch.delenv("PLACET_DATA")
    with pytest.raises(SettingsError, match="PLACET_MONGO_URL or PLACET_DATA is missing"):
        from_settings(load(Settings))


def test_a_bus_url_of_another_user_is_refused_and_a_placeholder_filled() -> None:
    platform = from_settings(load(Settings, amqp_url="amqp://placet-runner:x@localhost/"))
    with pytest.raises(SettingsError, match="placet-broker"):
        platform.bus("placet-broker")
    platform = from_settings(load(Settings, amqp_url="amqp://{user}:x@localhost/"))
    assert platform.bus("placet-broker").user == "placet-broker"


def test_an_issuer_whose_tokens_could_be_for_anybody_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLACET_OIDC_ISSUER", "https://issuer.example")
    with pytest.raises(SettingsError, match="PLACET_OIDC_AUDIENCE"):
        from_settings(load(Settings))
    monkeypatch.setenv("PLACET_OIDC_AUDIENCE", "placet, placet-cli")
    assert from_settings(load(Settings)).auth.tokens is not None
