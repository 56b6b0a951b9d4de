"""A private RabbitMQ for the tests: own ports, own directory, ended by pid. It fails, it never skips.

`PLACET_TEST_AMQP_URL` (`amqp://HOST:PORT/`) makes the tests use a server that is there already and
has the `USERS` below, with their permissions and the password `WORD`. Tests that stop, kill or wipe
the server start a private one all the same.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import aio_pika
import pytest
from yarl import URL

from placet.testing.bus_cases import TEST_TOPOLOGY

BIN = Path("/usr/lib/rabbitmq/bin")
WORD = "for-tests-only"
SETTLED_SECONDS = 3.0
"""A quorum queue younger than this does not survive a SIGKILL of its server (rabbitmq-server #15725)."""
BOOT_SECONDS = 90.0
ENV_URL = "PLACET_TEST_AMQP_URL"

_OWN = ("^placet\\..*", "^(placet\\..*|amq\\.default)$", "^placet\\..*")
_REPLY = "^placet\\.reply\\.svc-billing\\..*"
USERS = {
    "placet-runner": _OWN,
    "placet-broker": _OWN,
    "placet-notifier": _OWN,
    "placet-operator": _OWN,
    "svc-billing": (_REPLY, "^placet\\.(requests|answers)$", _REPLY),
}
"""By user: what it may configure, write, read."""


def free_port() -> int:
    """A TCP port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def amqp_url(port: int, user: str, host: str = "127.0.0.1") -> str:
    """The URL of a test user."""
    return f"amqp://{user}:{WORD}@{host}:{port}/"


@dataclass
class RabbitServer:
    """One node. `start` returns when it speaks AMQP and has the users."""

    port: int = field(default_factory=free_port)
    directory: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="placet-rabbit-")))
    node: str = field(default_factory=lambda: f"placet{secrets.token_hex(4)}@localhost")
    _dist: int = field(default_factory=free_port)
    _epmd_port: int = field(default_factory=free_port)
    _epmd: subprocess.Popen[bytes] | None = None
    _server: subprocess.Popen[bytes] | None = None

    def url(self, user: str = "placet-runner") -> str:
        """The URL of one of the `USERS`."""
        return amqp_url(self.port, user)

    def start(self) -> None:
        """Boot (3 to 6 s; the same port, directory and data as before) and make the users."""
        self._prepare()
        if self._epmd is None:
            command = [_tool("epmd"), "-address", "127.0.0.1", "-port", str(self._epmd_port)]
            self._epmd = _spawn(command, self._environment(), self.directory / "epmd.log")
        launcher = [str(BIN / "rabbitmq-server")]
        self._server = _spawn(launcher, self._environment(), self.directory / "stdout.log")
        self._await_amqp()
        if not (self.directory / "users-made").exists():
            self._make_users()
            (self.directory / "users-made").touch()

    def stop(self) -> None:
        """End the node in good order (about 1 s); its data stays."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL. Wait `SETTLED_SECONDS` after declaring queues first."""
        self._end(signal.SIGKILL)

    def wipe(self) -> None:
        """Lose everything the node kept; it must be stopped."""
        shutil.rmtree(self.directory / "mnesia", ignore_errors=True)
        (self.directory / "users-made").unlink(missing_ok=True)

    def close(self) -> None:
        """End node and epmd and remove the directory."""
        self._end(signal.SIGKILL)
        if self._epmd is not None:
            self._epmd.terminate()
            self._epmd.wait(10)
            self._epmd = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def ctl(self, *arguments: str) -> str:
        """Run `rabbitmqctl`; returns what it printed, raises with it when it fails."""
        command = [str(BIN / "rabbitmqctl"), "-q", "-n", self.node, *arguments]
        done = subprocess.run(
            command,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"rabbitmqctl {arguments[0]} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def evaluate(self, *expressions: str) -> str:
        """Run Erlang on the node: one call for many changes, as each call takes a second."""
        return self.ctl("eval", ", ".join(expressions) + ".")

    def _make_users(self) -> None:
        steps = [f'rabbit_auth_backend_internal:delete_user(<<"guest">>, {_BY})']
        for user, (configure, write, read) in USERS.items():
            name = f'<<"{user}">>'
            steps.append(f'rabbit_auth_backend_internal:add_user({name}, <<"{WORD}">>, {_BY})')
            patterns = ", ".join(f'<<"{_erlang(p)}">>' for p in (configure, write, read))
            steps.append(
                f'rabbit_auth_backend_internal:set_permissions({name}, <<"/">>, {patterns}, {_BY})'
            )
        self.evaluate(*steps)

    def _prepare(self) -> None:
        if not (BIN / "rabbitmq-server").exists():
            pytest.fail(
                "rabbitmq-server is not installed: run `make system`, or set "
                f"{ENV_URL} to a server that the tests may use",
                pytrace=False,
            )
        for name in ("mnesia", "log"):
            (self.directory / name).mkdir(exist_ok=True)
        cookie = self.directory / ".erlang.cookie"
        if not cookie.exists():
            cookie.write_text(secrets.token_hex(12))
            cookie.chmod(0o400)
        (self.directory / "enabled_plugins").write_text("[].\n")
        # How soon a dead letter that the dead-letter queue refused is offered again: 3 minutes.
        (self.directory / "advanced.config").write_text(
            "[{rabbit, [{dead_letter_worker_publisher_confirm_timeout, 500}]}].\n"
        )
        (self.directory / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            "vm_memory_high_watermark.absolute = 512MiB\n"
            "disk_free_limit.absolute = 50MB\n"
            "log.console = false\n"
            f"log.file = {self.directory}/rabbit.log\n"
        )

    def _environment(self) -> dict[str, str]:
        base = self.directory
        return {
            "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            "HOME": str(base),
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": f"{base}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{base}/advanced.config",
            "RABBITMQ_MNESIA_BASE": f"{base}/mnesia",
            "RABBITMQ_LOG_BASE": f"{base}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{base}/enabled_plugins",
            "RABBITMQ_PLUGINS_EXPAND_DIR": f"{base}/plugins-expand",
            "RABBITMQ_PID_FILE": f"{base}/pid",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{base}/gen",
            "RABBITMQ_SCHEMA_DIR": f"{base}/schema",
            "ERL_CRASH_DUMP": f"{base}/erl_crash.dump",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none"
            ),
        }

    def _await_amqp(self) -> None:
        until = time.monotonic() + BOOT_SECONDS
        while not _speaks_amqp(self.port):
            ended = self._server is not None and self._server.poll() is not None
            if ended or time.monotonic() > until:
                said = (self.directory / "stdout.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"RabbitMQ did not start on port {self.port}: {said}")
            if self._server is not None:
                _pause(self._server)

    def _end(self, how: signal.Signals) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        # The launcher is a shell; the node itself wrote this file. Both are in one session of ours.
        pid_file = self.directory / "pid"
        if pid_file.exists() and server.poll() is None:
            _signal(int(pid_file.read_text()), how)
        try:
            server.wait(30 if how is signal.SIGTERM else 5)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(10)
        pid_file.unlink(missing_ok=True)


_BY = '<<"tests">>'


def _erlang(text: str) -> str:
    return text.replace("\\", "\\\\")


def _tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/bin:/usr/sbin:/usr/local/bin")
    if found is None:
        pytest.fail(f"{name} is not installed: run `make system`", pytrace=False)
    return found


def _spawn(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def _signal(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return


def _pause(server: subprocess.Popen[bytes]) -> None:
    """Give the node a moment, or return at once when it has ended."""
    try:
        server.wait(0.1)
    except subprocess.TimeoutExpired:
        return


def _speaks_amqp(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as probe:
            probe.settimeout(5)
            probe.sendall(b"AMQP\x00\x00\x09\x01")
            return bool(probe.recv(1))
    except OSError:
        return False


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitServer]:
    """The session's private RabbitMQ. A test that stops it starts it again."""
    server = RabbitServer()
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def amqp_urls(request: pytest.FixtureRequest) -> dict[str, str]:
    """A URL for each test user, on the private server or on that of PLACET_TEST_AMQP_URL."""
    given = os.environ.get(ENV_URL)
    if given:
        place = URL(given)
        return {user: str(place.with_user(user).with_password(WORD)) for user in USERS}
    server: RabbitServer = request.getfixturevalue("rabbitmq")
    return {user: server.url(user) for user in USERS}


@pytest.fixture
async def empty_queues(amqp_urls: dict[str, str]) -> None:
    """Every queue of the topology without a message, if it exists."""
    await purge(amqp_urls["placet-runner"])


async def purge(url: str) -> None:
    """Empty every queue of the topology."""
    connection = await aio_pika.connect(url)
    try:
        for queue in TEST_TOPOLOGY.queues:
            with contextlib.suppress(aio_pika.exceptions.ChannelNotFoundEntity):
                async with connection.channel() as channel:
                    found = await channel.declare_queue(queue.name, passive=True)
                    await found.purge()
    finally:
        await connection.close()
