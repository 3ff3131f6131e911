"""Allow and block lists: where they come from, and what they keep out."""

import pytest

from grpo_core.catalog import Catalog
from grpo_core.discovery import PluginFilter, find_plugins


def test_filter_without_variables_allows_everything():
    chosen = PluginFilter.from_environment({})

    assert (chosen.allow, chosen.block) == (None, ())
    assert chosen.reason_against("acme-rewards") == ""


def test_filter_empty_allow_variable_allows_nothing():
    chosen = PluginFilter.from_environment({"GRPO_CORE_PLUGINS": ""})

    assert chosen.reason_against("acme-rewards").startswith("not in the allow list")


def test_filter_variables_are_split_at_commas_and_normalised():
    chosen = PluginFilter.from_environment(
        {"GRPO_CORE_PLUGINS": " Acme_Rewards, zeta.rewards,", "GRPO_CORE_BLOCK": "B--b,"}
    )

    assert (chosen.allow, chosen.block) == (("acme-rewards", "zeta-rewards"), ("b-b",))


@pytest.mark.parametrize("name", ["Acme_Rewards", "acme.rewards", "ACME--rewards"])
def test_filter_names_compare_as_pep_503_says(name):
    assert PluginFilter(block=(name,)).reason_against("acme-rewards").startswith("blocked")
    assert PluginFilter(allow=("acme-rewards",)).reason_against(name) == ""


def test_filter_block_wins_over_allow():
    chosen = PluginFilter(allow=("acme-rewards",), block=("acme-rewards",))

    assert chosen.reason_against("acme-rewards") == (
        "blocked (GRPO_CORE_BLOCK, [plugins] block or --block-plugin)"
    )


def test_filter_more_lists_only_narrow():
    chosen = PluginFilter(allow=("a", "b"), block=("x",)).with_lists(["B", "c"], ["Y"])

    assert (chosen.allow, chosen.block) == (("b",), ("x", "y"))


def test_filter_first_allow_list_applies_as_it_is():
    assert PluginFilter().with_lists(["b"]).allow == ("b",)


def test_filter_no_more_lists_changes_nothing():
    chosen = PluginFilter(allow=("a",), block=("x",))

    assert chosen.with_lists() == chosen


def test_find_reads_the_lists_from_the_environment(site, monkeypatch):
    site.install("acme-rewards", entry="acme")
    site.install("zeta-rewards", entry="zeta")
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "Acme_Rewards")

    states = {p.distribution: p.state for p in find_plugins()}

    assert (states["acme-rewards"], states["zeta-rewards"]) == ("found", "blocked")


def test_catalog_misspelt_distribution_in_a_list_is_warned_of_once(site, caplog, monkeypatch):
    site.install("grpo-reward-fake")
    monkeypatch.setenv("GRPO_CORE_BLOCK", "grpo-reward-faek")

    Catalog()
    Catalog()

    [record] = caplog.records
    assert record.getMessage().startswith(
        "the lists of plugins name 'grpo-reward-faek', which is not installed. Did you mean "
        "'grpo-reward-fake'"
    )
