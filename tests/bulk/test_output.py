"""The file of scores: whole or not at all, never over another, and resumable."""

import json

import pytest

from grpo_core.bulk import output as module
from grpo_core.bulk.output import Output
from grpo_core.errors import DataError

IDENTITY = {"data": {"sha256": "aa"}, "rewards": {"tags": {"weight": 1.0}}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.jsonl"


def stopped(path, *lines):
    """A partial file as a run leaves it that was stopped in order."""
    output = Output(path, IDENTITY, resume=False)
    for number, line in enumerate(lines):
        output.write([line], number)
    output.close()


def files(path):
    return sorted(p.name for p in path.parent.iterdir())


def test_file_appears_at_the_end_and_the_rest_is_gone(path):
    output = Output(path, IDENTITY, resume=False)
    output.write(['{"a": 1}', '{"a": "é"}'], None)
    assert files(path) == ["out.jsonl.partial", "out.jsonl.partial.json"]

    output.finish()

    assert path.read_text("utf-8") == '{"a": 1}\n{"a": "é"}\n'
    assert files(path) == ["out.jsonl"]


def test_existing_file_is_refused_and_left_alone(path):
    path.write_text("mine")

    with pytest.raises(DataError, match=r"out.jsonl exists already and is not overwritten"):
        Output(path, IDENTITY, resume=False)

    assert (path.read_text(), files(path)) == ("mine", ["out.jsonl"])


@pytest.mark.parametrize("links", [True, False])
def test_file_that_came_meanwhile_is_not_overwritten(path, monkeypatch, links):
    output = Output(path, IDENTITY, resume=False)
    output.write(["{}"], None)
    path.write_text("another's")
    if not links:
        monkeypatch.setattr(module.os, "link", no_links)

    with pytest.raises(DataError, match=r"exists already"):
        output.finish()

    assert path.read_text() == "another's"
    assert (path.parent / "out.jsonl.partial").read_text() == "{}\n"


def no_links(source, target):
    raise PermissionError(1, "Operation not permitted")


def test_without_hard_links_the_file_is_renamed(path, monkeypatch):
    monkeypatch.setattr(module.os, "link", no_links)
    output = Output(path, IDENTITY, resume=False)
    output.write(["{}"], None)

    output.finish()

    assert (path.read_text(), files(path)) == ("{}\n", ["out.jsonl"])


def test_resume_goes_on_behind_the_last_whole_row(path):
    stopped(path, "1", "2")
    with (path.parent / "out.jsonl.partial").open("a") as file:
        file.write('{"half of a li')

    output = Output(path, IDENTITY, resume=True)
    assert (output.n_rows, output.state) == (2, 1)
    output.write(["3"], 2)
    output.finish()

    assert path.read_text() == "1\n2\n3\n"


def test_partial_file_is_not_begun_anew(path):
    stopped(path, "1")

    with pytest.raises(DataError, match=r"out.jsonl.partial is there from a run that was stopped"):
        Output(path, IDENTITY, resume=False)

    assert (path.parent / "out.jsonl.partial").read_text() == "1\n"


def test_resume_of_something_else_says_what_differs(path):
    stopped(path, "1")
    other = {"data": {"sha256": "bb"}, "rewards": {"tags": {"weight": 0.5}, "new": {}}}

    with pytest.raises(DataError) as caught:
        Output(path, other, resume=True)

    assert "made of something else: " in str(caught.value)
    assert 'data.sha256 was "aa" and is "bb"' in str(caught.value)
    assert "rewards.tags.weight was 1.0 and is 0.5" in str(caught.value)
    assert "rewards.new was null and is {}" in str(caught.value)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rows": 1}', None])
def test_resume_with_a_broken_sidecar_is_refused(path, content):
    stopped(path, "1")
    sidecar = path.parent / "out.jsonl.partial.json"
    if content is None:
        sidecar.unlink()
    else:
        sidecar.write_text(content)

    with pytest.raises(DataError, match=r"cannot be resumed: .*partial.json cannot be read"):
        Output(path, IDENTITY, resume=True)


def test_resume_of_a_file_that_was_cut_off_is_refused(path):
    stopped(path, "1", "2")
    (path.parent / "out.jsonl.partial").write_text("1\n")

    with pytest.raises(DataError, match=r"cannot be resumed: it was cut off"):
        Output(path, IDENTITY, resume=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rows", -1),
        ("rows", 1),
        ("rows", True),
        ("bytes", 2),
        ("bytes", -4),
        ("state", {"total": 7}),
        ("state", None),
        ("identity", {}),
        ("sha256", "00"),
    ],
)
def test_resume_with_an_edited_sidecar_is_refused(path, key, value):
    stopped(path, "1", "2")
    sidecar = path.parent / "out.jsonl.partial.json"
    saved = json.loads(sidecar.read_text())
    sidecar.write_text(json.dumps({**saved, key: value}))

    with pytest.raises(DataError, match=r"partial.json was changed since it was written; remove"):
        Output(path, IDENTITY, resume=True)

    assert (path.parent / "out.jsonl.partial").read_text() == "1\n2\n"


@pytest.mark.parametrize("content", ["1\n3\n", "1 2\n", "12\n\n"])
def test_resume_of_an_edited_file_is_refused(path, content):
    stopped(path, "1", "2")
    (path.parent / "out.jsonl.partial").write_text(content)

    with pytest.raises(DataError, match=r"cannot be resumed: it was changed since it was written"):
        Output(path, IDENTITY, resume=True)


def test_resume_twice_goes_on(path):
    stopped(path, "1")
    output = Output(path, IDENTITY, resume=True)
    output.write(["2"], 1)
    output.close()

    output = Output(path, IDENTITY, resume=True)

    assert (output.n_rows, output.state) == (2, 1)
    output.close()


def test_resume_without_a_partial_file_is_refused(path):
    with pytest.raises(DataError, match=r"cannot be resumed: there is no .*out.jsonl.partial"):
        Output(path, IDENTITY, resume=True)


def test_absent_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"cannot be written: its folder is absent"):
        Output(tmp_path / "no" / "out.jsonl", IDENTITY, resume=False)


def test_partial_file_in_use_is_refused(path):
    pytest.importorskip("fcntl")
    output = Output(path, IDENTITY, resume=False)

    with pytest.raises(DataError, match=r"is being written by another process"):
        Output(path, IDENTITY, resume=True)

    output.close()


def test_half_of_a_surrogate_pair_is_replaced(path):
    output = Output(path, IDENTITY, resume=False)

    output.write([json.dumps({"reason": "\ud800"}, ensure_ascii=False)], None)
    output.finish()

    assert path.read_text("utf-8") == '{"reason": "?"}\n'
