"""The command ``protoglot typology``, as a user sees it."""

import json
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from protoglot.cli.main import run
from protoglot.cli.typology import LEVELS
from protoglot.typology import Level, Typology, feature_names

PAGE = Path(__file__).parent.parent.parent / "docs" / "typology.md"


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def typology(capsys):
    """Run ``protoglot typology ...``; return its status, output and messages."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(["typology", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_levels_are_those_of_the_library():
    assert list(Level) == list(LEVELS)


def test_show_names_the_language_and_its_coverage(typology):
    status, out, err = typology("show", "eus")
    assert status == 0
    assert out.startswith("Basque (eus)\nobserved: syntax 83 of 97, phonology 25 of 27, inventory 121 of 121\n")
    assert err == ""


@pytest.mark.parametrize("width", [80, 200])
def test_show_cuts_nothing_short(typology, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = typology("show", "slk")
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    words = out.split()
    assert all(words.count(feature) == 1 for feature in feature_names())


def test_nearest_and_compare_fit_80_columns_and_keep_every_letter(typology):
    for arguments in (("nearest", "fra", "--number", "60"), ("compare", "eus", "zul")):
        _, out, _ = typology(*arguments)
        assert "…" not in out
        assert max(map(len, out.splitlines())) <= 80
    expected = {difference.feature for difference in Typology.installed().compare("eus", "zul")}
    assert {word for word in out.split() if word.startswith(("S_", "P_", "INV_"))} == expected


def test_a_long_name_is_wrapped_not_cut(typology):
    _, out, _ = typology("nearest", "fra", "--among", "ina")
    assert all(word in out for word in ["Interlingua", "(International", "Auxiliary", "Association)"])


@pytest.mark.parametrize(
    ("only", "number"), [("observed", 83), ("imputed", 97 - 83), ("present", None)]
)  # fmt: skip
def test_show_only(typology, only, number):
    _, out, _ = typology("show", "eus", "--level", "syntax", "--only", only, "--format", "json")
    features = json.loads(out)["features"]
    assert {feature["level"] for feature in features} == {"syntax"}
    if only == "present":
        assert {feature["value"] for feature in features} == {1.0}
    else:
        assert {feature["origin"] for feature in features} == {only}
        assert len(features) == number


def test_show_only_what_is_not_there(typology):
    status, out, _ = typology("show", "slk", "--only", "observed")
    assert status == 0
    assert "No such feature." in out


def test_csv_of_a_language_can_be_given_back(typology):
    _, out, _ = typology("show", "eus", "--format", "csv")
    Path("mine.csv").write_text(out, encoding="utf-8")
    status, again, err = typology("show", "mine.csv", "--format", "csv")
    assert (status, again, err) == (0, out, "")
    _, out, _ = typology("compare", "eus", "mine.csv")
    assert "They differ in 0 of 245 features." in out
    _, out, _ = typology("nearest", "mine.csv", "--number", "1", "--format", "csv")
    assert out.splitlines()[1].startswith("eus,Basque,0.0,")


def test_partial_file(typology):
    Path("mine.csv").write_text("S_SOV,1\nP_TONE,0\n", encoding="utf-8")
    _, out, _ = typology("nearest", "mine.csv", "--among", "eus,vie", "--format", "json")
    record = json.loads(out)
    assert record["compared"] == 2
    assert [(near["code"], near["distance"]) for near in record["nearest"]] == [("eus", 0.0), ("vie", 1.0)]
    _, out, _ = typology("show", "mine.csv")
    assert "filled with the mean over URIEL: 243 of 245" in out


def test_a_file_named_like_a_language_does_not_hide_it(typology):
    Path("eus").write_text("not a vector", encoding="utf-8")
    status, out, _ = typology("show", "eus")
    assert status == 0
    assert out.startswith("Basque (eus)")


def test_names_are_understood_and_said(typology):
    status, out, err = typology("show", "basque", "--format", "csv")
    assert status == 0
    assert out.startswith("feature,value")
    assert err == "protoglot: 'basque' read as Basque (eus)\n"


def test_nearest_among_codes(typology):
    _, out, err = typology("nearest", "eus", "--among", "fra, es,English", "--format", "csv")
    assert [line.partition(",")[0] for line in out.splitlines()[1:]] == ["spa", "fra", "eng"]
    assert "'es' read as Spanish (spa)" in err


def test_nearest_among_the_languages_of_a_corpus(typology):
    Path("texts").mkdir()
    for code in ("fra", "spa", "cnr", "house"):
        Path("texts", f"{code}.txt").write_text("a\n", encoding="utf-8")
    _, out, err = typology("nearest", "eus", "--among", "texts", "--format", "csv")
    assert [line.partition(",")[0] for line in out.splitlines()[1:]] == ["spa", "fra"]
    assert err == "protoglot: left out, not in URIEL: cnr, house\n"


def test_nearest_warns_of_imputed_neighbours(typology):
    _, out, _ = typology("nearest", "fra", "--number", "3")
    assert "3 of these are imputed throughout; --min-observed 0.5" in out
    _, out, _ = typology("nearest", "fra", "--number", "3", "--min-observed", "0.5")
    assert "imputed throughout" not in out
    assert "bre   Breton" in out


def test_compare_formats(typology):
    _, out, _ = typology("compare", "eus", "spa", "--level", "phonology", "--format", "csv")
    assert "P_CODAS,0,1,imputed,observed" in out.splitlines()
    _, out, _ = typology("compare", "eus", "spa", "--level", "phonology", "--format", "json")
    record = json.loads(out)
    assert [language["title"] for language in record["languages"]] == ["Basque (eus)", "Spanish (spa)"]
    assert record["compared"] == 27
    assert record["differences"][-1] == {
        "feature": "P_CODAS",
        "values": [0.0, 1.0],
        "origins": ["imputed", "observed"],
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "cnr"], ["cnr (Montenegrin)", "hbs (Serbo-Croatian)"]),
        (["show", "baskue"], ["eus (Basque)"]),
        (["show", "absent.csv"], ["absent.csv", "No such file"]),
        (["show", "./absent"], ["absent", "No such file"]),
        (["nearest", "eus", "--among", "nowhere:x"], ["nowhere"]),
        (["nearest", "eus", "--among", "fra,baskue"], ["eus (Basque)"]),
        (["nearest", "eus", "--number", "0"], ["--number"]),
        (["nearest", "eus", "--min-observed", "nan"], ["nan", "from 0 to 1"]),
        (["nearest", "eus", "--min-observed", "2"], ["--min-observed"]),
        (["compare", "eus"], ["SECOND"]),
        (["show", "eus", "--level", "semantics"], ["semantics"]),
    ],
)
def test_errors_are_one_line_and_status_2(typology, arguments, words):
    status, out, err = typology(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("protoglot: error: ")
    assert err.count("\n") == 1
    assert all(word in err for word in words)


def test_the_installed_command_finds_uriel():
    """As a script, not through run(): its directory, which leads sys.path, holds a lang2vec.py as well."""
    command = Path(sysconfig.get_path("scripts"), "protoglot")
    if not command.is_file():
        pytest.skip("protoglot is not installed as a command")
    done = subprocess.run([command, "typology", "show", "eus"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from protoglot.cli.main import run; run(['typology', '--help']);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'rich.table', 'torch', 'iso639')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_the_page_shows_what_the_commands_print(typology):
    text = PAGE.read_text(encoding="utf-8")
    Path("mine.csv").write_text(re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1), encoding="utf-8")
    examples = re.findall(r"```console\n\$ protoglot typology (.*?)\n(.*?)```", text, re.DOTALL)
    assert len(examples) >= 6
    for command, shown in examples:
        _, out, err = typology(*shlex.split(command))
        assert err + out == shown
