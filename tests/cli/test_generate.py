import pytest

from protoglot.cli.main import run
from protoglot.trained import save_trained
from tiny import tiny_trained


@pytest.fixture(params=["bare", "oest"])
def saved(request, tmp_path):
    save_trained(tmp_path / "model", tiny_trained(request.param))
    return request.param, str(tmp_path / "model")


def test_samples_are_printed_and_the_seed_decides(saved, capsys):
    _, path = saved
    command = ["generate", path, "--language", "eus", "--length", "12", "--samples", "3", "--threads", "1"]
    assert run(command) == 0
    first = capsys.readouterr().out
    assert len(first) == 3 * 13
    assert run(command) == 0
    assert capsys.readouterr().out == first
    assert run([*command, "--seed", "1"]) == 0
    assert capsys.readouterr().out != first


def test_a_beginning_is_kept(saved, capsys):
    assert (
        run(["generate", saved[1], "--language", "eus", "--start", "kaixo", "--until-end", "--threads", "1"]) == 0
    )
    assert capsys.readouterr().out.startswith("kaixo")


def test_wrong_values_are_one_line(saved, capsys):
    conditioning, path = saved
    cases = [["--top-p", "2"], ["--length", "0"], ["--device", "abacus"]]
    if conditioning == "oest":
        cases += [[], ["--language", "xyz"]]
    for case in cases:
        assert (
            run(
                [
                    "generate",
                    path,
                    "--threads",
                    "1",
                    *(case if "--language" in case or not case else ["--language", "eus", *case]),
                ]
            )
            == 2
        )
        error = capsys.readouterr().err
        assert error.startswith("protoglot: error: ")
        assert error.count("\n") == 1
