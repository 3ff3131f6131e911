"""`grpo score --data`: runs that are stopped, and what `--resume` makes of them."""

import os
import subprocess
import sys

from batches import wait_until

from grpo_core.scoring.abandoned import abandoned


def test_interrupt_says_how_to_go_on(score, site, monkeypatch):
    def stop(job, progress):
        site.write("o.jsonl.partial", "")
        raise KeyboardInterrupt

    monkeypatch.setattr("grpo_core.cli.score_file.score_file", stop)

    ran = score("mine.py:breaks", "-o", "o.jsonl")

    assert ran.code == 130
    assert "stopped; --resume goes on with o.jsonl.partial" in ran.err


def test_interrupt_before_the_first_row_promises_nothing(score, site, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("grpo_core.bulk.job.check_rows", stop)

    ran = score("mine.py:breaks", "-o", "o.jsonl")

    assert ran.code == 130
    assert "--resume" not in ran.err
    assert not list(site.folder.glob("o.jsonl*"))


def test_killed_run_is_resumed(score, site, written):
    site.write("k.jsonl", '{"completion": "a"}\n' * 600 + '{"completion": "die"}\n')
    code = "from grpo_core.cli import main; main()"
    command = ["score", "mine.py:dies", "--data", "k.jsonl", "-o", "o.jsonl"]
    killed = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=site.folder,
        env={**os.environ},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert killed.returncode == 9
    assert sorted(p.name for p in site.folder.glob("o*")) == [
        "o.jsonl.partial", "o.jsonl.partial.json",
    ]  # fmt: skip
    site.write("mended", "")

    ran = score("mine.py:dies", "-o", "o.jsonl", "--resume", data="k.jsonl")

    assert ran.code == 0, ran.err
    assert [row["total"] for row in written(site)] == [1.0] * 601
    assert [p.name for p in site.folder.glob("o*")] == ["o.jsonl"]


def test_reward_whose_calls_hang_stops_with_what_is_left(score, site):
    site.write(
        "hangs.py",
        "import os, time\n"
        "from grpo_core import reward\n\n"
        '@reward(isolation="thread", timeout_s=0.1)\n'
        "def hangs(completion):\n"
        f"    while not os.path.exists({str(site.folder / 'go')!r}):\n"
        "        time.sleep(0.01)\n"
        "    return 1.0\n",
    )
    site.write("k.jsonl", '{"completion": "a"}\n' * 1500)

    ran = score("hangs.py:hangs", "-o", "o.jsonl", data="k.jsonl")

    assert ran.code == 1
    assert "calls that were late still run" in ran.err
    assert ran.err.endswith("stopped; --resume goes on with o.jsonl.partial\n")
    site.write("go", "")
    wait_until(lambda: abandoned() == 0)  # else the next test finds threads that are not its own
