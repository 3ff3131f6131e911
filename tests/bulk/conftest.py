"""A job over rows that a test writes."""

import pytest
from bulk_jobs import equals, lines

from grpo_core import CompositeReward
from grpo_core.bulk.check import Columns
from grpo_core.bulk.job import Job


@pytest.fixture
def make(tmp_path):
    """Makes a job: rows, rewards, and what else it has."""

    def make(rows, rewards=None, *, columns=None, name="d.jsonl", out="o.jsonl", **more):
        data = tmp_path / name
        data.write_text(rows if isinstance(rows, str) else lines(rows), encoding="utf-8")
        composite = CompositeReward(rewards or {"equals": equals})
        path = None if out is None else tmp_path / out
        return Job(data, composite, columns or Columns(), path, **more)

    return make
