"""Settings of every process: the environment (PLACET_...) first, then placet.toml."""

import os
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from placet.errors import SettingsError

S = TypeVar("S", bound="Settings")


def _split(value: Any) -> Any:
    words = value.split(",") if isinstance(value, str) else value
    return tuple(word.strip() for word in words if word.strip())


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Several words: a list in TOML, separated by commas in the environment."""


class Settings(BaseSettings):
    """What all services share. A service reads its own with a subclass, from the same places."""

    model_config = SettingsConfigDict(
        env_prefix="PLACET_", extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    mongo_url: SecretStr | None = None
    """MongoDB, such as mongodb://host:27017/?replicaSet=rs0. Without it, SQLite in `data`."""
    data: Path | None = None
    """Folder of the SQLite databases; `:memory:` keeps them in memory (for tests)."""
    database_prefix: str = Field(default="placet_", pattern=r"^[a-z][a-z0-9_]{0,40}$")
    """In front of each database's name, so that several installations share a server."""
    amqp_url: SecretStr | None = None
    """RabbitMQ, such as amqp://placet-broker:password@host/; {user} stands for the service's user.

    Without it, the services of this one process talk to each other in memory.
    """
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8300, ge=0, le=65_535)
    """Port to listen on; 0 takes a free one."""
    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s]+$")
    """Where people reach Placet, scheme and host; goes into links and is an allowed origin."""
    allowed_hosts: Names = ()
    """Further Host headers that are answered; loopback names and `public_url` always are."""
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")
    """How much is logged."""
    drain_seconds: float = Field(default=10.0, ge=0, le=3600)
    """How long open requests may take after SIGTERM."""
    oidc_issuer: str | None = None
    """The OpenID issuer whose tokens (JWT) are taken for people, exactly as it names itself; https."""
    oidc_audience: Names = ()
    """What a token must be made for (`aud`), one of these; needed with `oidc_issuer`."""
    oidc_jwks_url: str | None = None
    """Where the issuer's keys are; by its discovery document otherwise."""
    oidc_subject_claim: str = "sub"
    """The claim that is a person's id; `email` counts only where `email_verified` is true."""
    oidc_groups_claim: str = "groups"
    """The claim that lists a person's groups."""
    oidc_namespace: str = "default"
    """The namespace of everybody who comes by token."""
    oidc_namespace_claim: str | None = None
    """The claim that names the namespace instead; a token without it is refused."""
    oidc_operator_groups: Names = ()
    """Groups of the token whose members may do what an operator may."""

    @field_validator("oidc_issuer", "oidc_jwks_url")
    @classmethod
    def _https(cls, value: str | None) -> str | None:
        loopback = ("localhost", "127.0.0.1", "::1")
        parts = urlsplit(value or "https://none")
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in loopback):
            msg = "must start with https:// (http:// only on this machine)"
            raise ValueError(msg)
        return value

    @field_validator("amqp_url")
    @classmethod
    def _amqp(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and urlsplit(value.get_secret_value()).scheme not in ("amqp", "amqps"):
            msg = "must start with amqp:// or amqps://"
            raise ValueError(msg)
        return value

    @field_validator("mongo_url")
    @classmethod
    def _mongo(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not value.get_secret_value().startswith(("mongodb://", "mongodb+srv://")):
            msg = "must start with mongodb:// or mongodb+srv://"
            raise ValueError(msg)
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is passed wins over the environment, which wins over the file."""
        toml = TomlConfigSettingsSource(settings_cls, toml_file=config_file())
        return init_settings, env_settings, toml


def config_file() -> Path:
    """The configuration file: PLACET_CONFIG, else placet.toml in the working folder.

    Raises:
        SettingsError: PLACET_CONFIG names a file that is not there, and rules that are not read
            would deny nothing.
    """
    named = os.environ.get("PLACET_CONFIG")
    if named and not Path(named).exists():
        raise SettingsError(f"PLACET_CONFIG names {named}, and there is no such file")
    return Path(named or "placet.toml")


def load(cls: type[S], **overrides: Any) -> S:
    """Read the settings of one class; `overrides` stand before the environment.

    Raises:
        SettingsError: a setting is wrong, or the file is not readable; the message names it and
            says how to put it right. Values are not repeated: they may be secrets.
    """
    try:
        return cls(**overrides)
    except ValidationError as error:
        raise SettingsError(
            "; ".join(_problem(e["loc"], e["msg"]) for e in error.errors())
        ) from None
    except (ValueError, OSError) as error:
        raise SettingsError(f"{config_file()} can't be read: {error}") from error


def require(settings: Settings, name: str, why: str) -> Any:
    """The value of an optional setting that this process needs. Raises SettingsError."""
    value = getattr(settings, name)
    if value is None:
        raise SettingsError(f"PLACET_{name.upper()} is missing: {why}")
    return value


def _problem(where: tuple[int | str, ...], why: str) -> str:
    name = str(where[0]) if where else "settings"
    remedy = f"set it in the environment, or as {name} in {config_file()}"
    return f"PLACET_{name.upper()}: {why} ({remedy})"
