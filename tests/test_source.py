"""What `[data] path` leads to, and the rows it gives."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_core.errors import DataError, MissingExtraError
from grpo_core.sections import DataSection
from grpo_core.source import chosen_rows, held_out, load, locate

FUNCTIONS = """
from grpo_sibling import ROWS

def rows():
    return ROWS

def generated():
    yield from ROWS

def endless():
    n = 0
    while True:
        yield {"prompt": str(n)}
        n += 1

def late():
    yield {"prompt": "a"}
    raise ValueError("no more")

def leaves():
    raise SystemExit(3)

def text():
    return "x"

def columns():
    return {"prompt": ["x"]}

def numbers():
    return [{"prompt": "a"}, 5]

def keys():
    return [{1: "a"}]

def raises():
    raise RuntimeError("no disk")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The config's folder, which is not the working directory."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    config = tmp_path / "config"
    (config / "data").mkdir(parents=True)
    (config / "my_rows.py").write_text(FUNCTIONS)
    (config / "grpo_sibling.py").write_text("ROWS = [{'prompt': 'a'}, {'prompt': 'b'}]\n")
    yield config
    for name in ("my_rows", "grpo_sibling"):
        sys.modules.pop(name, None)


def write(path: Path, n: int) -> None:
    path.write_text("".join(json.dumps({"prompt": f"p{i}"}) + "\n" for i in range(n)))


def prompts(folder: Path, path: str, **keys: Any) -> list[str]:
    loaded = load(DataSection(path=path, **keys), folder, None, "data")
    return [row["prompt"] for row in loaded.rows]


def error(folder: Path, path: str, **keys: Any) -> str:
    with pytest.raises(DataError) as caught:
        load(DataSection(path=path, **keys), folder, None, "data")
    return str(caught.value).replace(f"{folder}/", "")


def test_locate_what_exists_goes_before_a_hub_name_and_a_function(folder):
    (folder / "org").mkdir()
    (folder / "org/name").mkdir()
    (folder / "data:rows").touch()

    assert locate("org/name", folder) == ("folder", str(folder / "org/name"))
    assert locate("data:rows", folder) == ("file", str(folder / "data:rows"))
    assert locate("data", folder).kind == "folder"


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("dataset_dict.json",), "saved"),
        (("state.json", "dataset_info.json"), "saved"),
        (("state.json",), "folder"),
    ],
)
def test_locate_folder_of_save_to_disk_is_known_by_its_files(folder, names, kind):
    for name in names:
        (folder / "data" / name).touch()

    assert locate("data", folder).kind == kind


@pytest.mark.parametrize("name", ["openai/gsm8k", "AI-MO/NuminaMath-1.5", "a/b_c"])
def test_locate_one_slash_and_nothing_of_a_path_is_a_hub_name(folder, name):
    assert locate(name, folder) == ("hub", name)


@pytest.mark.parametrize("name", ["my_rows:rows", "package.module:rows", "a/b.py:rows"])
def test_locate_a_colon_and_a_name_is_a_function(folder, name):
    assert locate(name, folder) == ("function", name)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("org/train.jsonl", "there is no data file org/train.jsonl"),
        ("org/train.csv", "there is no data file org/train.csv"),
        ("./org/name", "there is no data file org/name"),
        ("../name", "there is no data file ../name"),
        ("https://x.org/a.jsonl", "'https://x.org/a.jsonl' is a URL, and none is read; save it"),
        ("hf://datasets/a", "'hf://datasets/a' is a URL, and none is read; save it beside"),
        ("a/b/c", "there is no data file a/b/c"),
        ("org/", "there is no data file org"),
        ("gsm8k", "there is no data file gsm8k; a hub name is <owner>/<name>"),
        ("dat", "there is no data file dat. Did you mean 'data'?"),
        ("data/train", "there is no data file data/train; no hub name, since its folder exists"),
        ("x\0y", "there can be no data file 'x\\x00y'"),
    ],
)
def test_locate_what_looks_like_a_path_is_never_downloaded(folder, path, said):
    assert error(folder, path).startswith(said)


def test_locate_absolute_path_that_is_not_there_is_refused(folder):
    with pytest.raises(DataError, match="there is no data file /nowhere/at-all"):
        locate("/nowhere/at-all", folder)


def test_locate_hub_name_that_is_a_folder_of_the_working_directory_is_refused(folder):
    Path("org/name").mkdir(parents=True)

    text = error(folder, "org/name")

    assert "there is one in the working directory, but paths are relative to the config" in text


def test_load_file_has_its_hash_and_places(folder):
    (folder / "d.jsonl").write_bytes(b'\n{"prompt": "x"}\n')

    loaded = load(DataSection(path="d.jsonl"), folder, None, "data")

    assert loaded.rows == [{"prompt": "x"}]
    assert str(loaded.places[0]) == f"{folder}/d.jsonl, line 2"
    assert loaded.fingerprint == {
        "path": str(folder / "d.jsonl"),
        "sha256": hashlib.sha256(b'\n{"prompt": "x"}\n').hexdigest(),
    }


def test_load_folder_has_the_files_in_order_with_their_hashes(folder):
    (folder / "data/b.jsonl").write_text('{"prompt": "2"}')
    (folder / "data/a.json").write_text('[{"prompt": "1"}]')
    (folder / "data/c.jsonl").write_text("")

    loaded = load(DataSection(path="data"), folder, None, "data")

    assert [row["prompt"] for row in loaded.rows] == ["1", "2"]
    assert list(loaded.fingerprint["files"]) == ["a.json", "b.jsonl", "c.jsonl"]
    assert loaded.fingerprint["files"]["c.jsonl"] == hashlib.sha256(b"").hexdigest()


def test_load_split_of_a_folder(folder):
    write(folder / "data/train.jsonl", 2)
    write(folder / "data/test.jsonl", 1)

    assert prompts(folder, "data", split="test") == ["p0"]
    assert prompts(folder, "data", split="train") == ["p0", "p1"]
    assert error(folder, "data") == (
        f"folder {folder / 'data'} holds the splits test, train; say which one with split"
    ).replace(f"{folder}/", "")


def test_load_limit_takes_the_first_rows_and_reads_no_further(folder):
    (folder / "d.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\nbroken\n')

    assert prompts(folder, "d.jsonl", limit=2) == ["a", "b"]
    assert "line 3" in error(folder, "d.jsonl", limit=3)


def test_load_seed_shuffles_before_the_limit(folder):
    write(folder / "d.jsonl", 100)

    shuffled = prompts(folder, "d.jsonl", seed=7)
    first = prompts(folder, "d.jsonl", seed=7, limit=5)

    assert sorted(shuffled) == sorted(f"p{i}" for i in range(100))
    assert first == shuffled[:5]
    assert first != prompts(folder, "d.jsonl", seed=8, limit=5)


def test_load_shuffled_rows_keep_their_places(folder):
    write(folder / "d.jsonl", 20)

    loaded = load(DataSection(path="d.jsonl", seed=1, limit=6), folder, None, "data")

    assert [f"p{place.number - 1}" for place in loaded.places] == [
        row["prompt"] for row in loaded.rows
    ]


def test_chosen_rows_of_a_seed_are_always_these():
    assert list(chosen_rows(6, None, 0)) == [3, 5, 0, 1, 2, 4]
    assert list(chosen_rows(6, 9, None)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("n", "fraction", "k"), [(100, 0.05, 5), (10, 0.01, 1), (7, 0.5, 4)])
def test_held_out_rows_are_the_share_and_at_least_one(n, fraction, k):
    out = held_out(n, fraction, 0)

    assert len(out) == k
    assert out == sorted(set(out))
    assert set(out) <= set(range(n))


def test_held_out_rows_depend_on_the_seed_alone():
    assert held_out(1000, 0.01, 3) == held_out(1000, 0.01, 3)
    assert held_out(1000, 0.01, 3) != held_out(1000, 0.01, 4)


@pytest.mark.parametrize("name", ["my_rows:rows", "my_rows:generated", "my_rows.py:rows"])
def test_load_function_beside_the_config_gives_its_rows(folder, name):
    before = list(sys.path)

    loaded = load(DataSection(path=name), folder, None, "data")

    assert [row["prompt"] for row in loaded.rows] == ["a", "b"]
    assert str(loaded.places[1]) == f"{name}, row 1"
    assert loaded.fingerprint["path"] == name
    assert len(loaded.fingerprint["sha256_of_rows"]) == 64
    assert sys.path == before


@pytest.mark.parametrize("package", [False, True])
def test_load_function_of_a_file_elsewhere_sees_what_lies_beside_it(folder, package):
    code = folder.parent / ("in_package" if package else "plain")
    code.mkdir()
    module = "in_package.texts_of_a_package" if package else "texts_beside"
    (code / f"{module.rpartition('.')[2]}.py").write_text("TEXT = 'from beside'\n")
    (code / "elsewhere.py").write_text(
        f"from {module} import TEXT\ndef rows():\n    return [{{'prompt': TEXT}}]\n"
    )
    if package:
        (code / "__init__.py").write_text("")

    loaded = load(DataSection(path=f"../{code.name}/elsewhere.py:rows"), folder, None, "data")

    assert [row["prompt"] for row in loaded.rows] == ["from beside"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my_rows:row", "my_rows:row: my_rows has no function 'row'. Did you mean 'rows'?"),
        ("my_rows:text", "my_rows:text returned str: 'x'; expected rows (a list of dictionaries)"),
        ("my_rows:columns", "my_rows:columns returned dict: {'prompt': ['x']}; expected rows ("),
        ("my_rows:numbers", "my_rows:numbers, row 1: expected a dictionary with texts as keys, go"),
        ("my_rows:keys", "my_rows:keys, row 0: expected a dictionary with texts as keys, got {1:"),
        ("my_rows:raises", "my_rows:raises raised: RuntimeError: no disk"),
        ("my_rows:late", "my_rows:late raised: ValueError: no more"),
        ("my_rows:leaves", "my_rows:leaves raised: SystemExit: 3"),
        ("gone_at_all:rows", "gone_at_all:rows: gone_at_all cannot be imported: ModuleNotFoundEr"),
        ("gone.py:rows", "gone.py:rows: there is no file gone.py"),
    ],
)
def test_load_function_that_gives_no_rows_is_named(folder, name, said):
    assert error(folder, name).startswith(said)


def test_load_function_is_asked_for_no_more_rows_than_the_limit(folder):
    assert prompts(folder, "my_rows:endless", limit=3) == ["0", "1", "2"]


def test_load_function_of_a_module_that_hides_the_one_beside_the_config_is_refused(folder):
    (folder / "json.py").write_text("def loads():\n    return []\n")

    assert "json was imported from " in error(folder, "json:loads")


def test_load_function_without_rows_is_refused(folder):
    (folder / "grpo_sibling.py").write_text("ROWS = []\n")

    assert error(folder, "my_rows:rows") == "my_rows:rows has no rows"


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.json"])
def test_load_empty_file_is_refused(folder, name):
    (folder / name).write_text("")

    assert error(folder, name) == f"{name} has no rows"


def test_load_split_or_configuration_of_a_file_is_refused(folder):
    write(folder / "d.jsonl", 1)

    assert error(folder, "d.jsonl", split="x") == (
        "d.jsonl is a file and has no split 'x'; leave it out"
    )
    assert error(folder, "d.jsonl", name="x") == (
        "data.name: only hub data sets have configurations; leave it out"
    )
    assert error(folder, "my_rows:rows", split="x") == (
        "my_rows:rows has no split 'x'; leave it out"
    )


def test_load_hub_name_without_the_library_names_the_extra(folder):
    with pytest.raises(MissingExtraError, match=r"reading org/name needs the extra 'train'"):
        load(DataSection(path="org/name"), folder, None, "data")


def test_load_folder_that_cannot_be_listed_is_named(folder, monkeypatch):
    def iterdir(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", iterdir)

    assert error(folder, "data").endswith("data cannot be read: Permission denied")


@pytest.mark.parametrize("path", ["~no-such-user/x.jsonl", "a" * 300 + "/x.jsonl", "b" * 5000])
def test_locate_path_that_cannot_be_says_so(folder, path):
    with pytest.raises(DataError, match=r"there (can be|is) no data file"):
        locate(path, folder)


def test_load_generator_that_reuses_one_dictionary_gives_each_row(folder):
    (folder / "my_rows.py").write_text(
        "def rows():\n    row = {}\n    for p in 'ab':\n"
        "        row['prompt'] = p\n        yield row\n"
    )

    assert prompts(folder, "my_rows:rows") == ["a", "b"]
