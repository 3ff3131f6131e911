"""Rewards that belong to no plugin: modules, files and callables."""

import functools
import hashlib
import sys
import traceback
from pathlib import Path

import pytest

from grpo_core import reward
from grpo_core.catalog import Catalog
from grpo_core.discovery import PluginFilter
from grpo_core.errors import UnknownRewardError

MINE = """
from __future__ import annotations
import dataclasses
from grpo_core import Completion, reward

@reward
def short(completion: Completion, *, n: int = 10) -> float:
    return 1.0

@reward
@dataclasses.dataclass(kw_only=True)
class Tidy:
    indent: int = 2
    def __call__(self, completion): return 1.0

class Shelf:
    @staticmethod
    def trl_style(completions, **kwargs): return [0.0] * len(completions)

number = 3
"""
HERE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@reward
def tagged(completion, *, n: int = 10):
    return 1.0


@reward
class Tagged:
    def __init__(self, *, n=1):
        pass

    def __call__(self, completion):
        return 1.0


def trl_style(completions, **kwargs):
    return [0.0] * len(completions)


class Judge:
    def __call__(self, completions, **kwargs):
        return [0.0] * len(completions)

    def method(self, completions, **kwargs):
        return [0.0] * len(completions)


@pytest.fixture
def catalog():
    return Catalog(PluginFilter(allow=()))


def refusal(catalog, use, **how):
    """The text of the error that the name or callable leads to."""
    with pytest.raises(UnknownRewardError) as caught:
        catalog.resolve(use, **how)
    return str(caught.value)


# module:attr


def test_resolve_module_attribute_is_found(site, catalog):
    site.write("mine.py", MINE)

    found = catalog.resolve("mine:short")

    assert (found.name, found.origin, found.distribution) == ("mine:short", "module mine", "")
    assert found.info is not None
    assert [p.annotation for p in found.info.options] == [int]


def test_resolve_module_dotted_attribute_is_found_untagged(site, catalog):
    site.write("mine.py", MINE)

    found = catalog.resolve("mine:Shelf.trl_style")

    assert found.info is None
    assert found.target(completions=["a"]) == [0.0]


def test_resolve_module_attribute_typo_suggests(site, catalog):
    site.write("mine.py", MINE)

    assert refusal(catalog, "mine:shrt") == (
        "no reward 'mine:shrt': module mine has no attribute 'shrt'. Did you mean 'short'?"
    )


@pytest.mark.parametrize(
    ("use", "text"),
    [
        ("no_such_module:x", "ModuleNotFoundError: No module named 'no_such_module'"),
        (":x", "ValueError: Empty module name"),
        (".mine:x", "TypeError"),
        ("https://example.org/x", "ModuleNotFoundError: No module named 'https'"),
        ("mine:", "has no attribute ''"),
        ("mine:number", "a reward is a name or a callable, got int: 3"),
        ("mine:Shelf", "the class 'Shelf' is not a reward: put @reward above it"),
        ("leaves:x", "SystemExit: 4"),
    ],
)
def test_resolve_module_that_leads_nowhere_names_use_and_reason(site, catalog, use, text):
    site.write("mine.py", MINE)
    site.write("leaves.py", "import sys; sys.exit(4)")

    said = refusal(catalog, use)

    assert repr(use) in said
    assert text in said


# file.py:attr


def test_resolve_file_is_relative_to_the_folder(tmp_path, catalog):
    (tmp_path / "rewards.py").write_text(MINE)

    found = catalog.resolve("rewards.py:short", folder=tmp_path)

    assert (found.name, found.origin) == (
        "rewards.py:short",
        f"file {tmp_path / 'rewards.py'}",
    )


def test_resolve_file_without_folder_is_relative_to_the_working_directory(
    tmp_path, monkeypatch, catalog
):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "rewards.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)

    assert catalog.resolve("sub/rewards.py:short").target.__name__ == "short"
    assert catalog.resolve("./sub/rewards.py:short").target.__name__ == "short"


def test_resolve_file_by_absolute_path_is_found(tmp_path, catalog):
    path = tmp_path / "rewards.py"
    path.write_text(MINE)

    assert catalog.resolve(f"{path}:Tidy").info.name == "tidy"


def test_resolve_two_files_of_one_name_stay_apart(tmp_path, catalog):
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rewards.py").write_text(f"def r(completions): return {value}")

    first = catalog.resolve("a/rewards.py:r", folder=tmp_path).target
    second = catalog.resolve("b/rewards.py:r", folder=tmp_path).target

    assert (first([]), second([])) == (1, 2)


def test_resolve_two_files_of_one_content_stay_apart(tmp_path, catalog):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rewards.py").write_text("def r(completions): return __file__")

    first = catalog.resolve("a/rewards.py:r", folder=tmp_path).target
    second = catalog.resolve("b/rewards.py:r", folder=tmp_path).target

    assert first([]) == str(tmp_path / "a" / "rewards.py")
    assert second([]) == str(tmp_path / "b" / "rewards.py")


def test_resolve_file_is_compiled_by_its_own_rules(tmp_path, catalog):
    (tmp_path / "rewards.py").write_text("def r(completions: list): pass")

    found = catalog.resolve("rewards.py:r", folder=tmp_path)

    assert found.target.__annotations__ == {"completions": list}


def test_resolve_file_twice_is_one_module(tmp_path, catalog):
    (tmp_path / "rewards.py").write_text(MINE)

    first = catalog.resolve("rewards.py:short", folder=tmp_path).target

    assert catalog.resolve("rewards.py:short", folder=tmp_path).target is first


def test_resolve_file_edited_in_between_is_read_anew(tmp_path, catalog):
    (tmp_path / "rewards.py").write_text("def r(completions): return 1")
    catalog.resolve("rewards.py:r", folder=tmp_path)

    (tmp_path / "rewards.py").write_text("def r(completions): return 2")

    assert catalog.resolve("rewards.py:r", folder=tmp_path).target([]) == 2


@pytest.mark.parametrize(
    ("use", "text"),
    [
        ("missing.py:r", "there is no file "),
        ("folder.py:r", "there is no file "),
        ("broken.py:r", "SyntaxError: '(' was never closed (broken.py, line 1)"),
        ("leaves.py:r", "cannot be imported: SystemExit: 4"),
        ("rewards.py:shrt", "has no attribute 'shrt'. Did you mean 'short'?"),
        ("rewards.py", "name its function too: 'rewards.py:<function>'"),
        ("./rewards.py", "name its function too: './rewards.py:<function>'"),
        ("rewards.py:number", "a reward is a name or a callable, got int: 3"),
    ],
)
def test_resolve_file_that_leads_nowhere_names_use_and_reason(tmp_path, catalog, use, text):
    (tmp_path / "rewards.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("def broken(")
    (tmp_path / "leaves.py").write_text("import sys; sys.exit(4)")
    (tmp_path / "folder.py").mkdir()

    said = refusal(catalog, use, folder=tmp_path)

    assert repr(use) in said
    assert text in said


def test_resolve_signature_that_is_refused_names_the_line_of_its_author_once(tmp_path, catalog):
    (tmp_path / "bad.py").write_text("from grpo_core import reward\n\n@reward\ndef r(c, *a): ...\n")

    with pytest.raises(UnknownRewardError) as caught:
        catalog.resolve("bad.py:r", folder=tmp_path)

    assert str(caught.value).endswith(f" ({tmp_path / 'bad.py'}:3)")
    assert "".join(traceback.format_exception(caught.value)).count("*a declares nothing") == 1


def test_resolve_range_of_no_option_is_said_once(tmp_path, catalog):
    (tmp_path / "bad.py").write_text(
        "from grpo_core import reward\n@reward(range=lambda n: (0, n))\ndef r(c): ...\n"
    )

    with pytest.raises(UnknownRewardError) as caught:
        catalog.resolve("bad.py:r", folder=tmp_path)

    assert "".join(traceback.format_exception(caught.value)).count("which is no option") == 1


def test_resolve_file_that_fails_leaves_no_module_behind(tmp_path, catalog):
    (tmp_path / "broken_rewards.py").write_text("raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        catalog.resolve("broken_rewards.py:r", folder=tmp_path)

    assert not [name for name in sys.modules if name.endswith("_broken_rewards")]


# Callables


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (trl_style, "trl_style"),
        (lambda completions: [0.0], "lambda"),
        (functools.partial(trl_style, k=1), "trl_style"),
        (functools.partial(functools.partial(trl_style, k=1), j=2), "trl_style"),
        (Judge(), "Judge"),
        (functools.partial(Judge(), k=1), "Judge"),
        (Judge().method, "method"),
    ],
)
def test_resolve_untagged_callable_is_used_as_it_is(catalog, target, name):
    found = catalog.resolve(target)

    assert (found.name, found.info) == (name, None)
    assert found.target is target
    assert found.origin.endswith(f" in {__name__}")


def test_resolve_tagged_function_has_its_declaration(catalog):
    found = catalog.resolve(tagged)

    assert (found.name, found.origin) == ("tagged", f"function in {__name__}")
    assert found.info is not None
    assert [p.name for p in found.info.options] == ["n"]


def test_resolve_tagged_class_has_its_declaration(catalog):
    assert catalog.resolve(Tagged).info.is_class


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Tagged(n=2), "got an instance of the reward class 'Tagged'; hand over the class itself"),
        (type("Heir", (Tagged,), {})(), "got an instance of the reward class 'Heir'"),
        (type("Heir", (Tagged,), {}), "the class 'Heir' is not a reward: put @reward above it"),
        (Judge, "the class 'Judge' is not a reward: put @reward above it"),
        (functools.partial(tagged, n=2), "got a functools.partial of the reward 'tagged'; hand"),
        (functools.partial(Tagged, n=2), "got a functools.partial of the reward 'tagged'; hand"),
        (3, "a reward is a name or a callable, got int: 3"),
        (None, "a reward is a name or a callable, got NoneType: None"),
    ],
)
def test_resolve_callable_that_hides_its_declaration_is_refused(catalog, target, text):
    assert text in refusal(catalog, target)


def test_resolve_tagged_function_with_a_bad_declaration_names_it(catalog):
    @reward(range=lambda m: (0, m))
    def odd(completion, *, n=1):
        return 1.0

    assert "'odd': range is a function of 'm', which is no option" in refusal(catalog, odd)


def test_resolve_async_reward_is_found(catalog):
    @reward
    async def later(completion):
        return 1.0

    assert catalog.resolve(later).info.is_async


def test_resolve_tagged_function_wrapped_as_what_its_tag_forbids_is_refused(catalog):
    @reward(isolation="inline")
    def short(completion):
        return 1.0

    @functools.wraps(short)
    async def later(completion):
        return 1.0

    assert "'short' is async and runs on an event loop" in refusal(catalog, later)


# Where the code lies


@pytest.mark.parametrize(
    "target",
    [
        tagged,
        Tagged,
        trl_style,
        functools.partial(trl_style, k=1),
        Judge(),
        Judge().method,
        functools.wraps(trl_style)(lambda **kwargs: []),
        lambda completions: [0.0],
    ],
)
def test_source_hash_is_that_of_the_file(catalog, target):
    assert catalog.resolve(target).source_hash == HERE


@pytest.mark.parametrize("target", [len, functools.partial(print, "x")])
def test_source_hash_of_a_builtin_is_none(catalog, target):
    assert catalog.resolve(target).source_hash is None


@pytest.mark.parametrize("module", ["__main__", "typed_somewhere"])
@pytest.mark.parametrize("name", ["function", "Class"])
def test_source_hash_of_code_without_a_file_is_none(catalog, monkeypatch, name, module):
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    namespace = {"__name__": module, "reward": reward}
    exec(
        "@reward\ndef function(c): pass\n@reward\nclass Class:\n def __call__(self, c): pass",
        namespace,
    )

    assert catalog.resolve(namespace[name]).source_hash is None


def test_source_hash_of_a_file_reward_is_that_of_its_file(tmp_path, catalog):
    (tmp_path / "rewards.py").write_bytes(b"def r(completions): pass\n")

    found = catalog.resolve("rewards.py:r", folder=tmp_path)

    # sha256sum of the line above, newline included
    assert found.source_hash == hashlib.sha256(b"def r(completions): pass\n").hexdigest()


def test_source_hash_of_a_package_changes_with_any_of_its_modules(site, catalog):
    package = site.folder / "some_rewards"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("from some_rewards.inner.scan import r\n")
    (package / "inner/__init__.py").write_text("")
    (package / "inner/scan.py").write_text("def r(completions): pass\n")
    (package / "words.py").write_text("WORDS = 1\n")
    found = catalog.resolve("some_rewards:r")
    before = found.source_hash

    (package / "words.py").write_text("WORDS = 2\n")

    assert found.source_hash != before
    (package / "words.py").write_text("WORDS = 1\n")
    assert found.source_hash == before


def test_resolve_file_that_fails_names_the_line(tmp_path, catalog):
    (tmp_path / "rewards.py").write_text("import os\n\nraise ValueError('no key')\n")

    with pytest.raises(UnknownRewardError, match=r"ValueError: no key \(.*rewards\.py:3\)"):
        catalog.resolve("rewards.py:r", folder=tmp_path)
