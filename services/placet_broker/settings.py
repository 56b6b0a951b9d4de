"""The broker's own settings, from the same places as everybody's."""

from datetime import timedelta

from pydantic import Field, SecretStr

from placet.process.settings import Names, Settings


class BrokerSettings(Settings):
    """Settings of the broker."""

    broker_prefetch: int = Field(default=64, ge=1, le=10_000)
    """How many deliveries are handled at once on each queue."""
    interaction_timeout_secs: int | None = Field(default=None, ge=0, le=2_592_000)
    """How long a question waits where its asker does not say; 0 waits indefinitely. 7 days, or what
    `[limits]` of the operator's file says, if nothing is set."""
    due_poll_seconds: float = Field(default=1.0, gt=0, le=60)
    """The longest the broker goes without looking for what is due."""
    retention_days: int = Field(default=90, ge=0, le=36_500)
    """How long a settled question is kept whole; then its body and history go, and its id, digest
    and resolution stay. A run's question is kept until its run has acted on it; 0 keeps all."""
    arrival_patience_seconds: float = Field(default=2.0, ge=0, le=30)
    """How long an answer waits for a question that a run shows and that is still on its way."""
    oidc_client_id: str | None = None
    """What Placet is called at the issuer, so that people log in to the inbox there. Needs
    `oidc_issuer` and `public_url`; the issuer is told PUBLIC_URL/login/oidc/callback."""
    oidc_client_secret: SecretStr | None = None
    """What Placet proves itself with; without it, it is a public client, with PKCE alone."""
    oidc_scopes: Names = ("openid",)
    """What is asked of the issuer at a login; many need `groups` to tell those."""
    oidc_name: str = "single sign-on"
    """What people call the issuer: the login page says `Log in with` it."""

    @property
    def retention(self) -> timedelta | None:
        """How long a settled question is kept whole; None: for ever."""
        return timedelta(days=self.retention_days) if self.retention_days else None

    @property
    def arrival_patience(self) -> timedelta:
        """The same as a span."""
        return timedelta(seconds=self.arrival_patience_seconds)
