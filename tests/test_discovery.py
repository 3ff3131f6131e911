"""Finding and loading plugins: real distributions on the path, each broken in its own way."""

import sys
from importlib.metadata import version

import pytest

from grpo_core.discovery import PluginFilter, find_plugins, load

BROKEN_HOOKS = {
    "no hook at all": ("x = 1", "has no function grpo_rewards marked with @hookimpl"),
    "hook without the marker": (
        "def grpo_rewards(): return []",
        "has no function grpo_rewards marked with @hookimpl",
    ),
    "misspelt hook": (
        "from grpo_core import hookimpl\n@hookimpl\ndef grpo_reward(): return []",
        "implements an unknown hook 'grpo_reward'; Did you mean 'grpo_rewards'?",
    ),
    "hook with a parameter": (
        "from grpo_core import hookimpl\n@hookimpl\ndef grpo_rewards(config): return []",
        "config",
    ),
    "hook that raises": (
        "from grpo_core import hookimpl\n@hookimpl\ndef grpo_rewards(): raise KeyError('gold')",
        "KeyError: 'gold'",
    ),
    "no return": ("{HEAD}    pass", "must return one list of rewards, got None"),
    "generator": ("{HEAD}    yield one", "must return a list of rewards, got generator"),
    "text": ("{HEAD}    return 'one'", "must return a list of rewards, got str"),
    "bare reward": ("{HEAD}    return one", "must return a list of rewards, got function"),
    "empty": ("{HEAD}    return []", "grpo_rewards returned no rewards"),
    "untagged": ("{HEAD}    return [print]", "returned 'print', which is not tagged; put @reward"),
    "not callable": ("{HEAD}    return [3]", "returned 3, which is not tagged"),
    "the same twice": ("{HEAD}    return [one, one]", "two rewards named 'one'; rename one"),
    "instance": ("{HEAD}    return [Two()]", "return the class, not an instance"),
    "subclass": ("{HEAD}    return [type('Three', (Two,), {{}})]", "'three', which is not tagged"),
    "lambda": ("{HEAD}    return [reward(lambda c: 1.0)]", "a reward named '<lambda>'"),
}
HEAD = """
from grpo_core import hookimpl, reward

@reward
def one(completion): return 1.0

@reward
class Two:
    def __call__(self, completion): return 1.0

@hookimpl
def grpo_rewards():
"""


def found(distribution):
    """The plugins of a distribution, found but not loaded."""
    return [p for p in find_plugins() if p.distribution == distribution]


def loaded(distribution):
    [plugin] = found(distribution)
    load(plugin)
    return plugin


def test_find_reads_metadata_and_imports_nothing(site):
    module = site.install("acme-rewards", version="2.3", entry="acme")

    [plugin] = found("acme-rewards")

    assert (plugin.state, plugin.reason, plugin.rewards) == ("found", "", {})
    assert (plugin.version, plugin.entry, plugin.module) == ("2.3", "acme", module)
    assert plugin.label == "acme-rewards 2.3"
    assert module not in sys.modules


def test_find_sorts_by_distribution_and_entry(site):
    site.install("Zeta", entry="a")
    site.install("acme-rewards", entry_points="[grpo_core]\nz = acme_rewards\nb = acme_rewards\n")

    order = [(p.distribution, p.entry) for p in find_plugins()]

    ours = [pair for pair in order if pair[0] in ("Zeta", "acme-rewards")]
    assert ours == [("acme-rewards", "b"), ("acme-rewards", "z"), ("Zeta", "a")]


def test_find_other_groups_are_no_plugins(site):
    site.install("acme-rewards", entry_points="[console_scripts]\ngrpo_core = acme:main\n")

    assert found("acme-rewards") == []


def test_load_plugin_collects_its_rewards(site):
    site.install("acme-rewards")

    plugin = loaded("acme-rewards")

    assert (plugin.state, plugin.reason, list(plugin.rewards)) == ("loaded", "", ["answer_equals"])


def test_load_twice_asks_once(site):
    site.install("acme-rewards")
    plugin = loaded("acme-rewards")
    rewards = plugin.rewards

    load(plugin)

    assert plugin.rewards is rewards


@pytest.mark.parametrize("case", BROKEN_HOOKS)
def test_load_broken_hook_fails_with_the_reason(site, case):
    source, reason = BROKEN_HOOKS[case]
    site.install("acme-rewards", source.replace("{HEAD}", HEAD).replace("{{}}", "{}"))

    plugin = loaded("acme-rewards")

    assert (plugin.state, plugin.rewards) == ("failed", {})
    assert reason in plugin.reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module_"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("class Odd(BaseException): pass\nraise Odd('odd')", "Odd: odd"),
        ("def broken(:", "SyntaxError: invalid syntax"),
        ("raise ValueError('line one\\n  line two')", "ValueError: line one line two"),
        ("raise ValueError", "ValueError"),
        (
            "class Mute(Exception):\n def __str__(self): raise RuntimeError\nraise Mute()",
            "Mute",
        ),
    ],
)
def test_load_broken_import_fails_with_the_reason(site, source, reason):
    site.install("acme-rewards", source)

    plugin = loaded("acme-rewards")

    assert plugin.state == "failed"
    assert plugin.reason.startswith(reason)
    assert plugin.error is not None


def test_load_keyboard_interrupt_passes(site):
    site.install("acme-rewards", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        loaded("acme-rewards")


def test_load_endless_reason_is_cut(site):
    site.install("acme-rewards", "raise ImportError('x' * 5000)")

    assert len(loaded("acme-rewards").reason) == 300


def test_load_broken_plugin_leaves_the_others_alone(site):
    site.install("acme-rewards", "import no_such_module_anywhere", entry="acme")
    site.install("zeta-rewards", entry="zeta")

    loaded("acme-rewards")

    assert loaded("zeta-rewards").state == "loaded"


def test_load_module_that_does_not_exist_fails(site):
    site.install("acme-rewards", entry_points="[grpo_core]\nfake = no_such_module_anywhere\n")

    assert loaded("acme-rewards").reason.startswith("ModuleNotFoundError")


def test_load_object_with_the_hook_as_a_method_works(site):
    source = HEAD.replace("@hookimpl\n", "class Plugin:\n  @hookimpl\n  ").replace("()", "(self)")
    source = source.replace("def grpo_rewards(self):", "def grpo_rewards(self): return [one]")
    site.install(
        "acme-rewards",
        source + "\nplugin = Plugin()",
        entry_points="[grpo_core]\nfake = acme_rewards:plugin\n",
    )

    assert list(loaded("acme-rewards").rewards) == ["one"]


def test_load_entry_point_on_the_hook_itself_says_to_name_the_module(site):
    site.install("acme-rewards", entry_points="[grpo_core]\nfake = acme_rewards:grpo_rewards\n")

    assert loaded("acme-rewards").reason == (
        "TypeError: acme_rewards:grpo_rewards has no function grpo_rewards marked with @hookimpl; "
        "the entry point must name the module"
    )


def test_load_unicode_reward_name_is_kept(site):
    site.install("acme-rewards", HEAD.replace("def one", "def größe") + "    return [größe]")

    assert list(loaded("acme-rewards").rewards) == ["größe"]


def test_load_rewards_of_a_tuple_keep_their_order(site):
    site.install("acme-rewards", HEAD + "    return (Two, one)")

    assert list(loaded("acme-rewards").rewards) == ["two", "one"]


# Metadata that cannot be used


@pytest.mark.parametrize("entry", ["two words", "größe", "-x", "a/b"])
def test_find_entry_name_that_no_config_could_write_fails(site, entry):
    site.install("acme-rewards", entry=entry)

    [plugin] = found("acme-rewards")

    assert plugin.state == "failed"
    assert plugin.reason == (f"entry name {entry!r} must be letters, digits, '.', '_' and '-' only")


def test_find_unreadable_entry_points_fails_that_distribution_only(site):
    site.install("acme-rewards", entry_points="[grpo_core]\nno equals sign here\n")
    site.install("zeta-rewards", entry="zeta")

    [plugin] = found("acme-rewards")

    assert (plugin.state, plugin.entry) == ("failed", "?")
    assert plugin.reason == "its entry_points.txt cannot be read; reinstall it"
    assert found("zeta-rewards")[0].state == "found"


def test_find_folder_without_metadata_fails_and_says_where(site):
    site.install("acme-rewards")
    (site.folder / "acme_rewards-1.0.dist-info" / "METADATA").unlink()

    [plugin] = found("unknown")

    assert (plugin.state, plugin.version) == ("failed", "?")
    assert plugin.reason == f"a distribution in {site.folder} has no METADATA; remove it"


def test_find_metadata_without_a_version_is_found_all_the_same(site):
    site.install("acme-rewards")
    metadata = site.folder / "acme_rewards-1.0.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: acme-rewards\n")

    [plugin] = found("acme-rewards")

    assert (plugin.state, plugin.version) == ("found", "?")


def test_find_same_entry_twice_in_one_distribution_fails(site):
    site.install("acme-rewards", entry_points="[grpo_core]\nfake = a\nfake = b\n")

    plugins = found("acme-rewards")

    assert [p.state for p in plugins] == ["failed", "failed"]
    assert plugins[0].reason == "its metadata declares the entry 'fake' twice"


def test_find_distribution_on_the_path_twice_is_listed_once(site, tmp_path, monkeypatch):
    site.install("acme-rewards", version="2.0")
    later = type(site)(tmp_path / "later")
    later.folder.mkdir()
    later.install("acme-rewards", version="1.0")
    monkeypatch.setattr(sys, "path", [*sys.path, str(later.folder)])

    assert [p.version for p in found("acme-rewards")] == ["2.0"]


def test_find_older_version_behind_one_without_entries_is_no_plugin(site, tmp_path, monkeypatch):
    site.install("acme-rewards", version="2.0", entry_points="")
    later = type(site)(tmp_path / "later")
    later.folder.mkdir()
    later.install("acme-rewards", version="1.0")
    monkeypatch.setattr(sys, "path", [*sys.path, str(later.folder)])

    assert found("acme-rewards") == []


# Compatibility


@pytest.mark.parametrize(
    "requires",
    [
        ["grpo-core>=0.0.1,<9"],
        ["grpo-core"],
        ["numpy>=99"],
        ["grpo-core[train]>=0.1"],
        ['grpo-core>=99; python_version < "3"'],
        ['grpo-core>=99; extra == "future"'],
        ["this is not a requirement !!"],
        [],
    ],
)
def test_find_requirement_that_holds_or_does_not_apply_is_found(site, requires):
    site.install("acme-rewards", requires=requires)

    assert found("acme-rewards")[0].state == "found"


@pytest.mark.parametrize(
    ("requires", "specifier"),
    [
        (["grpo-core>=99"], ">=99"),
        (["GRPO_Core>=99"], ">=99"),
        (["grpo.core[train]>=99"], ">=99"),
        (["numpy", "grpo-core<0.0.1"], "<0.0.1"),
        (['grpo-core>=99; python_version >= "3"'], ">=99"),
        (['grpo-core>=99; extra != "future"'], ">=99"),
        (["grpo-core>=0.1", "grpo-core>=99"], ">=99"),
    ],
)
def test_find_requirement_that_does_not_hold_is_incompatible(site, requires, specifier):
    site.install("acme-rewards", requires=requires)

    [plugin] = found("acme-rewards")

    assert plugin.state == "incompatible"
    assert plugin.reason == f"requires grpo-core {specifier}, installed is {version('grpo-core')}"


def test_load_incompatible_plugin_is_not_imported(site):
    module = site.install("acme-rewards", requires=["grpo-core>=99"])

    plugin = loaded("acme-rewards")

    assert plugin.state == "incompatible"
    assert module not in sys.modules


# Two distributions with one entry


def test_find_two_distributions_with_one_entry_are_both_ambiguous(site):
    site.install("acme-rewards", entry="sums")
    site.install("zeta-rewards", entry="sums")

    [acme], [zeta] = found("acme-rewards"), found("zeta-rewards")

    assert (acme.state, zeta.state) == ("ambiguous", "ambiguous")
    assert acme.reason == (
        "entry 'sums' is also claimed by zeta-rewards; set GRPO_CORE_BLOCK=<distribution>, or "
        'write use = "acme-rewards:sums/<reward>"'
    )


def test_find_clash_settled_by_blocking_leaves_the_other_usable(site, monkeypatch):
    site.install("acme-rewards", entry="sums")
    site.install("zeta-rewards", entry="sums")
    monkeypatch.setenv("GRPO_CORE_BLOCK", "zeta_rewards")

    assert found("acme-rewards")[0].state == "found"
    assert found("zeta-rewards")[0].state == "blocked"


# Allow and block lists are tested in test_plugin_filter.py.


def test_find_with_empty_allow_list_imports_nothing(site):
    module = site.install("acme-rewards")

    [plugin] = [p for p in find_plugins(PluginFilter(())) if p.distribution == "acme-rewards"]
    load(plugin)

    assert plugin.state == "blocked"
    assert module not in sys.modules
