"""A gateway's real process."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.processes import ROOT
from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import connection_to
from tests.workers.gateway.stage.control_plane import TOKEN


class GatewayProcess:
    """`python -m workers.gateway` with an inherited socket."""

    module = "workers.gateway"
    variables: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, plane_url: str, data_dir: Path, *options: str, broker: str = "", token: str = TOKEN
    ) -> None:
        self.data_dir, self._token = data_dir, token
        self._plane_url, self._options, self._broker = plane_url, options, broker
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data_dir / "gateway.log"
        data_dir.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        environment = os.environ | {
            "CONTROL_PLANE_URL": self._plane_url,
            "BROKER_URL": self._broker,
            "DATA_DIR": str(self.data_dir),
            "ENROLLMENT_TOKEN": self._token,
            "NODE_NAME": self.data_dir.name,
            "LISTEN_FDS": "1",
            "LOG_LEVEL": "DEBUG",
            "MODULE": self.module,
            "LISTENER": str(self._listener.fileno()),
            **self.variables,
        }
        # The shell moves the socket to descriptor 3, as a supervisor does.
        command = 'exec "$0" -m "$MODULE" "$@" 3<&$LISTENER'
        options = ["--poll-seconds=0.05", "--ship-seconds=0.1", *self._options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["/bin/bash", "-c", command, sys.executable, *options],
                cwd=ROOT,
                env=environment,
                pass_fds=[self._listener.fileno()],
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._listener.close()

    def connect(self) -> socket.socket:
        return connection_to(self.port)
