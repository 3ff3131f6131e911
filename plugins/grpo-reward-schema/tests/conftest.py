"""The backends, with jsonschema-rs and as if it were not installed; a listener for requests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from grpo_reward_schema import rust

ENGINE = rust.engine


@pytest.fixture(params=["rust", "python"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "rust" and ENGINE is None:
        pytest.skip("jsonschema-rs is not installed")
    if request.param == "python":
        monkeypatch.setattr(rust, "engine", None)
    return str(request.param)


@pytest.fixture
def python_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rust, "engine", None)


class Listener:
    """Counts connections to a port of this machine."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/x"
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()
