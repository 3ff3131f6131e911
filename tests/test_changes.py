"""What differs between the manifest of a run and the run as it would go on, line by line."""

import pytest

from grpo_core.changes import run_changes, setting_changes, value_changes

REWARD = {
    "use": "/home/a/rewards.py:right",
    "distribution": None,
    "version": None,
    "source_sha256": "aa",
    "scope": "sample",
    "weight": 1.0,
    "missing": "neutral",
    "policy": {"timeout_s": 10.0, "on_timeout": 0.0, "on_error": None, "isolation": "process"},
    "inputs": {"gold": "answer", "schema": {"file": "/home/a/s.json"}},
    "input_files": {"/home/a/s.json": "bb"},
    "options": {"strict": True},
}
DATA = {"path": "train.jsonl", "rows": 8, "sha256": "cc"}


def manifest(data=DATA, **rewards):
    return {"rewards": rewards or {"right": REWARD}, "data": data}


def test_same_run_has_no_changes():
    assert run_changes(manifest(), manifest()) == []


def test_other_folder_is_no_change():
    moved = {
        **REWARD,
        "use": "rewards.py:right",
        "inputs": {"gold": "answer", "schema": {"file": "s.json"}},
        "input_files": {"s.json": "bb"},
    }

    assert run_changes(manifest(), manifest(right=moved)) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"weight": 0.5}, "rewards.right.weight was 1.0 and is 0.5"),
        ({"weight": {"start": 0.0, "end": 1.0}}, 'rewards.right.weight was 1.0 and is {"start": '),
        ({"missing": "drop"}, 'rewards.right.missing was "neutral" and is "drop"'),
        ({"requires": {"f": 0.5}}, 'rewards.right.requires was not set and is {"f": 0.5}'),
        ({"options": {"strict": False}}, "rewards.right.options.strict was true and is false"),
        ({"options": {}}, "rewards.right.options.strict was true and is not set"),
        ({"inputs": {"gold": "a"}}, 'rewards.right.inputs.gold was "answer" and is "a"'),
        ({"source_sha256": "dd"}, "rewards.right: its code was changed (/home/a/rewards.py:right)"),
        ({"use": "x/y"}, 'rewards.right.use was "/home/a/rewards.py:right" and is "x/y"'),
        ({"version": "2", "source_sha256": "d"}, 'rewards.right.version was not set and is "2"'),
        ({"input_files": {"/home/a/s.json": "dd"}}, "rewards.right: a file of its inputs was chan"),
        (
            {"policy": {**REWARD["policy"], "timeout_s": 3.0}},
            "rewards.right.timeout_s was 10.0 and is 3.0",
        ),
    ],
)
def test_change_of_a_reward_is_a_line(change, line):
    lines = run_changes(manifest(), manifest(right={**REWARD, **change}))

    assert lines[0].startswith(line)


def test_change_of_how_it_is_run_is_none():
    policy = {**REWARD["policy"], "isolation": "thread", "concurrency": 3}

    assert value_changes(REWARD, {**REWARD, "policy": policy}) == []


def test_change_of_the_total_is_none_of_the_values():
    assert value_changes(REWARD, {**REWARD, "weight": 3.0, "transform": {"clip": [0, 1]}}) == []


def test_rewards_that_came_and_went_are_named():
    lines = run_changes(manifest(a=REWARD, b=REWARD), manifest(b=REWARD, c=REWARD))

    assert lines == ["rewards.a was there and is not", f"rewards.c is new ({REWARD['use']})"]


def test_other_order_is_named():
    """TRL goes by position, and so do the columns of the record."""
    lines = run_changes(manifest(a=REWARD, b=REWARD), manifest(b=REWARD, a=REWARD))

    assert lines == ["rewards were in the order a, b, are b, a"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ({**DATA, "path": "other/train.jsonl"}, []),
        ({**DATA, "sha256": "dd"}, ["data: its content is not what it was"]),
        (
            {"path": "new.jsonl", "rows": 9, "sha256": "dd"},
            [
                'data.path was "train.jsonl" and is "new.jsonl"',
                "data.rows was 8 and is 9",
                "data: its content is not what it was",
            ],
        ),
        ({**DATA, "rows": 4}, ["data.rows was 8 and is 4"]),  # another limit
    ],
)
def test_other_data_is_named(data, lines):
    assert run_changes(manifest(), manifest(data)) == lines


def test_folder_that_moved_is_no_change():
    before = manifest({"path": "rows", "rows": 8, "files": {"rows/a.jsonl": "aa"}})
    now = manifest({"path": "/d/rows", "rows": 8, "files": {"/d/rows/a.jsonl": "aa"}})
    before["eval"] = {"held_out_of": "rows", "rows": 2, "seed": 0}
    now["eval"] = {"held_out_of": "/d/rows", "rows": 2, "seed": 0}

    assert run_changes(before, now) == []
    now["eval"]["seed"] = 1
    assert run_changes(before, now) == ["eval: its content is not what it was"]


def test_evaluation_that_came_is_named():
    now = {**manifest(), "eval": {"held_out_of": "train.jsonl"}}

    assert run_changes(manifest(), now) == ["[eval] was not there and is now"]
    assert run_changes(now, manifest()) == ["[eval] was there and is not"]


ARGS = {"beta": 0.1, "num_generations": 4, "learning_rate": 1e-6, "max_steps": 10, "optim": "adamw"}


def of_model(name, **changes):
    config = {"model": {"name": name, **changes.pop("model", {})}}
    return {**manifest(), "config": config, "args": {**ARGS, **changes}}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"beta": 0.2}, "train.kl_coef was 0.1 and is 0.2"),
        ({"num_generations": 8}, "train.num_generations was 4 and is 8"),
        ({"model": {"lora": {"r": 8}}}, 'model.lora was not set and is {"r": 8}'),
    ],
)
def test_what_the_record_depends_on_makes_another_run(change, line):
    before, now = of_model("m"), of_model("m", **change)

    assert run_changes(before, now) == [line]
    assert setting_changes(before, now) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"learning_rate": 1e-5}, "train.learning_rate was 1e-06 and is 1e-05"),
        ({"max_steps": 20}, "train.max_steps was 10 and is 20"),
        (
            {"optim": "sgd"},
            'train.optim was "adamw" and is "sgd", but the optimizer goes on with that of the '
            "checkpoint",
        ),
    ],
)
def test_other_settings_are_only_said(change, line):
    before, now = of_model("m"), of_model("m", **change)

    assert run_changes(before, now) == []
    assert setting_changes(before, now) == [line]


def test_fields_that_one_manifest_lacks_are_no_change():
    before = {**manifest(), "args": {"beta": 0.1, "output_dir": "a"}}
    now = {**manifest(), "args": {**ARGS, "output_dir": "b"}}

    assert run_changes(before, now) == setting_changes(before, now) == []
    assert run_changes(manifest(), of_model("m")) == []


@pytest.mark.parametrize(
    ("one", "other", "lines"),
    [
        ("../model", "/home/a/model", []),
        ("org/model", "/home/org/model", []),
        ("org/model", "other/model", ['model.name was "org/model" and is "other/model"']),
        ("/a/model", "/b/model", ['model.name was "/a/model" and is "/b/model"']),
        ("model", "/home/a/other", ['model.name was "model" and is "/home/a/other"']),
    ],
)
def test_model_is_another_where_its_name_is(one, other, lines):
    assert run_changes(of_model(one), of_model(other)) == lines


def test_model_of_a_script_is_compared_too():
    before, now = ({**manifest(), "model": name} for name in ("org/a", "org/b"))

    assert run_changes(before, now) == ['model.name was "org/a" and is "org/b"']
