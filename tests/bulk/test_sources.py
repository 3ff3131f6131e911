"""Rows of JSONL and parquet files: what is read, and what a broken file is told."""

import gzip

import pytest

from grpo_core.bulk import sources
from grpo_core.bulk.sources import open_source
from grpo_core.errors import DataError


def rows_of(path, skip=0):
    return [located.row for located in open_source(path).rows(skip)]


def refusal(path):
    with pytest.raises(DataError) as caught:
        rows_of(path)
    return str(caught.value).replace(str(path), "FILE")


@pytest.fixture
def jsonl(tmp_path):
    def write(data, name="d.jsonl"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def test_rows_know_their_number_and_line(jsonl):
    source = open_source(jsonl('{"a": 1}\n\n{"a": 2}\n'))

    assert [(r.row, r.number, r.line, r.where) for r in source.rows()] == [
        ({"a": 1}, 0, 1, "row 0 (line 1)"),
        ({"a": 2}, 1, 3, "row 1 (line 3)"),
    ]


def test_skipped_rows_keep_the_numbers_of_the_others(jsonl):
    [row] = open_source(jsonl('{"a": 1}\n\n{"a": 2}\n')).rows(skip=1)

    assert (row.number, row.line) == (1, 3)


@pytest.mark.parametrize(
    "data",
    [
        b'\xef\xbb\xbf{"a": "\xc3\xa9"}\n',
        b'{"a": "\xc3\xa9"}\r\n\r\n',
        b'{"a": "\xc3\xa9"}',
        b' {"a": "\\u00e9"} \n \n',
    ],
    ids=["byte order mark", "CRLF", "no line end", "blanks"],
)
def test_harmless_forms_are_read(jsonl, data):
    assert rows_of(jsonl(data)) == [{"a": "é"}]


def test_line_separators_of_unicode_end_no_line(jsonl):
    assert rows_of(jsonl('{"a": "x\u2028y\x85z"}\n')) == [{"a": "x\u2028y\x85z"}]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}\n{"a": "\xe9"}\n', "FILE, line 2: not UTF-8 text: 'utf-8' codec can't decode"),
        (b'{"a": 1}\n{"a": 2', 'FILE, line 2: expected a JSON object, got {"a": 2 ('),
        (b'{"a": 1, "a": 2}', "the key 'a' is there twice)"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' is there twice)"),
        (b'{"a": NaN}', "NaN is not JSON; write null or leave the row out)"),
        (b'{"a": 1e999}', "1e999 is beyond any float)"),
        (b'{"a": "\\ud800"}', "surrogates not allowed)"),
        (b"[1]\n", "FILE, line 1: expected a JSON object, got [1]"),
        (b"[" * 100_000, "FILE, line 1: expected a JSON object, got [[["),
        (b'{"a": ' + b"1" * 5000 + b"}", "Exceeds the limit"),
        (b'{"a": "\x00"}', "Invalid control character"),
        (b'\xff\xfe{\x00"\x00', "FILE is UTF-16 text; save it as UTF-8"),
        (b"PAR1\x00", "FILE is parquet; name it .parquet"),
        (gzip.compress(b"{}", mtime=0), "FILE is gzip-compressed; name it .jsonl.gz"),
    ],
)
def test_broken_line_is_named(jsonl, data, expected):
    assert expected in refusal(jsonl(data))


def test_line_beyond_the_limit_is_refused_before_it_is_read_whole(jsonl, monkeypatch):
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 2**20)
    path = jsonl('{"a": 1}\n' + '{"a": "' + "x" * 2**20 + '"}\n')

    assert "FILE, line 2: longer than 1 MiB; expected one row a line" in refusal(path)


def test_line_at_the_limit_is_read(jsonl, monkeypatch):
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 11)

    assert rows_of(jsonl('{"a": "xy"}')) == [{"a": "xy"}]


def test_gzip_is_read(jsonl):
    path = jsonl(gzip.compress(b'{"a": 1}\n{"a": 2}\n', mtime=0), "d.jsonl.gz")

    assert rows_of(path) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}\n', "FILE, line 1: no gzip data, or it is broken or cut off: Not a gzipped"),
        (gzip.compress(b'{"a": 1}\n', mtime=0)[:-9], "no gzip data, or it is broken or cut off"),
        (gzip.compress(b"\x89PNG\r\n", mtime=0), "FILE, line 1: not UTF-8 text"),
    ],
    ids=["no gzip", "cut off", "gzip of something else"],
)
def test_broken_gzip_is_named(jsonl, data, expected):
    assert expected in refusal(jsonl(data, "d.jsonl.gz"))


@pytest.mark.parametrize("name", ["d.json", "d.csv", "d", "d.gz"])
def test_other_names_are_refused(jsonl, name):
    assert "FILE: expected a name in .jsonl, .jsonl.gz or .parquet" in refusal(jsonl("{}", name))


def test_absent_file_and_folder_are_refused(tmp_path):
    assert refusal(tmp_path / "no.jsonl") == "there is no data file FILE"
    assert refusal(tmp_path) == "data file FILE is a folder; name a file in it"
