"""Which errors of a test a context manager of the program may end.

`with Suppress(ValueError): int("x")` tests the context. `with open_db() as db: assert db["k"] == 5`
does not: there the error is that of the test, whatever its kind.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import sys
from types import TracebackType

FILES = ("<test>", "<setup>")
_BRANCHES = (ast.If, ast.Try, ast.For, ast.While, ast.Match, ast.ExceptHandler, ast.AsyncFor)
_ENDS = (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


def may_be_swallowed(error: BaseException) -> bool:
    """True of an error that the test raises on purpose, with nothing that the program gave.

    That is a `raise` that stands in no branch, or an expression of constants and built-ins such as
    `1 / 0`; and never an assertion.
    """
    if not isinstance(error, Exception) or isinstance(error, AssertionError):
        return False
    if is_of_program(error):
        return False
    found = _raising(error.__traceback__)
    if found is None:
        return False
    node, parents = found
    above: ast.AST = node
    while not isinstance(above, _ENDS):
        if isinstance(above, _BRANCHES):
            return False
        above = parents[above]
    if isinstance(node, ast.Raise):
        return True
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return all(hasattr(builtins, name) or name in sys.stdlib_module_names for name in names)


def is_of_program(error: BaseException) -> bool:
    """True of an exception that came from the program."""
    return bool(getattr(error, "__dict__", {}).get("_grpo_remote"))


def _raising(tb: TracebackType | None) -> tuple[ast.AST, dict[ast.AST, ast.AST]] | None:
    """The part of the test that raised, and what each part stands in."""
    last = None
    while tb is not None:
        last = tb if tb.tb_frame.f_code.co_filename in FILES else last
        tb = tb.tb_next
    if last is None:
        return None
    code = last.tb_frame.f_code
    line, end_line, column, end_column = list(code.co_positions())[last.tb_lasti // 2]
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    at = (line, column, end_line, end_column)
    for node in parents:
        if (
            isinstance(node, ast.stmt | ast.expr)
            and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == at
        ):
            return (parents[node] if isinstance(parents[node], ast.Expr) else node), parents
    return None
