"""The documents are true: every fenced block runs or is checked, links lead somewhere.

How a block is run is said in docs_runner.py, what a comment above it may say in docs_pages.py.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from docs_pages import (
    CHANGELOGS,
    PAGES,
    ROOT,
    anchors_of,
    blocks_of,
    code,
    links_of,
    name_of,
    table_under,
)
from docs_runner import PageRun, one_thread

from grpo_core.catalog import Catalog
from grpo_core.discovery import PluginFilter


def parameter(page: Path) -> Any:
    trains = any("training" in block.markers for block in blocks_of(page))
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] if trains else [])


# Blocks and links


@pytest.mark.parametrize("page", [parameter(p) for p in PAGES])
def test_every_block_of_the_page_is_true(page, tmp_path, monkeypatch):
    blocks = blocks_of(page)
    if any(
        re.search(r"\b(trl|to_trl|train)\b", b.text) for b in blocks if "run by" not in b.markers
    ):
        pytest.importorskip("trl", reason="the extra 'train' is not installed")
    trains = any("training" in block.markers for block in blocks)
    run = PageRun(tmp_path, monkeypatch)

    with one_thread() if trains else contextlib.nullcontext():
        try:
            for block in blocks:
                run.run(block)
        finally:
            run.forget()
    run.check_diffs()


@pytest.mark.parametrize("page", [*PAGES, *CHANGELOGS], ids=name_of)
def test_links_of_the_page_lead_somewhere(page):
    dead = []
    for line, target in links_of(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            dead.append(f"{name_of(page)}:{line}: {target}")

    assert dead == []


def test_every_page_can_be_reached_from_the_readme():
    reached, pending = set(), [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        reached.add(page)
        linked = [(page.parent / t.partition("#")[0]).resolve() for _, t in links_of(page)]
        pending += [p for p in linked if p.suffix == ".md" and p.is_file() and p not in reached]

    assert set(PAGES) - reached == set()


# README and CONTRIBUTING


def test_readme_table_of_plugins_is_what_is_installed():
    own = sorted(p.parent.name for p in ROOT.glob("plugins/*/pyproject.toml"))
    catalog = Catalog(PluginFilter(allow=own))
    expected = []
    for plugin in catalog.load_all():
        for info in plugin.rewards.values():
            inputs = ", ".join(p.name for p in info.inputs) or "none"
            name = f"{plugin.entry}/{info.name}"
            expected.append((plugin.distribution, name, _range_of(info), inputs))

    rows = table_under(ROOT / "README.md", "Plugins")

    assert sorted({p.distribution for p in catalog.plugins}) == own
    assert [
        (
            re.search(r"grpo-reward-\w+", row["plugin"])[0],
            code(row["reward"]),
            row["range"],
            row["inputs"].replace("`", ""),
        )
        for row in rows
    ] == expected
    assert all(row["earns the point"] for row in rows)


def _range_of(info):
    try:
        low, high = info.range()
    except TypeError:  # an option that is required decides
        return "by options"
    return f"{low:g} to {high:g}"


def test_contributing_names_files_that_exist():
    rows = table_under(ROOT / "CONTRIBUTING.md", "I want to …")
    named = [
        path
        for row in rows
        for cell in (row["file"], row["and its test"])
        for path in re.findall(r"`([\w./-]*[./][\w./-]*)`", cell)
    ]

    assert len(named) > len(rows)
    assert [path for path in named if not (ROOT / path).exists()] == []


# The documents say nothing of what they should not


@pytest.mark.parametrize("page", [*PAGES, *CHANGELOGS], ids=name_of)
def test_page_names_no_path_of_one_machine(page):
    text = page.read_text(encoding="utf-8")

    assert re.findall(r"(?<![\w.])/(?:work|tmp|root|home)\b\S*", text) == []
