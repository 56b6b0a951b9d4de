"""The runner's own settings, from the same places as everybody's."""

from datetime import timedelta

from pydantic import Field, SecretStr

from placet.process.settings import Names, Settings

BUNDLED = "placet.agents.ops"


class RunnerSettings(Settings):
    """Settings of the runner."""

    agents: Names = (BUNDLED,)
    """Files (`my_agents.py`, `coder.toml`, `coder.json`) or modules (`my.agents`) whose agents are loaded."""
    runner_slots: int = Field(default=64, ge=1, le=10_000)
    """How many runs one replica holds at once."""
    lease_seconds: float = Field(default=30, ge=1, le=3600)
    """How long a claim lasts without being renewed; a dead replica's runs are taken over after it."""
    sweep_seconds: float = Field(default=1, gt=0, le=60)
    """How often a replica looks for what was left behind."""
    seal_key: SecretStr | None = None
    """What sealed answers are encrypted to: 32 bytes in base64, or several, the newest first, with
    spaces between. One is made and kept in the runner's database otherwise."""
    grace_seconds: float = Field(default=20, ge=0, le=3600)
    """How long calls may go on after SIGTERM before they are left to a review or another try."""

    @property
    def lease(self) -> timedelta:
        """The lease as a span."""
        return timedelta(seconds=self.lease_seconds)
