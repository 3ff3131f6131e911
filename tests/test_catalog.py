"""From a name to a reward of an installed plugin, and what is said when there is none."""

import sys

import pytest

from grpo_core.catalog import Catalog
from grpo_core.discovery import PluginFilter
from grpo_core.errors import PluginError, UnknownRewardError

# Only these, so that what else is installed does not change the texts.
OURS = PluginFilter(allow=("acme-rewards", "zeta-rewards"))


def refusal(use, *, error=UnknownRewardError, catalog=None, **how):
    """The text of the error that the name leads to."""
    with pytest.raises(error) as caught:
        (catalog or Catalog(OURS)).resolve(use, **how)
    return str(caught.value)


def test_resolve_full_name_finds_reward_and_distribution(site):
    site.install("acme-rewards", version="2.3", entry="acme")

    found = Catalog(OURS).resolve("acme/answer_equals")

    assert (found.name, found.origin) == ("acme/answer_equals", "acme-rewards 2.3")
    assert (found.distribution, found.version) == ("acme-rewards", "2.3")
    assert found.info is not None
    assert found.target is found.info.target
    assert found.target.__name__ == "answer_equals"


def test_resolve_spaces_around_a_name_do_not_matter(site):
    site.install("acme-rewards", entry="acme")

    assert Catalog(OURS).resolve(" acme/answer_equals ").name == "acme/answer_equals"


def test_resolve_imports_only_the_plugin_that_is_named(site):
    acme = site.install("acme-rewards", entry="acme")
    zeta = site.install("zeta-rewards", entry="zeta")

    Catalog(OURS).resolve("acme/answer_equals")

    assert acme in sys.modules
    assert zeta not in sys.modules


def test_resolve_other_plugins_broken_is_no_obstacle(site):
    site.install("acme-rewards", entry="acme")
    site.install("zeta-rewards", "import no_such_module_anywhere", entry="zeta")

    assert Catalog(OURS).resolve("acme/answer_equals").name == "acme/answer_equals"


def test_load_all_and_names_list_what_works(site):
    site.install("acme-rewards", entry="acme")
    site.install("zeta-rewards", "import no_such_module_anywhere", entry="zeta")
    catalog = Catalog(OURS)

    plugins = {p.distribution: p.state for p in catalog.load_all()}

    assert (plugins["acme-rewards"], plugins["zeta-rewards"]) == ("loaded", "failed")
    assert catalog.names() == ["acme/answer_equals"]
    assert [p.distribution for p in catalog.broken()] == ["zeta-rewards"]


def test_broken_leaves_out_the_blocked(site):
    site.install("acme-rewards", "import no_such_module_anywhere", entry="acme")

    assert Catalog(PluginFilter(allow=())).broken() == []


# Plugins that cannot be used


def test_resolve_failed_plugin_gives_its_reason_and_cause(site):
    site.install("acme-rewards", "import no_such_module_anywhere", entry="acme")

    with pytest.raises(PluginError) as caught:
        Catalog(OURS).resolve("acme/answer_equals")

    assert str(caught.value) == (
        "reward 'acme/answer_equals' cannot be used: plugin 'acme' of acme-rewards 1.0 failed to "
        "load: ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_resolve_failed_plugin_asked_again_says_the_same(site):
    site.install("acme-rewards", "import no_such_module_anywhere", entry="acme")
    catalog = Catalog(OURS)

    first = refusal("acme/x", error=PluginError, catalog=catalog)

    assert refusal("acme/x", error=PluginError, catalog=catalog) == first


def test_resolve_incompatible_plugin_says_so(site):
    site.install("acme-rewards", entry="acme", requires=["grpo-core>=99"])

    text = refusal("acme/answer_equals", error=PluginError)

    assert "plugin 'acme' of acme-rewards 1.0 is incompatible: requires grpo-core >=99" in text


def test_resolve_blocked_plugin_says_how_it_is_blocked(site):
    site.install("acme-rewards", entry="acme")
    catalog = Catalog(OURS.with_lists(block=["Acme.Rewards"]))

    text = refusal("acme/answer_equals", error=PluginError, catalog=catalog)

    assert "acme-rewards 1.0 is blocked: blocked (GRPO_CORE_BLOCK" in text


def test_resolve_ambiguous_entry_names_both_and_the_ways_out(site):
    site.install("acme-rewards", entry="math")
    site.install("zeta-rewards", entry="math")

    text = refusal("math/answer_equals", error=PluginError)

    assert "acme-rewards 1.0 is ambiguous" in text
    assert "zeta-rewards 1.0 is ambiguous" in text
    assert "GRPO_CORE_BLOCK=<distribution>" in text
    assert 'use = "zeta-rewards:math/<reward>"' in text


def test_resolve_ambiguous_entry_with_distribution_is_found_under_that_name(site):
    acme = site.install("acme-rewards", entry="math")
    site.install("zeta-rewards", entry="math")
    catalog = Catalog(OURS)

    found = catalog.resolve("Zeta_Rewards:math/answer_equals")

    assert (found.name, found.distribution) == (
        "zeta-rewards:math/answer_equals",
        "zeta-rewards",
    )
    assert Catalog(OURS).resolve(found.name).distribution == "zeta-rewards"
    assert acme not in sys.modules


def test_resolve_ambiguous_entry_after_blocking_one_is_found(site):
    site.install("acme-rewards", entry="math")
    site.install("zeta-rewards", entry="math")

    found = Catalog(OURS.with_lists(block=["acme-rewards"])).resolve("math/answer_equals")

    assert (found.name, found.distribution) == ("math/answer_equals", "zeta-rewards")


def test_resolve_distribution_without_a_clash_leads_to_the_short_name(site):
    site.install("acme-rewards", entry="acme")

    assert Catalog(OURS).resolve("acme-rewards:acme/answer_equals").name == "acme/answer_equals"


def test_resolve_wrong_distribution_suggests_the_name(site):
    site.install("acme-rewards", entry="acme")

    text = refusal("zeta-rewards:acme/answer_equals")

    assert "Installed: acme/answer_equals." in text
    assert "pip install" not in text


# Names that nothing answers to


def test_resolve_unknown_reward_of_a_plugin_suggests_and_lists_its_own(site):
    site.install("acme-rewards", entry="acme")

    assert refusal("acme/answer_equal") == (
        "no reward 'acme/answer_equal': acme-rewards 1.0 has no 'answer_equal'. "
        "Did you mean 'acme/answer_equals'? It has: acme/answer_equals."
    )


def test_resolve_unknown_entry_lists_what_is_installed_and_what_failed(site):
    site.install("acme-rewards", entry="acme")
    site.install("zeta-rewards", "import no_such_module_anywhere", entry="zeta")

    text = refusal("cargo/passes")

    assert text.startswith("no reward 'cargo/passes'. Installed: acme/answer_equals. Not loaded: ")
    assert (
        "zeta of zeta-rewards 1.0 (failed: ModuleNotFoundError: No module named "
        "'no_such_module_anywhere')"
    ) in text
    assert text.endswith(" If a plugin 'cargo' exists: pip install grpo-reward-cargo")


def test_resolve_slip_of_the_pen_in_the_entry_is_no_pip_line(site):
    site.install("acme-rewards", entry="acme")

    text = refusal("acne/answer_equals")

    assert "Did you mean 'acme/answer_equals'?" in text
    assert "pip install" not in text


def test_resolve_same_reward_of_another_entry_still_gets_the_pip_line(site):
    site.install("acme-rewards", entry="acme")

    text = refusal("cargo/answer_equals")

    assert "Did you mean 'acme/answer_equals'?" in text
    assert text.endswith("pip install grpo-reward-cargo")


@pytest.mark.parametrize("use", ["two words/x", "../x", "gr;öße/x", ""])
def test_resolve_what_is_no_name_gets_no_pip_line(site, use):
    text = refusal(use)

    assert text.startswith(f"no reward {use!r}.")
    assert "pip install" not in text


@pytest.mark.parametrize(
    "use", ["OpenAssistant/reward-model", "Skywork/Skywork-Reward-V2", "owner/reward-model-1.5"]
)
def test_resolve_id_of_the_hub_gets_no_pip_line_but_says_what_to_do_with_a_model(use):
    text = refusal(use)

    assert text.endswith(
        " No model is loaded by its hub id: wrap a reward model in a class, see "
        "docs/how-to/wrap-a-reward-model.md"
    )
    assert "pip install" not in text


def test_resolve_capital_letter_by_mistake_is_not_taken_for_the_hub(site):
    site.install("acme-rewards", entry="acme")

    text = refusal("Acme/answer_equals")

    assert "Did you mean 'acme/answer_equals'?" in text
    assert "hub" not in text


# Bare names


def test_resolve_bare_name_where_accepted_gives_the_full_one(site):
    site.install("acme-rewards", entry="acme")

    assert Catalog(OURS).resolve("answer_equals", bare=True).name == "acme/answer_equals"


def test_resolve_bare_name_in_a_config_names_the_full_one(site):
    site.install("acme-rewards", entry="acme")

    assert refusal("answer_equals") == (
        "'answer_equals' is a bare name; write the full one: 'acme/answer_equals'."
    )


def test_resolve_bare_name_of_two_plugins_lists_both(site):
    site.install("acme-rewards", entry="acme")
    site.install("zeta-rewards", entry="zeta")

    assert refusal("answer_equals", bare=True) == (
        "'answer_equals' is a bare name; write one of: acme/answer_equals, zeta/answer_equals."
    )


def test_resolve_misspelt_bare_name_suggests_the_bare_one(site):
    site.install("acme-rewards", entry="acme")

    text = refusal("answer_equal", bare=True)

    assert text.startswith("no reward 'answer_equal'. Did you mean")
    assert "Installed: acme/answer_equals." in text
