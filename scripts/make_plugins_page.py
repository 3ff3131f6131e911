"""Writes docs/reference/plugins.md: what the rewards of the plugins in plugins/ declare.

    python scripts/make_plugins_page.py

They must be installed, as `make install` does it. A test compares the page with what this makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grpo_core.catalog import Catalog
from grpo_core.discovery import Plugin, PluginFilter
from grpo_core.reward import Parameter, RewardInfo

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "plugins.md"

_HEAD = """\
# Plugins

The rewards of the plugins in this repository, as they declare themselves. `grpo plugins` lists
what is installed, `grpo plugins show NAME` adds the docstring. This page is written by
`scripts/make_plugins_page.py`.
"""


def page() -> str:
    """The text of the page.

    Raises:
        RuntimeError: A plugin of the folder is not installed or cannot be loaded.
    """
    folders = {p.parent.name for p in ROOT.glob("plugins/*/pyproject.toml")}
    found = Catalog(PluginFilter(allow=tuple(folders))).load_all()
    plugins = [p for p in found if p.state == "loaded" and p.distribution in folders]
    if missing := sorted(folders - {p.distribution for p in plugins}):
        raise RuntimeError(f"not installed or not loaded: {', '.join(missing)}; run make install")
    return "\n".join([_HEAD, *(line for plugin in plugins for line in _plugin(plugin))])


def _plugin(plugin: Plugin) -> Iterator[str]:
    yield f"## {plugin.distribution}\n"
    readme = f"../../plugins/{plugin.distribution}/README.md"
    yield f"Version {plugin.version}, entry `{plugin.entry}`. [README]({readme})\n"
    for info in plugin.rewards.values():
        yield f"### {plugin.entry}/{info.name}\n"
        yield f"{info.summary}\n"
        yield from _facts(info)
        yield from _options(info.options)


def _facts(info: RewardInfo) -> Iterator[str]:
    inputs = [f"`{p.name}`{'' if p.required else ' (optional)'}" for p in info.inputs]
    yield "| range | inputs | scope | runs | deterministic |"
    yield "|---|---|---|---|---|"
    where = "awaited" if info.is_async else info.isolation or "process"
    yield (
        f"| {_range(info)} | {', '.join(inputs) or 'none'} | {info.scope} | {where} | "
        f"{'yes' if info.deterministic else 'no'} |\n"
    )


def _range(info: RewardInfo) -> str:
    try:
        low, high = info.range()
    except TypeError:  # an option that is required decides
        return "by options"
    return f"{low:g} to {high:g}"


def _options(options: tuple[Parameter, ...]) -> Iterator[str]:
    if not options:
        yield "No options.\n"
        return
    yield "| option | type | default |"
    yield "|---|---|---|"
    for p in options:
        default = "required" if p.required else f"`{_cell(repr(p.default))}`"
        yield f"| `{p.name}` | `{_cell(p.type_name)}` | {default} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
