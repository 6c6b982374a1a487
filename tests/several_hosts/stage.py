"""Two hosts by the written steps of docs/several_hosts.md: a control plane, and one more GPU host.

The second host's line can be cut in every way that operators have met.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx

from apps.dashboard.demo.console import Console
from apps.dashboard.demo.job import Job
from apps.dashboard.demo.question import endpoint
from controlplane.processes import postgres, valkey
from tests.compose_files import CONTROL_PLANE, EXAMPLES, GPU_HOST, ROOT, read_env
from tests.several_hosts.host import Host
from tests.several_hosts.network import Network, network
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import DEADLINE_SECONDS, wait_for

WEB, GATEWAY, DATABASE, BROKER = 8000, 8001, 5432, 6379
ENGINES = "15000-15099"
WITHOUT_GPU = ("web", "gateway", "scheduler", "control", "async")
"""What `docker compose up -d --scale build=0 --scale agent=0` starts behind the servers."""
FURTHER = ("gateway", "build", "agent")
_CONTROL, _GPU = "control", "gpu"
_Value = TypeVar("_Value")


class Stage:
    """Both hosts, and whoever asks them from outside.

    Between the hosts everything is closed but what the page's firewall table opens.
    """

    def __init__(
        self,
        folder: Path,
        net: Network,
        more: Mapping[str, str],
        store: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.network = net
        self.api_key = ""
        # None is kept: who sits at the other end is killed.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(limits=limits, timeout=DEADLINE_SECONDS, trust_env=False)
        shared_folder = {
            "ARTIFACT_URL": "file:///artifacts",
            "ARTIFACTS": str(folder / "artifacts"),
        }
        shared = {"CHECKPOINTS": str(folder / "checkpoints"), **(store or shared_folder)}
        self.control = self._host(_CONTROL, CONTROL_PLANE, {**shared, **self._of_control()}, more)
        self.gpu = self._host(_GPU, GPU_HOST, {**shared, **self._of_gpu()}, more)
        self._close()

    def start_control_plane(self, *, with_gpu: bool = False) -> None:
        """Start the control plane's host as it is written; with an agent where it has a GPU."""
        self.control.up("postgres", "valkey")
        self._wait_for_servers()
        self.control.run("prepare")
        self._enroll(self.control, "gateway", *(["agent"] if with_gpu else []))
        self.control.up(*WITHOUT_GPU, *(["build", "agent"] if with_gpu else []))
        self.api_key = self.make_api_key("stage")
        wait_for(lambda: self.is_up(self.control, WEB, "/readyz"), what=self.told("the web"))

    def join_gpu_host(self) -> None:
        """Have the second host join as it is written, and return once it has reported."""
        self._enroll(self.gpu, "gateway", "agent")
        self.gpu.up(*FURTHER)
        wait_for(self._is_joined, what=self.told("the second host"))

    def cut_from_control_plane(self) -> None:
        """Let the second host reach no server of the control plane; gateways reach all engines."""
        servers = (WEB, DATABASE, BROKER)
        self.network.drop(_GPU, _CONTROL, ports_of_other=servers)

    def cut_from_broker(self) -> None:
        """Let what the second host sends to Valkey, and its answers, vanish."""
        self.network.drop(_GPU, _CONTROL, ports_of_other=(BROKER,))

    def cut_from_database(self) -> None:
        """Let what the second host sends to PostgreSQL, and its answers, vanish."""
        self.network.drop(_GPU, _CONTROL, ports_of_other=(DATABASE,))

    def cut_from_control_host(self) -> None:
        """Let nothing pass between the two hosts; clients reach both."""
        self.network.drop(_GPU, _CONTROL)

    def cut_from_everything(self) -> None:
        """Let nothing pass from and to the second host."""
        self.network.isolate(_GPU)

    def heal(self) -> None:
        """Let everything pass again."""
        self.network.heal()

    def power_off(self) -> None:
        """End the second host at once: its line first, so that no connection says goodbye."""
        self.cut_from_everything()
        self.gpu.kill()

    def power_on(self) -> None:
        """Start the second host again with the same `.env`."""
        self.heal()
        self.gpu.up(*FURTHER)

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON of a management GET, asked from outside."""
        return self._managed("GET", path)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON of a management POST, asked from outside."""
        return self._managed("POST", path, json=dict(body))

    def deploy(self, text: str) -> dict[str, Any]:
        """Return the model `tiny` that serves a build of the config in production."""
        return self.outside(lambda: self._deployed(text))

    def build(self, name: str, text: str) -> dict[str, Any]:
        """Return a build of a config that has just been asked for."""
        config = self.outside(lambda: self._configured(name, text))
        return self.post("builds", {"config_id": config["id"]})

    def ask(self, host: Host, model_id: str, *, max_tokens: int = 4) -> httpx.Response:
        """Return the answer of a host's gateway to one short chat, asked from outside."""
        base = endpoint(gateway_url=self.url(host, GATEWAY), model_id=model_id)
        body = {
            "messages": [{"role": "user", "content": "The sky"}],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        return self.outside(lambda: self._call("POST", f"{base}/chat/completions", json=body))

    def make_api_key(self, name: str) -> str:
        """Return a new API key."""
        return self._manage("create_api_key", name)

    def outside(self, act: Callable[[], _Value]) -> _Value:
        """Return what is done where clients are."""
        return self.network.from_outside(act)

    def nodes_present(self) -> list[str]:
        """Return the names of nodes that have reported of late."""
        return [each["name"] for each in self.get("nodes")["nodes"] if each["status"] == "live"]

    def is_up(self, host: Host, port: int, path: str) -> bool:
        """Return whether a host answers 200 there."""

        def answers() -> bool:
            with suppress(httpx.HTTPError):
                return self._call("GET", f"{self.url(host, port)}{path}").is_success
            return False

        return self.outside(answers)

    def url(self, host: Host, port: int) -> str:
        """Return the URL of a host's port."""
        return f"http://{host.address}:{port}"

    def told(self, what: str) -> Callable[[], str]:
        """Return what says what was waited for, with the last words of all services."""
        return lambda: f"{what}\n{self.control.logs()}\n{self.gpu.logs()}"

    def end(self) -> None:
        """End all processes of both hosts."""
        self._http.close()
        self.gpu.kill()
        self.control.stop_servers()
        self.control.kill()

    def _is_joined(self) -> bool:
        # A web process that is slow to begin refuses or ends what it is asked.
        with suppress(httpx.HTTPError):
            return _GPU in self.nodes_present()
        return False

    @property
    def _web(self) -> str:
        return self.url(self.control, WEB)

    def _close(self) -> None:
        self.network.close()
        for port in (WEB, DATABASE, BROKER):
            self.network.open(_GPU, _CONTROL, ports_of_other=str(port))
        for one, other in ((_GPU, _CONTROL), (_CONTROL, _GPU)):
            self.network.open(one, other, ports_of_other=ENGINES.replace("-", ":"))

    def _host(
        self, name: str, file: str, values: Mapping[str, str], more: Mapping[str, str]
    ) -> Host:
        example = read_env((ROOT / EXAMPLES[file]).read_text())
        return Host(
            name,
            network=self.network,
            folder=self.folder / name,
            file=file,
            values={**example, **values},
            more=more,
        )

    def _of_control(self) -> dict[str, str]:
        """What the page has one fill in on the control plane's host."""
        made = ("POSTGRES_PASSWORD", "VALKEY_PASSWORD", "BUILD_WORKER_PASSWORD", "SECRET_KEY")
        address = self.network.address(_CONTROL)
        binds = ("WEB_BIND", "DATABASE_BIND", "BROKER_BIND", "GATEWAY_BIND")
        return {
            **{name: secrets.token_hex(24) for name in made},
            **dict.fromkeys(binds, address),
            "NODE_ADDRESS": address,
            "ENGINE_PORTS": ENGINES,
            "NODE_NAME": _CONTROL,
            "PUBLIC_URL": f"http://{address}:{WEB}",
            "GATEWAY_URL": f"http://{address}:{GATEWAY}",
        }

    def _of_gpu(self) -> dict[str, str]:
        """What the page has one fill in on the second host, from the control plane's `.env`."""
        known, control = self.control.values, self.network.address(_CONTROL)
        address = self.network.address(_GPU)
        return {
            "CONTROL_PLANE_URL": f"http://{control}:{WEB}",
            "DATABASE_URL": "postgresql://enginehouse_build_worker:"
            f"{known['BUILD_WORKER_PASSWORD']}@{control}:{DATABASE}/enginehouse",
            "BROKER_URL": f"redis://:{known['VALKEY_PASSWORD']}@{control}:{BROKER}/0",
            "NODE_NAME": _GPU,
            "NODE_ADDRESS": address,
            "ENGINE_PORTS": ENGINES,
            "GATEWAY_BIND": address,
        }

    def _enroll(self, host: Host, *names: str) -> None:
        for name in names:
            host.values[f"{name.upper()}_ENROLLMENT_TOKEN"] = self._manage("enrollment_token")

    def _manage(self, *command: str) -> str:
        return self.control.run("prepare", "python", "manage.py", *command).strip()

    def _wait_for_servers(self) -> None:
        # As `docker compose` does, by the health checks of the file.
        environment = self.control.environment("web")
        for wait, name in ((postgres, "DATABASE_URL"), (valkey, "BROKER_URL")):
            url = environment[name]
            self.outside(partial(wait.wait_until_ready, url, timeout_seconds=DEADLINE_SECONDS))

    def _deployed(self, text: str) -> dict[str, Any]:
        with self._job() as job:
            config = job.config("tiny", text)
            job.wait_until_checked(text)
            return job.deployed(name="tiny", build=job.build(config))

    def _configured(self, name: str, text: str) -> dict[str, Any]:
        with self._job() as job:
            job.wait_until_checked(text)
            return job.config(name, text)

    def _job(self) -> Job:
        return Job(
            public_url=self._web, api_key=self.api_key, console=Console(), watch=lambda: None
        )

    def _managed(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = self.outside(lambda: self._call(method, f"{self._web}/v1/{path}", **more))
        answer.raise_for_status()
        return dict(answer.json())

    def _call(self, method: str, url: str, **more: Any) -> httpx.Response:
        """Return an answer; to be called where clients are."""
        key = {"Authorization": f"Bearer {self.api_key}"}
        return self._http.request(method, url, headers=key, **more)


@contextmanager
def two_hosts(
    folder: Path,
    more: Mapping[str, str] | None = None,
    *,
    on_loopback: bool = False,
    store: Callable[[Network], Mapping[str, str]] | None = None,
) -> Iterator[Stage]:
    """Give both hosts, before anything is started; all of it ends with the block.

    `more` is added to every environment, such as that of gates. `store` gives what both `.env` say
    of the artifacts' place, where it is not a folder that both see.
    """
    make_tiny_checkpoint(folder / "checkpoints" / "tiny")
    (folder / "artifacts").mkdir()
    with network(_CONTROL, _GPU, on_loopback=on_loopback) as net:
        stage = Stage(folder, net, more or {}, store(net) if store else None)
        try:
            yield stage
        finally:
            stage.end()
