"""`grpo plugins` and `grpo plugins show`: what a person and a program read."""

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app

RICH = """
from typing import Literal
from grpo_core import hookimpl, reward

print("hello from the import")

@reward(range=(-1, 1), needs="token_ids", deterministic=False)
def judged(completion, answer: str, unit: str = "m", *, tags: list[str] = ["a"], seed: int):
    '''1.0 if the judge agrees.

    The whole story.
    '''

@reward(range=lambda high: (0, high))
class LengthFits:
    def __init__(self, *, high: float = 2.5, far: float = float("inf"), kind: type = dict):
        pass

    def __call__(self, completion):
        return 1.0

@reward(range=lambda steps: (0, steps))
def counted(completion, *, steps: int):
    return 1.0

@hookimpl
def grpo_rewards():
    return [judged, LengthFits, counted]
"""

DECLARED = """
from grpo_core import hookimpl, reward

@reward(scope="group", isolation="thread", timeout_s=2.5, on_timeout=0.5, on_error="raise")
def compares(completions: list):
    return [1.0 for c in completions]

@reward(isolation="inline")
def bounded(completion):
    return 1.0

@reward(on_timeout="missing")
async def judge(completion):
    return 1.0

@reward(range=lambda steps: (0, steps), needs=lambda steps: "token_ids" if steps else ())
def counted(completion, *, steps: int):
    return 1.0

@hookimpl
def grpo_rewards():
    return [compares, bounded, judge, counted]
"""


@pytest.fixture
def grpo(site, monkeypatch):
    """Runs `grpo plugins ...` in this process; sees only distributions called acme-*."""
    monkeypatch.setenv("COLUMNS", "80")
    ours = ["--allow-plugin", "acme-a", "--allow-plugin", "acme-b"]

    def run(*arguments, allow=ours, terminal=False):
        monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
        return CliRunner().invoke(app, ["plugins", *allow, *arguments], catch_exceptions=True)

    return run


def listed(result):
    """The JSON of the fake distributions, by name."""
    return {p["distribution"]: p for p in json.loads(result.stdout) if "acme" in p["distribution"]}


def test_plugins_in_a_pipe_are_one_line_a_reward_that_says_all(site, grpo):
    site.install("acme-a", RICH, version="2.3", entry="acme")
    site.install("acme-b", "import no_such_module_anywhere", entry="a-plugin-with-a-long-name" * 3)

    lines = [line for line in grpo().stdout.splitlines() if "not in the allow list" not in line]

    entry = "a-plugin-with-a-long-name" * 3
    ours = [line for line in lines if line.startswith("acme")]
    assert [line.split("  ")[0] for line in ours] == ["acme-a 2.3"] * 3 + ["acme-b 1.0"]
    assert [re.sub("  +", "  ", line) for line in ours] == [
        "acme-a 2.3  acme/judged(answer, unit?)  -1 to 1  loaded",
        "acme-a 2.3  acme/length_fits()  0 to 2.5  loaded",
        "acme-a 2.3  acme/counted()  by options  loaded",
        f"acme-b 1.0  {entry}  -  failed",
    ]
    assert not [line for line in lines if not line.strip(" ─━")]


def colourless(text):
    """The lines of what a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()


def plain(text):
    """The same without its columns."""
    return [" ".join(line.split()) for line in colourless(text)]


def test_plugins_table_shows_rewards_with_inputs_and_range(site, grpo):
    site.install("acme-a", RICH, version="2.3", entry="acme")

    result = grpo(terminal=True)

    assert result.exit_code == 0
    rows = plain(result.stdout)
    assert "acme-a 2.3 acme/judged(answer, unit?) -1 to 1 loaded" in rows
    assert "acme/length_fits() 0 to 2.5" in rows


def test_plugins_table_range_that_needs_options_says_so(site, grpo):
    site.install("acme-a", RICH, entry="acme")

    assert "acme/counted() by options" in " ".join(plain(grpo(terminal=True).stdout))


def test_plugins_table_shows_broken_plugins_with_the_reason_unbroken(site, grpo):
    site.install("acme-a", "import no_such_module_anywhere", entry="a")
    site.install("acme-b", entry="b")

    result = grpo()

    assert result.exit_code == 0
    assert (
        "a of acme-a 1.0: failed: ModuleNotFoundError: No module named 'no_such_module_anywhere'\n"
    ) in result.stdout
    assert "answer_equals" in result.stdout


def test_plugins_table_is_at_most_80_columns_wide(site, grpo):
    site.install("acme-a", RICH, entry="acme")
    site.install("acme-b", entry="b")

    table = colourless(grpo(terminal=True).stdout.partition("not in the allow list")[0])

    assert max(map(len, table)) <= 80


def test_plugins_table_brackets_in_a_reason_are_kept(site, grpo):
    site.install("acme-a", "raise ValueError('[bold]no[/bold] list[str]')", entry="acme")

    assert "ValueError: [bold]no[/bold] list[str]" in grpo().stdout


def test_plugins_none_installed_says_so(grpo):
    result = grpo("--json", allow=["--allow-plugin", "nobody-at-all"])

    assert listed(result) == {}
    assert result.exit_code == 0


def test_plugins_json_holds_every_field(site, grpo):
    module = site.install("acme-a", RICH, version="2.3", entry="acme")

    plugin = listed(grpo("--json"))["acme-a"]

    rewards = plugin.pop("rewards")
    assert plugin == {
        "distribution": "acme-a",
        "version": "2.3",
        "entry": "acme",
        "module": module,
        "state": "loaded",
        "reason": "",
    }
    assert rewards[0] == {
        "name": "judged",
        "summary": "1.0 if the judge agrees.",
        "range": [-1.0, 1.0],
        "scope": "sample",
        "async": False,
        "isolation": None,
        "timeout_s": None,
        "on_timeout": "low",
        "on_error": "missing",
        "deterministic": False,
        "needs": ["token_ids"],
        "inputs": [
            {"name": "answer", "type": "str", "required": True, "default": None},
            {"name": "unit", "type": "str", "required": False, "default": "m"},
        ],
        "options": [
            {"name": "tags", "type": "list[str]", "required": False, "default": ["a"]},
            {"name": "seed", "type": "int", "required": True, "default": None},
        ],
    }


def test_plugins_json_defaults_that_json_lacks_are_their_repr(site, grpo):
    site.install("acme-a", RICH, entry="acme")

    options = listed(grpo("--json"))["acme-a"]["rewards"][1]["options"]

    assert [o["default"] for o in options] == [2.5, "inf", "<class 'dict'>"]


def test_plugins_json_range_that_needs_options_is_null(site, grpo):
    site.install("acme-a", RICH, entry="acme")

    assert listed(grpo("--json"))["acme-a"]["rewards"][2]["range"] is None


def test_plugins_json_is_not_disturbed_by_what_a_plugin_prints(site, grpo):
    site.install("acme-a", RICH, entry="acme")

    result = grpo("--json")

    assert json.loads(result.stdout)
    assert "hello from the import" in result.stderr


def test_plugins_blocked_on_the_command_line_is_not_imported(site, grpo):
    module = site.install("acme-a", entry="a")
    site.install("acme-b", entry="b")

    plugins = listed(grpo("--json", "--block-plugin", "Acme_A"))

    assert (plugins["acme-a"]["state"], plugins["acme-b"]["state"]) == ("blocked", "loaded")
    assert module not in sys.modules


def test_plugins_allowed_on_the_command_line_only_narrows_the_environment(site, grpo, monkeypatch):
    site.install("acme-a", entry="a")
    site.install("acme-b", entry="b")
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "acme-b")

    plugins = listed(grpo("--json"))

    assert (plugins["acme-a"]["state"], plugins["acme-b"]["state"]) == ("blocked", "loaded")


# --strict


@pytest.mark.parametrize(
    "case",
    [
        {"source": "import no_such_module_anywhere"},
        {"requires": ["grpo-core>=99"]},
        {"entry": "b"},
    ],
    ids=["failed", "incompatible", "ambiguous"],
)
def test_plugins_strict_exits_with_1_and_still_lists(site, grpo, case):
    site.install("acme-a", **{"entry": "a"} | case)
    site.install("acme-b", entry="b")

    result = grpo("--strict", "--json")

    assert result.exit_code == 1
    assert set(listed(result)) == {"acme-a", "acme-b"}


def test_plugins_strict_accepts_loaded_and_blocked(site, grpo):
    site.install("acme-a", entry="a")
    site.install("acme-b", "import no_such_module_anywhere", entry="b")

    assert grpo("--strict", "--block-plugin", "acme-b").exit_code == 0


# show


def test_show_prints_docstring_range_needs_inputs_and_options(site, grpo):
    site.install("acme-a", RICH, version="2.3", entry="acme")

    result = grpo("show", "acme/judged")

    assert result.stdout == (
        "acme/judged\n"
        "from           acme-a 2.3\n"
        "range          -1 to 1\n"
        "scope          sample\n"
        "isolation      process (default)\n"
        "timeout_s      10 (default)\n"
        "on_timeout     low (-1)\n"
        "on_error       missing\n"
        "deterministic  no\n"
        "needs          token_ids\n"
        "inputs\n"
        "  answer: str\n"
        "  unit: str = 'm'\n"
        "options\n"
        "  tags: list[str] = ['a']\n"
        "  seed: int\n"
        "\n"
        "1.0 if the judge agrees.\n"
        "\n"
        "The whole story.\n"
    )


def declared(result):
    """What `show` prints between the name and the inputs, by title."""
    lines = result.stdout.partition("\ninputs")[0].splitlines()[1:]
    return {line[:13].strip(): line[15:] for line in lines}


def test_show_prints_what_the_author_declares_of_how_it_is_run(site, grpo):
    site.install("acme-a", DECLARED, entry="acme")

    shown = declared(grpo("show", "acme/compares"))

    del shown["from"]
    assert shown == {
        "range": "0 to 1",
        "scope": "group",
        "isolation": "thread",
        "timeout_s": "2.5",
        "on_timeout": "0.5",
        "on_error": "raise",
        "deterministic": "yes",
    }


def test_show_inline_reward_has_no_deadline(site, grpo):
    site.install("acme-a", DECLARED, entry="acme")

    shown = declared(grpo("show", "acme/bounded"))

    assert shown["isolation"] == "inline"
    assert not shown.keys() & {"timeout_s", "on_timeout"}


def test_show_async_reward_runs_on_the_event_loop(site, grpo):
    site.install("acme-a", DECLARED, entry="acme")

    shown = declared(grpo("show", "acme/judge"))

    assert (shown["isolation"], shown["on_timeout"]) == ("event loop (async)", "missing")
    assert shown["deterministic"] == "no"


def test_show_needs_and_low_end_that_depend_on_options_say_so(site, grpo):
    site.install("acme-a", DECLARED, entry="acme")

    shown = declared(grpo("show", "acme/counted"))

    assert (shown["needs"], shown["on_timeout"]) == ("by options", "low")


def test_show_json_holds_what_the_author_declares_of_how_it_is_run(site, grpo):
    site.install("acme-a", DECLARED, entry="acme")

    shown = json.loads(grpo("show", "acme/compares", "--json").stdout)

    assert (shown["scope"], shown["async"], shown["isolation"]) == ("group", False, "thread")
    assert (shown["timeout_s"], shown["on_timeout"], shown["on_error"]) == (2.5, 0.5, "raise")


def test_show_bare_name_prints_the_full_one(site, grpo):
    site.install("acme-a", RICH, entry="acme")

    assert grpo("show", "length_fits").stdout.startswith("acme/length_fits\n")


def test_show_json_holds_the_docstring_and_where_it_is_from(site, grpo):
    site.install("acme-a", RICH, version="2.3", entry="acme")

    shown = json.loads(grpo("show", "judged", "--json").stdout)

    assert (shown["full_name"], shown["name"]) == ("acme/judged", "judged")
    assert (shown["distribution"], shown["version"]) == ("acme-a", "2.3")
    assert shown["doc"] == "1.0 if the judge agrees.\n\nThe whole story."
    assert shown["range"] == [-1.0, 1.0]


def test_show_file_and_untagged_function_says_how_it_is_called(tmp_path, grpo):
    (tmp_path / "mine.py").write_text("def r(completions, **kwargs):\n    '''Zeros.'''\n")

    result = grpo("show", f"{tmp_path / 'mine.py'}:r")

    assert result.stdout.splitlines()[2:] == [
        "an untagged function, called in TRL's style",
        "",
        "Zeros.",
    ]


def test_show_takes_the_lists_too(site, grpo):
    site.install("acme-a", entry="a")

    result = grpo("show", "a/answer_equals", "--block-plugin", "acme-a")

    assert "is blocked" in str(result.exception)


# The command as a whole


def run_grpo(*arguments, **environ):
    """Runs `grpo` in a process of its own."""
    code = "from grpo_core.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environ,
        check=False,
    )


def test_main_unknown_reward_is_a_message_and_exit_code_2():
    done = run_grpo("plugins", "show", "nothing_of_this_name", GRPO_CORE_PLUGINS="")

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: no reward 'nothing_of_this_name'. Installed: none.")
    assert "Traceback" not in done.stderr


def test_main_keyboard_interrupt_exits_with_130(site):
    site.install("acme-a", "raise KeyboardInterrupt", entry="a")

    done = run_grpo("plugins", PYTHONPATH=str(site.folder), GRPO_CORE_PLUGINS="acme-a")

    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_main_in_an_ascii_terminal_without_colours_still_prints_all(site):
    source = RICH.replace("def judged", "def größe").replace("[judged", "[größe")
    site.install("acme-a", source, entry="a")

    done = run_grpo(
        "plugins",
        PYTHONPATH=str(site.folder),
        GRPO_CORE_PLUGINS="acme-a",
        PYTHONIOENCODING="ascii",
        NO_COLOR="1",
        COLUMNS="80",
    )

    assert (done.returncode, done.stderr) == (0, "hello from the import\n")
    assert "a/gr\\xf6\\xdfe(answer, unit?)" in done.stdout
    assert "\x1b" not in done.stdout


def test_main_version_prints_it():
    assert run_grpo("--version").stdout.startswith("grpo-core 0.")


def test_main_without_arguments_prints_the_commands():
    done = run_grpo()

    assert "plugins" in done.stdout
    assert "Traceback" not in done.stderr
