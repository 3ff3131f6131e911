"""`JUNK`: texts that models do write and that no reward may break on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_MB = 1_000_000

JUNK: Mapping[str, str] = MappingProxyType(
    {
        "empty": "",
        "blanks": " \n\t\r\n\u00a0\u3000",
        "one character": ".",
        "NUL": "\x00a\x00",
        "lone surrogates": "\ud800 a \udfff",
        "zero width": "\u200b\ufeff\u2060",
        "combining marks": "e" + "\u0301" * 1000,
        "right to left": "\u202e42\u202c",
        "unclosed tag": "<think>\na\n<answer>4",
        "half a tag": "<answer",
        "closing tags": "</answer></think>",
        "nested tags": "<think><think><answer><answer>4</answer></answer></think></think>",
        "special tokens": "<|im_start|>assistant\n4<|im_end|><|endoftext|>",
        "code": "```python\nimport sys\nsys.exit(0)\n```",
        "unclosed fence": "```python\nwhile True: pass",
        "JSON": '{"answer": 4, "answer": [NaN, {"a": null}]}',
        "broken JSON": '{"answer": [4',
        "LaTeX": r"\boxed{\frac{1}{0}} \boxed{",
        "format fields": "%s %d {} {0} {answer} ${answer} \\1 \\g<0>",
        "pattern": "(a+)+$ [z-a] (?P<x>*) \\",
        "path": "../../../etc/passwd",
        "no number": "nan inf -inf 1e999 0x 1/0 \u0664\u0662",
        "long number": "9" * 10_000,
        "deep nesting": "(" * 20_000 + "[" * 20_000 + "{" * 20_000,
        "1 MB of one letter": "a" * _MB,
        "1 MB of blanks": " " * _MB,
        "1 MB of words": "word, " * (_MB // 6),
        "1 MB of lines": "a\n" * (_MB // 2),
        "1 MB of opening tags": "<think>" * (_MB // 7),
    }
)
