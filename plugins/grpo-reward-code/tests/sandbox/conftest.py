"""Boxes of each layer that this machine has, shared by the tests of a session."""

import contextlib
import os

import pytest
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import NoIsolation, Program

SHORT = Limits(cpu_s=2.0)


@pytest.fixture(scope="session", params=["ns", "lock"])
def boxes(request):
    try:
        made = Boxes(1, layer=request.param)
    except NoIsolation as error:
        if request.param == "lock":
            raise  # as good as every Linux has it: nothing here may be skipped unseen
        pytest.skip(str(error))
    with contextlib.closing(made):
        yield made


@pytest.fixture
def run(boxes):
    def run(source, stdin=b"", limits=SHORT):
        return boxes.run(Program(source, stdin), limits)

    return run


@pytest.fixture
def outside(tmp_path):
    """A folder that everybody may write to, with a file that everybody may read."""
    os.chmod(tmp_path, 0o777)
    path = tmp_path
    while path != path.parent:
        with contextlib.suppress(PermissionError):
            os.chmod(path, path.stat().st_mode | 0o011)
        path = path.parent
    (tmp_path / "secret").write_text("secret")
    os.chmod(tmp_path / "secret", 0o666)
    return tmp_path
