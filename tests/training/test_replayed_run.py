"""`grpo replay` on the record of a real run."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from docs_pages import ROOT, code, table_under
from recorded_batches import batch_of
from short_runs import ours, theirs, trained
from test_run import fails, grpo, project  # noqa: F401

from grpo_core import Completion, reward
from grpo_core.recorded.read import read_record
from grpo_core.recorded.write import CompletionRecord
from grpo_core.sections import RecordSection

# Nothing is learnt, so runs with other weights sample the same completions.
SAME = ["train.learning_rate=0.0", "train.kl_coef=0.0"]


def train(*overrides):
    settings = [part for text in (*SAME, *overrides) for part in ("--set", text)]
    result = grpo("train", "run.toml", *settings)
    assert result.exit_code == 0, result.output


def replay(*arguments):
    result = grpo("replay", *arguments, "--json")
    return result.exit_code, json.loads(result.stdout)


def joined(run, name):
    return np.concatenate([getattr(b, name) for b in read_record(Path(run))])


VARIED = """

@reward(isolation="inline")
def letters(completion: Completion) -> float:
    \"\"\"Share of letters.\"\"\"
    return sum(map(str.isalpha, completion.text)) / 8

@reward(isolation="inline")
def digits(completion: Completion, answer: str) -> float | None:
    \"\"\"Share of digits; nothing where the first is a capital.\"\"\"
    return None if completion.text[:1].isupper() else sum(map(str.isdigit, completion.text)) / 8
"""


@pytest.mark.parametrize("more", [(), ("train.multi_objective_aggregation=normalize_then_sum",)])
def test_replay_of_a_changed_weight_equals_the_real_table_of_such_a_run(
    project,  # noqa: F811
    more,
):
    with (project / "rewards.py").open("a") as file:
        file.write(VARIED)
    both = ("rewards.format.use=rewards.py:letters", "rewards.format.options={}", *more)
    both += ("rewards.correct.use=rewards.py:digits", "rewards.correct.requires={ format = 0.3 }")
    other = ("rewards.format.weight=-2.0", "rewards.correct.weight={start=0.5,end=1.0,steps=2}")
    train(*both)
    train(*both, *other, "run.dir=runs/other")

    settings = [part for text in other for part in ("--set", text)]
    code, shown = replay("runs/first", *settings, "--rows", "16")

    assert code == 0
    assert shown["scored_again"] == {}
    totals, advantages = joined("runs/other", "totals"), joined("runs/other", "advantages")
    before = joined("runs/first", "advantages")
    moved = list(np.argsort(-np.abs(advantages - before), kind="stable"))
    assert np.abs(before - advantages).max() > 0.5
    for row, i in zip(shown["rows"], moved, strict=False):
        assert row["advantage_then"] == before[i]
        assert row["advantage_now"] == advantages[i]
        assert row["total_now"] == (None if np.isnan(totals[i]) else totals[i])
    flipped = (np.sign(before) != np.sign(advantages)) & (np.abs(before) > 1e-3)
    flipped &= np.abs(advantages) > 1e-3
    assert shown["advantage"]["flipped"] == flipped.sum() > 0
    decides = [r["decides_now"] for r in shown["rewards"].values()]
    assert sum(decides) == pytest.approx(1.0)
    assert shown["rewards"]["format"]["decides_now"] > 0.5  # it has the largest weight


def test_cli_page_has_the_keys_of_the_json(project):  # noqa: F811
    train()
    _, shown = replay("runs/first")
    [row] = [
        r
        for r in table_under(ROOT / "docs/reference/cli.md", "grpo replay")
        if code(r["argument"]) == "--json"
    ]

    keys = re.findall(r"`(\w+)`", row["meaning"])
    assert sorted(keys) == sorted(shown)


def test_replay_of_a_run_as_it_was_changes_nothing(project):  # noqa: F811
    train()

    for score in ("changed", "all", "new"):
        code, shown = replay(
            "runs/first", "--score", score, "--fail-on", "values", "--fail-on", "advantages"
        )
        assert code == 0
        assert shown["advantage"]["max_change"] == 0.0
        assert [r["changed"] for r in shown["rewards"].values()] == [0, 0]
        assert list(shown["scored_again"]) == (["format", "correct"] if score == "all" else [])


def test_reward_whose_code_was_changed_is_scored_again(project):  # noqa: F811
    train()
    file = project / "rewards.py"
    file.write_text(file.read_text().replace("answer in completion.text", "not completion.text"))

    result = grpo("replay", "runs/first", "--fail-on", "values=0.05")

    assert result.exit_code in (0, 1)
    assert "correct was scored again: changed: source_sha256\n" in result.stdout
    recorded = grpo("replay", "runs/first", "--score", "new", "--fail-on", "values")
    assert recorded.exit_code == 0
    assert "no reward was called: the recorded values are combined again\n" in recorded.stdout


def test_replay_under_another_config(project):  # noqa: F811
    train()
    (project / "new.toml").write_text(
        '[rewards.format]\nuse = "format/tags"\noptions = { mode = "soft" }\nweight = 0.5\n'
        '[rewards.longer]\nuse = "rewards.py:longer"\n'
    )
    with (project / "rewards.py").open("a") as file:
        file.write(
            "\n@reward\ndef longer(completion: Completion) -> float:\n"
            '    """1.0 if it has more than 5 letters."""\n'
            "    return float(len(completion.text) > 5)\n"
        )

    code, shown = replay("runs/first", "--config", "new.toml", "--fail-on", "advantages")

    assert code == 1
    assert shown["scored_again"] == {"longer": "it was not recorded"}
    assert shown["exceeded"][0].endswith("at most 0 may be (--fail-on advantages)")
    assert list(shown["rewards"]) == ["format", "correct", "longer"]
    longer = [len(c.text) > 5 for b in read_record(Path("runs/first")) for c in b.completions]
    assert shown["rewards"]["longer"]["mean_now"] == pytest.approx(np.mean(longer))
    assert shown["rewards"]["longer"]["mean_then"] is None
    assert shown["rewards"]["correct"]["decides_now"] is None


def test_replay_of_a_run_of_a_script(texts, small):
    rewards = {
        "tags": {"use": "format/tag_count", "weight": 0.5},
        "soft": {"use": "format/tags", "options": {"mode": "soft"}, "shadow": True},
    }
    trained(ours(rewards, texts, small))
    run = str(Path(small["output_dir"]) / "run-001")

    code, shown = replay(run, "--set", "rewards.soft.shadow=false")

    assert code == 0
    assert shown["scored_again"] == {}
    assert list(shown["rewards"]) == ["tags", "soft"]


@pytest.fixture
def of_functions(texts, small):
    """The run of a script that handed its functions over: a tagged one and two of TRL's style."""

    @reward(isolation="inline")
    def even(completion: Completion, given: float | None) -> float:
        """1.0 if the length is even."""
        return float(len(completion.text) % 2 == 0)

    def long(completions, **kwargs):
        return [len(c) / 4 for c in completions]

    def spaced(completions, **kwargs):
        return [float(c.count(" ")) for c in completions]

    inputs = {"given": {"reward": "long"}}
    rewards = {"even": {"use": even, "inputs": inputs}, "long": long}
    rewards["spaced"] = {"use": spaced, "weight": 0.5}
    trained(theirs(rewards, texts, small, record="all"))
    return str(Path(small["output_dir"]) / "run-001")


def test_functions_of_a_script_need_not_be_found_where_none_is_called(of_functions):
    code, shown = replay(of_functions, "--fail-on", "values", "--fail-on", "advantages")
    assert (code, shown["scored_again"], shown["notes"]) == (0, {}, [])

    code, shown = replay(
        *(of_functions, "--set", "rewards.long.weight=-2.0", "--set", "rewards.spaced.shadow=true"),
        *("--set", "rewards.even.requires={ long = 1.0 }", "--set", "rewards.even.otherwise=0.25"),
    )

    assert (code, shown["scored_again"]) == (0, {})
    texts = [c.text for b in read_record(Path(of_functions)) for c in b.completions]
    gated = [float(len(t) % 2 == 0) if len(t) >= 4 else 0.25 for t in texts]
    totals = [g - 2 * len(t) / 4 for g, t in zip(gated, texts, strict=True)]
    assert shown["total"]["mean_now"] == pytest.approx(np.mean(totals))
    assert shown["rewards"]["spaced"]["decides_now"] is None


@pytest.mark.parametrize(
    ("arguments", "name", "why"),
    [
        (["--score", "all"], "spaced", "to be scored again: all are"),
        (["--set", "rewards.long.timeout_s=3.0"], "long", "changed: timeout_s"),
        (
            ["--set", "rewards.spaced.transform={ clip = [0, 2], rescale = [0, 1] }"],
            "spaced",
            "transform.rescale needs its range",
        ),
    ],
)
def test_function_of_a_script_that_is_needed_is_an_error(
    of_functions, capsys, monkeypatch, arguments, name, why
):
    code, error = fails(capsys, monkeypatch, "replay", of_functions, *arguments)

    assert code == 2
    assert f" in {of_functions}/manifest.json:\n" in error
    assert (
        f"rewards.{name}.use: has to be found ({why}), and was handed over by a script (function "
        f"in {__name__}), so that no name leads to it; give --config with all rewards, and "
        f'it there with its file, such as use = "test_replayed_run.py:{name}"'
    ) in error


def test_run_without_config_and_manifest_needs_a_config(two_ranks, capsys, monkeypatch):
    run, *_ = two_ranks((1, 0), (1, 1))

    code, error = fails(capsys, monkeypatch, "replay", run)

    assert code == 2
    assert "has neither config.toml nor manifest.json, which say the rewards; give --con" in error


@pytest.fixture
def two_ranks(tmp_path):
    """Writes halves of steps, by step and rank; returns the arguments of a replay of them."""

    def two_ranks(*places):
        for step, rank in places:
            half = dataclasses.replace(batch_of(step).first(2), size=2, rank=rank, world=2)
            CompletionRecord(tmp_path / "completions", RecordSection()).write(half)
        config = tmp_path / "rewards.toml"
        config.write_text('[rewards.a]\nuse = "format/tags"\n')
        return (str(tmp_path), "--config", str(config), "--score", "new")

    return two_ranks


def test_steps_that_lack_the_file_of_a_rank_are_left_out_and_counted(two_ranks):
    _, shown = replay(*two_ranks((1, 0), (2, 0), (2, 1), (4, 1)))

    assert (shown["completions"], shown["generations"], shown["groups"]) == (4, 1, 2)
    assert shown["notes"][0] == (
        "2 generations were left out, not whole: step-000001-r0.parquet: the file of rank 1 is "
        "missing, of 2 ranks; …"
    )


def test_record_of_which_no_step_is_whole_is_an_error(two_ranks, capsys, monkeypatch):
    code, error = fails(capsys, monkeypatch, "replay", *two_ranks((1, 0)))

    assert code == 2
    assert "is whole: step-000001-r0.parquet: the file of rank 1 is missing, of 2 ranks" in error


def test_replay_of_a_script_finds_the_file_of_a_reward(texts, small, tmp_path, monkeypatch):
    """The script names it as it lies beside it; the run's directory is another place."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"from grpo_core import Completion, reward\n{VARIED}")
    trained(ours({"letters": "mine.py:letters"}, texts, small))
    monkeypatch.chdir("/")

    code, shown = replay(str(Path(small["output_dir"]) / "run-001"), "--fail-on", "values")

    assert (code, shown["scored_again"]) == (0, {})


def test_setting_that_a_replay_does_not_look_at_is_noted(two_ranks):
    arguments = two_ranks((1, 0), (1, 1))

    _, shown = replay(*arguments, "--set", "train.scale_reward=none", "--set", "run.dir=x")

    assert shown["notes"] == [
        "train.scale_reward is not looked at here; of [train] only scale_rewards and "
        "multi_objective_aggregation are"
    ]


def test_reward_that_gives_no_value_is_noted(two_ranks):
    arguments = two_ranks((1, 0), (1, 1))

    _, shown = replay(*arguments, "--set", "rewards.x.use=math/answer_equals")

    assert "x gave no value for 4 of 4 completions; the first reason: " in shown["notes"][1]


def test_run_that_went_on_with_another_weight_is_noted(project):  # noqa: F811
    train()
    again = [*SAME, "rewards.format.weight=0.9", "train.max_steps=3"]
    settings = [part for text in again for part in ("--set", text)]
    result = grpo("train", "run.toml", "--resume", "--allow-changed", *settings)
    assert result.exit_code == 0, result.output
    note = (
        "the run went on with changes after step 2 (rewards.format.weight was 0.5 and is 0.9); all "
        "steps are replayed with the newest"
    )

    _, shown = replay("runs/first")
    _, of_config = replay("runs/first", "--config", "runs/first/config.toml")

    assert shown["notes"] == [note]
    assert of_config["notes"] == []


def test_setting_of_a_reward_that_is_misspelt_says_what_may_be_meant(
    project,  # noqa: F811
    capsys,
    monkeypatch,
):
    train()

    code, error = fails(
        capsys, monkeypatch, "replay", "runs/first", "--set", "rewards.fromat.weight=0.1"
    )

    assert code == 2
    assert "rewards.fromat.use: is missing. Did you mean 'format'?\n" in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["runs/first/completions"],
            "holds the completions of a run; give the run's directory, runs/first\n",
        ),
        (["runs"], "runs is no run's directory; give that of a run: runs/first\n"),
        (["nowhere"], "there is no run directory nowhere"),
        (["."], "completions holds no completions of training; a run records them with [record]"),
        (["runs/first", "--score", "some"], "--score: expected one of changed, all, new, got 'som"),
        (["runs/first", "--mode", "test"], "--mode: expected one of train, eval, got 'test'"),
        (["runs/first", "--fail-on", "flip"], "--fail-on: 'flip' is none of advantages, failures"),
        (["runs/first", "--fail-on", "flips=2"], "--fail-on: expected a share from 0 to below 1"),
        (["runs/first", "--fail-on", "flips=x"], "--fail-on: expected a share from 0 to below 1"),
        (["runs/first", "--config", "no.toml"], "there is no config file no.toml"),
    ],
)
def test_replay_that_cannot_be_exits_2(project, capsys, monkeypatch, arguments, said):  # noqa: F811
    folder = project / "runs/first/completions"
    folder.mkdir(parents=True)
    if "--config" in arguments:
        CompletionRecord(folder, RecordSection()).write(batch_of())
    code, error = fails(capsys, monkeypatch, "replay", *arguments)

    assert code == 2
    assert said in error
    assert "Traceback" not in error
