"""The direction of imports: a lower layer knows nothing of a higher one, the core of no plugin.

The rules are those of docs/explanation/architecture.md. Each is also shown to fail on a small
tree that breaks it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent

LEVELS = {
    "errors": 0,
    "completion": 0,
    "outcome": 0,
    "table": 0,
    "signature": 0,
    "copying": 0,
    "convert": 1,
    "secrets": 1,
    "reward": 1,
    "tag": 1,
    "hookspecs": 1,
    "files": 1,
    "user_code": 1,
    "discovery": 2,
    "catalog": 2,
    "inputs": 2,
    "options": 2,
    "sections": 2,
    "reader": 2,
    "batch": 2,
    "schedules": 2,
    "kl": 2,
    "graph": 2,
    "source": 2,
    "looking": 3,
    "overlap": 3,
    "config": 3,
    "dataset": 3,
    "loading": 3,
    "totals": 3,
    "causes": 3,
    "advantages": 3,
    "entry": 3,
    "combination": 3,
    "composite": 3,
    "record": 3,
    "new_reward": 3,
    "changes": 3,
    "spread": 3,
    "scoring": 3,
    "preflight": 4,
    "new_run": 4,
    "bulk": 4,
    "recorded": 4,
    "replay": 4,
    "training": 4,
    "testing": 4,
    "cli": 5,
}
# Arrows between two modules of one level; there are no others.
SAME_LEVEL = {
    ("table", "outcome"),
    ("reward", "tag"),
    ("catalog", "discovery"),
    ("reader", "sections"),
    ("source", "sections"),
    ("graph", "sections"),
    ("loading", "dataset"),
    ("loading", "looking"),
    ("loading", "overlap"),
    ("overlap", "looking"),
    ("config", "looking"),
    ("training", "preflight"),
    ("training", "recorded"),
    ("replay", "recorded"),
    ("new_run", "preflight"),
    ("config", "scoring"),  # a config checks a TRL-style function as it will be called
    ("entry", "scoring"),
    ("entry", "totals"),
    ("combination", "config"),
    ("combination", "entry"),
    ("combination", "totals"),
    ("composite", "combination"),
    ("composite", "totals"),
    ("composite", "entry"),
    ("composite", "config"),
    ("composite", "scoring"),
    ("causes", "totals"),
}
HEAVY = {"accelerate", "datasets", "peft", "torch", "transformers", "trl"}
# A distribution or module of a plugin; "__grpo_reward__" is the tag of @reward.
PLUGIN_NAME = re.compile(r"grpo-reward-|grpo_reward_(?!_)")
# The pip line for a plugin that is not installed is made of the prefix alone.
PIP_PREFIX = {("catalog", "grpo-reward-")}


def problems(root: Path) -> list[str]:
    """What breaks the rules in a repository: "file:line: what", in order."""
    core = root / "grpo_core"
    public = public_names(core)
    found = []
    for path in sorted(core.rglob("*.py")):
        parts = path.relative_to(core).with_suffix("").parts
        if parts[0] == "templates":
            continue  # text with blanks, not code
        tree = ast.parse(path.read_text(encoding="utf-8"))
        check = core_problems if parts[0] != "demo" else plugin_problems
        module = ".".join(("grpo_core", *parts))
        found += [f"{path.relative_to(root)}:{text}" for text in check(tree, module, public)]
    for path in sorted((root / "plugins").rglob("*.py")):
        own = path.relative_to(root / "plugins").parts[0].replace("-", "_")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(root)}:{t}" for t in plugin_problems(tree, own, public)]
    return found


def public_names(core: Path) -> dict[str, str]:
    """The public names with the module each is from."""
    tree = ast.parse((core / "__init__.py").read_text(encoding="utf-8"))
    return {
        alias.name: node.module.split(".")[1]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grpo_core.")
        for alias in node.names
    }


def imports(tree: ast.AST, module: str) -> Iterator[tuple[int, str, str]]:
    """Line, module and name ("" for the module itself) of every import, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*module.split(".")[: -node.level], *filter(None, [base])])
            yield from ((node.lineno, base, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).rsplit(".", 1)[-1]
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield node.lineno, str(first.value), ""


def core_problems(tree: ast.Module, module: str, public: dict[str, str]) -> Iterator[str]:
    source = module.split(".")[1]
    if source not in LEVELS and source != "__init__":
        yield f"1: {source} has no level; give it one in tests/test_layers.py"
        return
    for line, base, name in imports(tree, module):
        top = base.split(".")[0]
        if top in HEAVY and source != "training":
            yield f"{line}: only training may import {top}"
        if top == "pytest" and source != "testing":
            yield f"{line}: only testing may import pytest"
        if PLUGIN_NAME.match(top):
            yield f"{line}: the core imports no plugin, not even {top}"
        if top == "grpo_core" and source != "__init__":
            yield from core_arrow(line, source, target_of(base, name, public))
    for line, text in strings(tree):
        if PLUGIN_NAME.search(text) and (source, text) not in PIP_PREFIX:
            yield f"{line}: the core names no plugin: {text!r}"


def target_of(base: str, name: str, public: dict[str, str]) -> str:
    """The module of the core that an import leads to; "" for the package itself."""
    if "." in base:
        return base.split(".")[1]
    return public.get(name, name)


def core_arrow(line: int, source: str, target: str) -> Iterator[str]:
    if target == source:
        return
    if target == "":
        if source != "cli":
            yield f"{line}: {source} imports the whole package; import the module"
    elif target not in LEVELS:
        yield f"{line}: {source} imports {target}, which has no level"
    elif target == "training" and source != "cli":
        yield f"{line}: only cli may import training, not {source}"
    elif target in ("testing", "cli"):
        yield f"{line}: {source} imports {target}, which is for people, not for the core"
    elif LEVELS[target] > LEVELS[source]:
        yield f"{line}: {source} (L{LEVELS[source]}) imports {target} (L{LEVELS[target]})"
    elif LEVELS[target] == LEVELS[source] and (source, target) not in SAME_LEVEL:
        yield f"{line}: no arrow from {source} to {target} inside L{LEVELS[source]}"


def plugin_problems(tree: ast.Module, own: str, public: dict[str, str]) -> Iterator[str]:
    for line, base, name in imports(tree, own):
        top, *rest = base.split(".")
        if PLUGIN_NAME.match(top) and top != own:
            yield f"{line}: {own} imports another plugin, {top}"
        if top == "grpo_core" and rest[:1] != ["testing"]:
            if rest:
                yield f"{line}: {own} imports {base}, which is not public"
            elif name and name not in public and name != "testing":
                yield f"{line}: {own} imports {name}, which is not public"


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every string that is no docstring."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings:
                yield node.lineno, node.value


def test_repository_keeps_the_rules():
    assert problems(REPOSITORY) == []


def test_repository_is_found():
    assert (REPOSITORY / "grpo_core" / "errors.py").is_file()


# The rules on small trees

INIT = """
from grpo_core.reward import reward
if TYPE_CHECKING:
    from grpo_core.training.seam import to_trl
"""


@pytest.fixture
def judge(tmp_path):
    """Writes one file into an otherwise clean repository and returns what is wrong with it."""

    def write(name, source):
        for path, text in (("grpo_core/__init__.py", INIT), (name, source)):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return problems(tmp_path)

    return write


BAD = [
    ("errors", "from grpo_core.outcome import Score", "no arrow from errors to outcome inside L0"),
    ("completion", "from grpo_core import reward", "completion (L0) imports reward (L1)"),
    ("reward", "from grpo_core.catalog import Catalog", "reward (L1) imports catalog (L2)"),
    ("hookspecs", "from grpo_core import reward", "no arrow from hookspecs to reward inside L1"),
    ("discovery", "import grpo_core.catalog", "no arrow from discovery to catalog inside L2"),
    ("catalog", "from grpo_core import config", "catalog (L2) imports config (L3)"),
    ("config", "from grpo_core.composite import x", "no arrow from config to composite inside L3"),
    ("record", "from grpo_core.dataset import x", "no arrow from record to dataset inside L3"),
    ("dataset", "from .record import x", "no arrow from dataset to record inside L3"),
    ("totals", "from grpo_core.scoring.checks import x", "no arrow from totals to scoring inside"),
    ("scoring/pool", "from ..composite import x", "no arrow from scoring to composite inside L3"),
    ("scoring/pool", "from grpo_core.training.seam import x", "only cli may import training"),
    ("composite", "from grpo_core import to_trl", "only cli may import training, not composite"),
    ("composite", "import grpo_core", "composite imports the whole package"),
    ("testing/kit", "from grpo_core.training import x", "only cli may import training"),
    ("training/seam", "from grpo_core.cli import x", "training imports cli, which is for people"),
    ("config", "from grpo_core.testing import x", "config imports testing, which is for people"),
    ("helpers", "x = 1", "helpers has no level"),
    (
        "catalog",
        "def f():\n    if True:\n        import torch",
        "3: only training may import torch",
    ),
    ("__init__", "import trl", "only training may import trl"),
    ("cli/train", "from transformers.utils import x", "only training may import transformers"),
    ("testing/kit", "import importlib\nimportlib.import_module('peft.x')", "2: only training may"),
    ("dataset", "x = __import__('datasets')", "only training may import datasets"),
    ("cli/new", "import pytest", "only testing may import pytest"),
    ("catalog", "import grpo_reward_math", "the core imports no plugin, not even grpo_reward_math"),
    ("config", "def f():\n    return 'grpo-reward-format'", "2: the core names no plugin"),
    ("config", "x = f'pip install grpo-reward-{y}'", "the core names no plugin"),
    ("catalog", "x = 'grpo-reward-math'", "the core names no plugin"),
    (
        "demo/task",
        "from grpo_core.catalog import Catalog",
        "grpo_core.catalog, which is not public",
    ),
]


@pytest.mark.parametrize(("module", "source", "expected"), BAD)
def test_core_file_that_breaks_a_rule_is_named(judge, module, source, expected):
    [found] = judge(f"grpo_core/{module}.py", source)

    assert found.startswith(f"grpo_core/{module}.py:")
    assert expected in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("errors", "import difflib"),
        ("table", "from grpo_core.outcome import Outcome"),
        ("catalog", "from grpo_core import discovery\nP = 'grpo-reward-'"),
        ("composite", "from grpo_core.config import x\nfrom grpo_core.scoring.engine import y"),
        ("scoring/worker", "from grpo_core.catalog import x\nfrom .inline import y"),
        ("training/seam", "import torch\nfrom grpo_core.composite import x"),
        ("training/__init__", "from importlib.util import find_spec\nfind_spec('trl')"),
        ("cli/train", "import grpo_core\ndef f():\n    from grpo_core.training.run import x"),
        ("testing/kit", "import pytest\nfrom grpo_core.composite import x"),
        ("reward", "'''Such as grpo-reward-math.'''\nTAG = '__grpo_reward__'"),
        ("catalog", "from importlib.util import find_spec\nfind_spec('torch')"),
        ("templates/reward/plugin", "import {{ this is no Python"),
        ("demo/task", "from grpo_core import reward\nX = 'grpo-reward-format'"),
    ],
)
def test_core_file_that_keeps_the_rules_passes(judge, module, source):
    assert judge(f"grpo_core/{module}.py", source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from grpo_core.completion import Completion", "grpo_core.completion, which is not publ"),
        ("from grpo_core import discovery", "discovery, which is not public"),
        ("import grpo_core.catalog", "imports grpo_core.catalog, which is not public"),
        ("def f():\n    import grpo_reward_math.parse", "imports another plugin, grpo_reward_math"),
    ],
)
def test_plugin_that_breaks_a_rule_is_named(judge, source, expected):
    [found] = judge("plugins/grpo-reward-short/grpo_reward_short/x.py", source)

    assert found.startswith("plugins/grpo-reward-short/grpo_reward_short/x.py:")
    assert expected in found


def test_plugin_with_public_names_and_its_own_modules_passes(judge):
    source = (
        "from grpo_core import reward\nfrom grpo_core.testing import check\n"
        "import grpo_reward_short.parse\nfrom .parse import y\nimport numpy"
    )

    assert judge("plugins/grpo-reward-short/grpo_reward_short/x.py", source) == []
