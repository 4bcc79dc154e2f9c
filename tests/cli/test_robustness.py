"""Whatever a user may give: the commands for a model of one's own answer, or say in one line what is wrong."""

import errno
import io
import re
import shutil
import sys
from unittest import mock

import pytest

from protoglot.ngram import NGram
from protoglot.reading.reader import Reader
from protoglot.trained import save_trained
from protoglot.vocabulary import Vocabulary
from test_language_learning import tuned_prior
from tiny import babble, tiny_adapted, tiny_trained
from tiny_scorer import tiny_scorer

TEXTS = {  # content of a file, and what the error names; nothing where there is none
    "one word": (b"ab", None),
    "one letter": (b"a\n", None),
    "crlf and byte-order mark": ("\ufeffab ab\r\nb\r\n".encode(), None),
    "utf-16": ("ab ab\n".encode("utf-16"), None),
    "emoji": ("👩‍👩‍👧 ab 🎉\n".encode(), None),
    "right to left": ("שלום עולם\nمرحبا بالعالم\n".encode(), None),
    "mixed scripts": ("ab жук 漢字 שלום हिन्दी ab\n".encode(), None),
    "marks alone": ("\u0301" * 50 + "\n", None),
    "controls within": (b"a\x00b\x1b[31m\n" + b"ab\n" * 20, None),
    "markup": (b"<script>alert(1)</script> & \"'\n", None),
    "empty": (b"", "no text"),
    "blank lines": (b"\n \n\t\r\n", "no text"),
    "byte-order mark alone": ("\ufeff".encode(), "no text"),
    "invalid utf-8": (b"ab\nab \xff\n", "line 2, byte 6: invalid UTF-8"),
    "cut utf-8": ("ab é".encode()[:-1], "invalid UTF-8"),
    "binary": (bytes(1000), "NUL bytes"),
    "endless line": (b"a" * 100_001, "more than 100,000 characters"),
    "a line of 10 MB": (b"ab " * 3_500_000, "more than 100,000 characters"),
}
COMMANDS = {  # with a text
    "score": lambda model, text, folder: (
        *("score", model, text, "--lines", "--heat-map", folder / "m.html", "--characters", folder / "c.tsv"),
    ),
    "identify": lambda model, text, folder: ("identify", model, "--text", text),
}


@pytest.fixture(scope="module", autouse=True)
def _a_small_scorer():
    with pytest.MonkeyPatch.context() as patch:
        for module in ("api", "reader_model"):
            patch.setattr(f"protoglot.{module}.shipped_scorer", tiny_scorer)
        yield


@pytest.fixture(scope="module", params=["network", "reader"])
def model(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("robust") / "model"
    if request.param == "network":
        tiny_adapted().save(path)
    else:
        reader = Reader(tiny_scorer(), language="wol")
        reader.read("".join(f"{sentence}\n" for sentence in babble("abdëgñ", 30, seed=0)))
        reader.save(path)
    return path


@pytest.fixture(scope="module")
def prior(tmp_path_factory):
    path = tmp_path_factory.mktemp("robust") / "prior"
    tuned_prior().save(path)
    return path


def one_line(error):
    return error.startswith("protoglot: error: ") and error.count("\n") == 1 and "Traceback" not in error


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", TEXTS)
def test_texts(protoglot, model, tmp_path, command, case):
    content, wrong = TEXTS[case]
    text = tmp_path / "text.txt"
    text.write_bytes(content if isinstance(content, bytes) else content.encode())
    status, printed, error = protoglot(*COMMANDS[command](model, text, tmp_path))
    if wrong is None:
        assert (status, error) == (0, "")
        assert printed
    else:
        assert status == 2
        assert one_line(error)
        assert wrong in error
        assert str(text) in error
        assert [file.name for file in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("kind", ["reader", "network"])
@pytest.mark.parametrize("case", TEXTS)
def test_texts_to_learn_from(protoglot, prior, tmp_path, case, kind):
    content, wrong = TEXTS[case]
    text, out = tmp_path / "text.txt", tmp_path / "model"
    text.write_bytes(content if isinstance(content, bytes) else content.encode())
    method = ["--method", "fitu", "--prior", prior] if kind == "network" else []
    status, printed, error = protoglot("adapt", text, "--out", out, *method)
    if wrong is None:
        assert (status, "Traceback" in error) == (0, False), error
        assert str(out) in printed
        status, _, error = protoglot("score", out, text)
        assert status == 0
        assert ("knows them" in error) is (kind == "reader")
    else:
        assert status == 2
        assert one_line(error.splitlines(keepends=True)[-1])
        assert wrong in error
        assert [file.name for file in tmp_path.iterdir()] == ["text.txt"]


WRITING = {
    "adapt": lambda prior, model, folder: ("adapt", folder / "text.txt", "--out", folder / "o"),
    "adapt a network": lambda prior, model, folder: (
        *("adapt", folder / "text.txt", "--method", "univ", "--prior", prior, "--out", folder / "o"),
    ),
    "score, heat map": lambda prior, model, folder: (
        *("score", model, folder / "text.txt", "--heat-map", folder / "m.html"),
    ),
    "score, characters": lambda prior, model, folder: (
        *("score", model, folder / "text.txt", "--characters", folder / "c.tsv"),
    ),
    "score, rows": lambda prior, model, folder: ("score", model, folder / "text.txt", "--out", folder / "r.csv"),
    "export arpa": lambda prior, model, folder: (
        *("export", model, "--format", "arpa-ngram", "--out", folder / "o"),
    ),
    "export json": lambda prior, model, folder: ("export", model, "--format", "json", "--out", folder / "o"),
}


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize(
    ("trouble", "status", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (OSError(errno.EACCES, "Permission denied"), 2, "Permission denied"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["full disk", "no permission", "Ctrl-C"],
)
def test_nothing_is_left_half_written(
    protoglot, prior, model, tmp_path, monkeypatch, command, trouble, status, message
):
    (tmp_path / "text.txt").write_text("ab ab\n" * 3)
    arguments = WRITING[command](prior, model, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", mock.Mock(side_effect=trouble))
        found, _, error = protoglot(*arguments)
    assert found == status
    assert one_line(error.splitlines(keepends=True)[-1])
    assert message in error
    assert [file.name for file in tmp_path.iterdir()] == ["text.txt"]
    assert protoglot(*arguments)[0] == 0  # and once more, with room


def test_ctrl_c_while_learning_leaves_nothing(protoglot, prior, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("ab ab\n" * 30)
    monkeypatch.setattr("protoglot.adaptation.fit", mock.Mock(side_effect=KeyboardInterrupt))
    method = ("--method", "fitu", "--prior", prior)
    status, _, error = protoglot("adapt", tmp_path / "text.txt", *method, "--out", tmp_path / "o")
    assert (status, "interrupted" in error) == (130, True)
    assert [file.name for file in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", ["directory", "missing", "invalid on standard input", "empty standard input"])
def test_texts_that_are_none(protoglot, model, tmp_path, monkeypatch, command, case):
    given = {"directory": tmp_path, "missing": tmp_path / "nothing.txt"}.get(case, "-")
    content = b"" if case.startswith("empty") else b"\xff\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    status, _, error = protoglot(*COMMANDS[command](model, given, tmp_path))
    assert status == 2
    assert one_line(error)
    assert ("standard input" if given == "-" else str(given)) in error


@pytest.mark.parametrize(
    "beginning", ["", " ", "a", "ab ", "ж", "👩‍👩‍👧", "שלום", "a\nb", "\x00", "\u0301" * 50, "\udcff"]
)
def test_beginnings(protoglot, model, beginning):
    status, printed, error = protoglot("complete", model, beginning, "--number", 2)
    assert (status, error) == (0, "")
    assert printed
    if beginning.isascii():  # shown as it is, which not every terminal can
        status, printed, error = protoglot("generate", model, "--start", beginning, "--length", 3)
        assert (status, error) == (0, "")
        assert printed.startswith(beginning)


def tampered(model, tmp_path):
    path = tmp_path / "tampered"
    shutil.copytree(model, path)
    file = next(file for file in (path / "weights.safetensors", path / "reader.safetensors") if file.exists())
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    return path


def truncated(model, tmp_path):
    path = tmp_path / "truncated"
    shutil.copytree(model, path)
    file = path / "header.json"
    file.write_bytes(file.read_bytes()[:-20])
    return path


def with_another_header(model, tmp_path):
    path = tmp_path / "changed"
    shutil.copytree(model, path)
    file = path / "header.json"
    before = file.read_text()
    file.write_text(
        before.replace('"order": 3', '"order": 2').replace('"with_letters": true', '"with_letters": 1')
    )
    assert file.read_text() != before
    return path


def of_a_newer_version(model, tmp_path):
    path = tmp_path / "newer"
    shutil.copytree(model, path)
    file = path / "header.json"
    changed = re.sub(
        r'"version": (\d+)', lambda found: f'"version": {int(found[1]) + 1}', file.read_text(), count=1
    )
    assert changed != file.read_text()
    file.write_text(changed)
    return path


def a_file(model, tmp_path):
    path = tmp_path / "file"
    path.write_text("ab")
    return path


def an_empty_directory(model, tmp_path):
    path = tmp_path / "empty"
    path.mkdir()
    return path


def nothing(model, tmp_path):
    return tmp_path / "nothing"


def a_trained_model(model, tmp_path):
    save_trained(tmp_path / "trained", tiny_trained())
    return tmp_path / "trained"


def an_ngram(model, tmp_path):
    NGram.train(["ab"], Vocabulary.of(["ab"]), order=2).save(tmp_path / "ngram")
    return tmp_path / "ngram"


DAMAGED = [tampered, truncated, with_another_header, of_a_newer_version, a_file, an_empty_directory, nothing]
WITH_MODEL = {
    "score": lambda path, folder: ("score", path, folder / "text.txt"),
    "complete": lambda path, folder: ("complete", path, "a"),
    "identify": lambda path, folder: ("identify", path, "--text", folder / "text.txt"),
    "info": lambda path, folder: ("info", path),
    "generate": lambda path, folder: ("generate", path),
    "export arpa": lambda path, folder: ("export", path, "--format", "arpa-ngram", "--out", folder / "o"),
    "export onnx": lambda path, folder: ("export", path, "--format", "onnx", "--out", folder / "o"),
    "export json": lambda path, folder: ("export", path, "--format", "json", "--out", folder / "o"),
}
OTHER_KINDS = {"info", "generate", "export json", "export arpa"}


@pytest.mark.parametrize("command", WITH_MODEL)
@pytest.mark.parametrize("make", [*DAMAGED, a_trained_model, an_ngram])
def test_models(protoglot, model, tmp_path, command, make):
    (tmp_path / "text.txt").write_text("ab\n")
    path = make(model, tmp_path)
    status, _, error = protoglot(*WITH_MODEL[command](path, tmp_path))
    if (
        make not in DAMAGED
        and command in OTHER_KINDS
        and (make, command)
        not in {
            (a_trained_model, "export arpa"),
            (an_ngram, "generate"),
        }
    ):
        assert (status, error) == (0, "")
        return
    assert status == 2
    assert one_line(error)
    assert str(path) in error
    assert not (tmp_path / "o").exists()


WRONG_OPTIONS = [
    ("score", "--characters", "c.txt"),
    ("score", "--heat-map", "map.png"),
    ("score", "--out", "rows.txt"),
    ("score", "--device", "abacus"),
    ("complete", "a", "--number", "0"),
    ("identify", "--threshold", "0"),
    ("info", "--format", "xml"),
    ("export", "--format", "onnx"),
    ("export", "--format", "pickle", "--out", "o"),
    ("export", "--format", "json", "--out", "-"),
    ("score", "--threads", "100000"),
]


@pytest.mark.parametrize("words", WRONG_OPTIONS, ids=" ".join)
def test_options(protoglot, model, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    status, _, error = protoglot(words[0], model, *words[1:])
    assert status == 2
    assert one_line(error)
    assert not [*tmp_path.iterdir()]


def test_a_model_without_an_ngram_has_none_to_export(protoglot, tmp_path):
    tiny_adapted(with_ngram=False).save(tmp_path / "model")
    status, _, error = protoglot(*WITH_MODEL["export arpa"](tmp_path / "model", tmp_path))
    assert status == 2
    assert one_line(error)
    assert "no n-gram" in error


def test_a_directory_that_cannot_be_written_is_named(protoglot, model, tmp_path):
    (tmp_path / "text.txt").write_text("ab\n")
    (tmp_path / "file").write_text("")
    for option, name in (("--heat-map", "m.html"), ("--characters", "c.json"), ("--out", "r.csv")):
        target = tmp_path / "file" / name
        status, _, error = protoglot("score", model, tmp_path / "text.txt", option, target)
        assert status == 2
        assert one_line(error)
        assert str(target) in error


def test_a_reader_that_has_read_nothing_has_no_ngram_either(protoglot, tmp_path):
    Reader(tiny_scorer()).save(tmp_path / "model")
    status, _, error = protoglot(*WITH_MODEL["export arpa"](tmp_path / "model", tmp_path))
    assert status == 2
    assert one_line(error)
    assert "no n-gram" in error


def test_a_reader_is_no_network_to_export(protoglot, tmp_path):
    Reader(tiny_scorer()).save(tmp_path / "model")
    status, _, error = protoglot(*WITH_MODEL["export onnx"](tmp_path / "model", tmp_path))
    assert status == 2
    assert one_line(error)
    assert f"{tmp_path / 'model'}: a reader; --format onnx wanted a network" in error
    assert not (tmp_path / "o").exists()


def test_a_reader_of_another_scorer_is_named(protoglot, tmp_path):
    Reader(tiny_scorer(1)).save(tmp_path / "model")
    status, _, error = protoglot("complete", tmp_path / "model", "a")
    assert status == 2
    assert one_line(error)
    assert "made with scorer" in error


def test_an_export_replaces_nothing(protoglot, model, tmp_path):
    target = tmp_path / "mine.txt"
    target.write_text("my sentences")
    for form in ("json", "arpa-ngram", "onnx"):
        status, _, error = protoglot("export", model, "--format", form, "--out", target)
        assert status == 2
        assert one_line(error)
        assert f"{target}: exists already" in error
    assert target.read_text() == "my sentences"


def test_a_run_is_no_model_and_a_packed_model_is_to_be_unpacked(protoglot, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    status, _, error = protoglot("complete", tmp_path / "run", "a")
    assert (status, "a run of protoglot train; wanted the directory of a model" in error) == (2, True)
    tiny_adapted().save(tmp_path / "model")
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "model")
    status, _, error = protoglot("complete", packed, "a")
    assert (status, "zipped models are to be unpacked" in error) == (2, True)


def test_a_place_where_nothing_can_be_written_is_noticed_before_learning(protoglot, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("ab ab\n" * 3)
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != str(tmp_path))
    target = tmp_path / "new" / "model"
    status, printed, error = protoglot("adapt", tmp_path / "text.txt", "--out", target)
    assert (status, printed) == (2, "")
    assert one_line(error)
    assert f"nothing can be written in {tmp_path}" in error
