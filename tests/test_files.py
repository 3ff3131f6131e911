"""Reading data files: JSONL, JSON, CSV, Parquet, gzip, and whatever is wrong with them."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_core.errors import DataError, MissingExtraError
from grpo_core.files import files_in, read_jsonl, read_rows, splits_in


@pytest.fixture
def data(tmp_path: Path) -> Any:
    """Writes bytes into a data file and reads it."""

    def read(content: bytes) -> list[dict[str, Any]]:
        (tmp_path / "d.jsonl").write_bytes(content)
        return read_jsonl(tmp_path / "d.jsonl")

    return read


def test_read_jsonl_rows_are_in_order(data):
    assert data(b'{"a": 1}\n{"a": 2, "b": [null, true]}') == [{"a": 1}, {"a": 2, "b": [None, True]}]


def test_read_jsonl_byte_order_mark_crlf_and_blank_lines_are_no_rows(data):
    assert data(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \t\r\n{"a": 2}\r\n\n') == [{"a": 1}, {"a": 2}]


def test_read_jsonl_line_separator_in_a_text_is_no_line_end(data):
    assert data('{"a": "x\u2028y\u0085z"}\n{"a": "\\u2028"}'.encode()) == [
        {"a": "x\u2028y\u0085z"},
        {"a": "\u2028"},
    ]


def test_read_jsonl_escaped_surrogate_pair_is_one_character(data):
    assert data(b'{"a": "\\ud83d\\ude00"}') == [{"a": "😀"}]


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        (b"{'a': 1}", "expected a JSON object, got {'a': 1} (Expecting property name"),
        (b'{"a": 1,}', 'expected a JSON object, got {"a": 1,} ('),
        (b'{"a": 1} {"a": 2}', "Extra data"),
        (b"[1, 2]", "expected a JSON object, got [1, 2]"),
        (b'"text"', 'expected a JSON object, got "text"'),
        (b"null", "expected a JSON object, got null"),
        (b"42", "expected a JSON object, got 42"),
        (b'{"a": NaN}', "NaN is not JSON; write null or leave the row out"),
        (b'{"a": [-Infinity]}', "-Infinity is not JSON"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
        (b'{"a": {"x": 1, "x": 1}}', "the key 'x' is there twice"),
        (b'{"a": "\\ud83d"}', "surrogates not allowed"),
        (b'{"a": "\x01"}', "Invalid control character"),
        (b'{"a": ' + b"[" * 100_000, "recursion"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
    ],
)
def test_read_jsonl_bad_line_is_named(data, line, phrase):
    with pytest.raises(DataError) as caught:
        data(b'{"a": 1}\n\n' + line + b'\n{"a": 2}\n')

    assert ", line 3: expected a JSON object, got " in str(caught.value)
    assert phrase in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_read_jsonl_file_without_rows_is_refused(data, content):
    with pytest.raises(DataError, match="has no rows; expected one JSON object a line"):
        data(content)


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00", '{"a": 1}'.encode("utf-16")])
def test_read_jsonl_binary_file_is_refused(data, content):
    with pytest.raises(DataError, match="is not UTF-8 text"):
        data(content)


def test_read_jsonl_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"there is no data file .*gone\.jsonl"):
        read_jsonl(tmp_path / "gone.jsonl")


def test_read_jsonl_directory_is_refused(tmp_path):
    (tmp_path / "d.jsonl").mkdir()

    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_jsonl(tmp_path / "d.jsonl")


ROWS = [{"prompt": "2+2", "answer": "4"}, {"prompt": "ä\u2028", "answer": None}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
BOM = b"\xef\xbb\xbf"
CSV = "prompt,answer\n2+2,4\nä\u2028,\n".encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Writes a file and reads it: the places as texts without the folder, and the rows."""

    def read(name: str, content: bytes) -> tuple[list[str], list[dict[str, Any]]]:
        (tmp_path / name).write_bytes(content)
        found = list(read_rows(tmp_path / name))
        return [str(p).removeprefix(f"{tmp_path}/") for p, _ in found], [row for _, row in found]

    return read


@pytest.fixture
def refused(tmp_path: Path, file: Any) -> Any:
    """Writes a file that cannot be read, and returns what is said without the folder."""

    def error(name: str, content: bytes) -> str:
        with pytest.raises(DataError) as caught:
            file(name, content)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return error


@pytest.mark.parametrize(
    ("name", "content", "places"),
    [
        ("d.jsonl", LINES, ["d.jsonl, line 1", "d.jsonl, line 2"]),
        ("D.JSONL", b"\n" + LINES, ["D.JSONL, line 2", "D.JSONL, line 3"]),
        ("d.jsonl.gz", gzip.compress(LINES, mtime=0), ["d.jsonl.gz, line 1", "d.jsonl.gz, line 2"]),
        ("d.json", json.dumps(ROWS, indent=1).encode(), ["d.json, row 0", "d.json, row 1"]),
        ("d.json", BOM + json.dumps(ROWS).encode(), ["d.json, row 0", "d.json, row 1"]),
        ("d.csv", CSV, ["d.csv, line 2", "d.csv, line 3"]),
        (
            "d.csv",
            b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n"),
            ["d.csv, line 2", "d.csv, line 3"],
        ),
        (
            "d.csv.gz",
            gzip.compress(CSV + b"\n\n", mtime=0),
            ["d.csv.gz, line 2", "d.csv.gz, line 3"],
        ),
    ],
)
def test_read_rows_of_each_kind_gives_rows_and_places(file, name, content, places):
    assert file(name, content) == (places, ROWS)


def test_read_rows_of_parquet_gives_rows_and_places(file):
    assert file("d.parquet", parquet(ROWS)) == (["d.parquet, row 0", "d.parquet, row 1"], ROWS)


def test_read_rows_of_csv_cell_over_two_lines_is_one_cell(file):
    places, rows = file("d.csv", b'q,a\n"x\ny",1\nz,2\n')

    assert places == ["d.csv, line 2", "d.csv, line 4"]
    assert rows == [{"q": "x\ny", "a": "1"}, {"q": "z", "a": "2"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [("d.jsonl", b""), ("d.json", b" \n"), ("d.json", b"[]"), ("d.csv", b""), ("d.csv", b"a,b\n")],
)
def test_read_rows_of_an_empty_file_gives_none(file, name, content):
    assert file(name, content) == ([], [])


def test_read_rows_of_a_huge_line_is_one_row(file):
    places, rows = file("d.jsonl", b'{"a": "' + b"x" * 20_000_000 + b'"}\n{"a": "y"}\n')

    assert places == ["d.jsonl, line 1", "d.jsonl, line 2"]
    assert len(rows[0]["a"]) == 20_000_000


def test_read_rows_of_a_huge_csv_cell_is_one_cell(file):
    assert len(file("d.csv", b"a\n" + b"x" * 200_000 + b"\n")[1][0]["a"]) == 200_000


def test_read_rows_of_a_huge_broken_line_says_little(refused):
    text = refused("d.jsonl", b'{"a": "' + b"x" * 20_000_000)

    assert text.startswith("d.jsonl, line 1: expected a JSON object, got ")
    assert len(text) < 200


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("d.txt", b"x", "data file d.txt: expected a name that ends in .jsonl, .jsonl.gz, .json, "),
        ("d.jsonl", gzip.compress(LINES, mtime=0), "; it is gzip: put .gz behind its name"),
        ("d.jsonl", LINES.decode().encode("utf-16"), "; it is UTF-16: save it as UTF-8"),
        ("d.jsonl", b'{"a": 1}\n{"a": "\xe4"}\n', "d.jsonl, line 2 is not UTF-8 text: 'utf-8' cod"),
        (
            "d.jsonl.gz",
            LINES,
            "file d.jsonl.gz is not gzip, or is damaged: Not a gzipped file",
        ),
        (
            "d.jsonl.gz",
            gzip.compress(LINES, mtime=0)[:-12],
            "d.jsonl.gz is cut off: the gzip data has no ",
        ),
        ("d.jsonl.gz", gzip.compress(b"\x00\xff", mtime=0), "d.jsonl.gz, line 1 is not UTF-8 text"),
        ("d.json", LINES, "is not JSON: Extra data: line 2 column 1 (char 33); one object a line "),
        ("d.json", b'{"data": []}', 'd.json: expected a list of objects, got {"data": []}'),
        ("d.json", b'[{"a": 1}, 5]', "d.json, row 1: expected a JSON object, got 5"),
        ("d.json", b'[{"a": 1}, ', "d.json is not JSON: Expecting value"),
        ("d.json", b'[{"a": 1, "a": 2}]', "d.json is not JSON: the key 'a' is there twice"),
        ("d.csv", b"a,b,a\n1,2,3\n", "d.csv, line 1: the column 'a' is there twice; rename one"),
        ("d.csv", b"a,b\n1,2\n1,2,3\n", "d.csv, line 3: expected 2 cells (a, b), got 3"),
        ("d.csv", b'a,b\n1,"2\n', "d.csv, line 2: the CSV is broken: unexpected end of data"),
        ("d.csv", b"a\n\xe4\n", "d.csv is not UTF-8 text: 'utf-8' codec can't decode byte 0xe4"),
    ],
)
def test_read_rows_of_a_bad_file_says_what_it_is(refused, name, content, said):
    assert said in refused(name, content)


def test_read_rows_of_a_parquet_under_another_name_says_so(refused):
    assert "; it is Parquet: let its name end in .parquet" in refused("d.jsonl", parquet(ROWS))


@pytest.mark.parametrize("cut", [0, 3, 20, -1, -200])
def test_read_rows_of_a_truncated_parquet_is_refused(refused, cut):
    text = refused("d.parquet", parquet([{"a": "x" * i} for i in range(50)])[:cut])

    assert text.startswith("data file d.parquet is not Parquet, or is damaged: ")
    assert "\n" not in text


def test_read_rows_of_a_parquet_damaged_inside_is_refused(refused):
    content = bytearray(parquet([{"a": "xyz" * i} for i in range(50)]))
    content[10:200] = bytes(190)

    assert "is not Parquet, or is damaged" in refused("d.parquet", bytes(content))


def test_read_rows_of_json_lines_called_parquet_says_so(refused):
    pytest.importorskip("pyarrow")

    assert refused("d.parquet", LINES).endswith("; it is JSON: let its name end in .jsonl or .json")


def test_read_rows_of_a_parquet_with_a_column_twice_is_refused(refused):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")

    sink = pyarrow.BufferOutputStream()
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["a", "a"])
    pyarrow.parquet.write_table(table, sink)

    assert refused("d.parquet", sink.getvalue().to_pybytes()) == (
        "d.parquet: the column 'a' is there twice; rename one"
    )


def test_read_rows_of_parquet_without_pyarrow_names_the_extra(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r'pip install "grpo-core\[train\]"'):
        file("d.parquet", b"PAR1")
    assert file("d.jsonl", LINES)[1] == ROWS


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """Makes empty files and lists the data files of the folder."""

    def listed(*names: str, split: str | None = None) -> list[str]:
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        return [p.relative_to(tmp_path).as_posix() for p in files_in(tmp_path, split)]

    return listed


def test_files_in_a_folder_are_sorted_and_others_left_out(folder):
    assert folder("b.jsonl", "a.parquet", "c.csv.gz", "README.md", ".x.json", "_y.json") == [
        "a.parquet",
        "b.jsonl",
        "c.csv.gz",
    ]


def test_files_in_a_folder_of_one_split_are_all(folder):
    assert folder("train-0.parquet", "train-1.parquet") == ["train-0.parquet", "train-1.parquet"]


@pytest.mark.parametrize(
    ("names", "split", "expected"),
    [
        (("train.jsonl", "test.jsonl", "testing.jsonl"), "test", ["test.jsonl"]),
        (("train-0.csv", "train_1.csv", "trainer.csv"), "train", ["train-0.csv", "train_1.csv"]),
        (
            ("train/b.json", "train/a.json", "train.jsonl"),
            "train",
            ["train/a.json", "train/b.json"],
        ),
    ],
)
def test_files_in_a_folder_of_a_split_are_those_of_its_name(folder, names, split, expected):
    assert folder(*names, split=split) == expected


@pytest.mark.parametrize(
    ("names", "split", "said"),
    [
        ((), None, "has no data files: expected names that end in .jsonl"),
        (("a.txt", "b/x.jsonl"), None, ", got a.txt, b"),
        (("train.jsonl", "test.jsonl"), None, "holds the splits test, train; say which one with"),
        (
            ("train.jsonl",),
            "dev",
            "has no split 'dev': expected a folder or files of that name",
        ),
    ],
)
def test_files_in_a_folder_that_leave_it_open_are_refused(folder, names, split, said):
    with pytest.raises(DataError) as caught:
        folder(*names, split=split)

    assert said in str(caught.value)


def test_number_beyond_any_float_is_no_json(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "x": 1e999}\n')

    with pytest.raises(DataError, match=r"line 1: .*1e999 is beyond any float"):
        list(read_rows(tmp_path / "rows.jsonl"))


def test_splits_in_a_folder_are_what_its_data_files_begin_with(tmp_path):
    for name in ("train-0.csv", "train-1.csv", "test.jsonl", "trainer.csv", "dev.md", "_val.csv"):
        (tmp_path / name).touch()

    assert splits_in(tmp_path) == ["test", "train"]


@pytest.mark.parametrize("split", ["..", ".", "../other", "train/inner", "train/", "/etc"])
def test_files_in_a_folder_of_a_split_that_is_a_path_are_refused(folder, split):
    with pytest.raises(DataError, match="is a path; expected the name of a folder or of files in"):
        folder("train/a.jsonl", split=split)
