"""``protoglot probe``: figures that can be computed another way, and messages that name what is wrong."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.universal import UniversalPrior
from protoglot.probing import count_characters, exoticness
from protoglot.splits import split_sentences
from protoglot.statistics import pearson
from tiny import babble_corpus, tiny_trained

TEXTS = babble_corpus(40).texts
BITS = {"eus": 2.0, "fra": 2.5, "tur": 3.5, "zul": 2.25}


@pytest.fixture
def folder(tmp_path):
    """A corpus of five languages."""
    path = tmp_path / "babble"
    path.mkdir()
    for code, sentences in TEXTS.items():
        (path / f"{code}.txt").write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
    return path


@pytest.fixture
def scores(tmp_path):
    """Scores of four of them, one in two roles."""
    path = tmp_path / "rows.csv"
    rows = [f"{code},held_out,{bits}" for code, bits in BITS.items()]
    path.write_text("\n".join(["code,role,bits_per_character", *rows, "eus,training,1.5\n"]))
    return path


@pytest.fixture(scope="module")
def prior_on_disk(tmp_path_factory):
    made = tiny_trained()
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 2.5}})
    config = FisherConfig(length=11, max_sequences=6, sequences_at_once=4)
    path = tmp_path_factory.mktemp("priors") / "prior"
    infer_prior(trained, training_streams(babble_corpus(), trained), config).save(path)
    return path


def complaint(err: str) -> str:
    assert err.startswith("protoglot: error: ")
    assert err.count("\n") == 1
    return err


def wanted_distances() -> dict[str, float]:
    return exoticness({code: count_characters(split_sentences(text).train) for code, text in TEXTS.items()})


def test_rows_are_those_of_the_training_text(protoglot, folder):
    status, out, _ = protoglot("probe", "characters", "--corpus", folder, "--format", "json")
    assert status == 0
    found = json.loads(out)
    assert found["corpus"] == "babble"
    assert found["correlations"] == []
    wanted = wanted_distances()
    assert {row["code"]: row["exoticness"] for row in found["languages"]} == wanted
    assert [row["code"] for row in found["languages"]] == sorted(wanted, key=lambda code: -wanted[code])
    for row in found["languages"]:
        counts = count_characters(split_sentences(TEXTS[row["code"]]).train)
        assert (row["characters"], row["distinct_characters"]) == (counts.total(), len(counts))
        assert "role" not in row


def test_scores_are_correlated_role_by_role(protoglot, folder, scores):
    command = ("probe", "characters", "--corpus", folder, "--scores", scores)
    found = json.loads(protoglot(*command, "--format", "json")[1])
    wanted = wanted_distances()
    held_out, training = found["correlations"]
    direct = pearson([wanted[code] for code in BITS], list(BITS.values()))
    assert held_out == {
        "role": "held_out",
        "languages": 4,
        "coefficient": direct.coefficient,
        "p_value": direct.p_value,
    }
    assert training == {"role": "training", "languages": 1, "coefficient": None, "p_value": None}
    bits = {(row["code"], row["role"]): row["bits_per_character"] for row in found["languages"]}
    in_roles = {(code, "held_out"): value for code, value in BITS.items()}
    assert bits == {**in_roles, ("eus", "training"): 1.5, ("wol", None): None}
    _, table, _ = protoglot(*command)
    assert f"of 4 held out languages: Pearson's r = {direct.coefficient:.3f}, p = {direct.p_value:.2g}" in table
    assert "of 1 training language: no correlation can be told" in table
    (line,) = [line for line in table.splitlines() if line.startswith("tur")]
    assert line.split()[-3:] == ["held", "out", "3.500"]


@pytest.mark.parametrize("with_scores", [False, True])
def test_rows_are_written_and_printed_alike(protoglot, folder, scores, tmp_path, with_scores):
    more = ("--scores", scores) if with_scores else ()
    command = ("probe", "characters", "--corpus", folder, *more)
    _, out, _ = protoglot(*command, "--format", "csv", "--out", tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_text(encoding="utf-8") == out
    assert len(list(csv.DictReader(out.splitlines()))) == 5 + with_scores


def test_languages_that_are_left_out_are_named(protoglot, folder, scores):
    (folder / "wol.txt").write_text("\n")
    command = ("probe", "characters", "--corpus", folder, "--scores", scores, "--format", "json")
    status, out, err = protoglot(*command, "--languages", "eus,fra,wol")
    assert status == 0
    assert err.splitlines() == [
        "protoglot: left out, without text: wol",
        "protoglot: left out, not in the corpus: tur, zul",
    ]
    assert {row["code"] for row in json.loads(out)["languages"]} == {"eus", "fra"}


def test_wrong_values_for_characters_are_one_line(protoglot, folder, scores, tmp_path):
    command = ("probe", "characters", "--corpus", folder)
    status, out, err = protoglot(*command, "--languages", "eus")
    assert (status, out) == (2, "")
    assert "1 language to compare; wanted two or more" in complaint(err)
    status, _, err = protoglot(*command, "--scores", tmp_path / "none.csv")
    assert status == 2
    assert "none.csv: cannot be read" in complaint(err)
    scores.write_text("code,role,bits_per_character\nqqq,held_out,1\n")
    status, _, err = protoglot(*command, "--scores", scores)
    assert status == 2
    assert "no language of corpus babble" in complaint(err)
    status, _, err = protoglot(*command, "--out", tmp_path / "rows.txt")
    assert status == 2
    assert "ending '.txt'" in complaint(err)


def test_every_layer_has_its_figures_and_all_together(protoglot, prior_on_disk):
    status, out, _ = protoglot("probe", "prior", prior_on_disk, "--format", "json")
    assert status == 0
    rows = {row["layer"]: row for row in json.loads(out)}
    ratios = {
        layer: v.double().numpy() for layer, v in UniversalPrior.load(prior_on_disk).signal_to_noise().items()
    }
    ratios["all"] = np.concatenate([values.ravel() for values in ratios.values()])
    assert list(rows) == list(ratios)
    for layer, values in ratios.items():
        row = rows[layer]
        assert (row["weights"], row["zero"]) == (values.size, (values == 0).sum())
        found = (row["percentile_5"], row["median"], row["percentile_95"])
        assert found == pytest.approx(np.percentile(values, [5, 50, 95]))
        assert row["share_below_one"] == pytest.approx((values < 1).mean())
    assert rows["output_bias"]["zero"] > 0  # as it starts
    _, table, _ = protoglot("probe", "prior", prior_on_disk)
    for layer, row in rows.items():
        (line,) = [line for line in table.splitlines() if line.startswith(f"{layer} ")]
        assert line.split()[1:3] == [f"{row['weights']:,}", f"{row['zero']:,}"]


def test_the_density_counts_every_weight(protoglot, prior_on_disk, tmp_path):
    file = tmp_path / "density.csv"
    assert protoglot("probe", "prior", prior_on_disk, "--out", file)[0] == 0
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    layers = json.loads(protoglot("probe", "prior", prior_on_disk, "--format", "json")[1])
    for layer in layers:
        of_layer = [row for row in rows if row["layer"] == layer["layer"]]
        at_zero, *bins = of_layer
        assert (at_zero["log10_from"], at_zero["density"]) == ("", "")
        assert int(at_zero["weights"]) == layer["zero"]
        assert sum(int(row["weights"]) for row in of_layer) == layer["weights"]
        widths = [float(row["log10_to"]) - float(row["log10_from"]) for row in bins]
        share = sum(width * float(row["density"]) for width, row in zip(widths, bins, strict=True))
        assert share == pytest.approx(1 - layer["zero"] / layer["weights"], abs=1e-6)


def test_the_plot_names_every_layer_and_is_the_same_each_time(protoglot, prior_on_disk, tmp_path):
    drawn = []
    for name in ("one.svg", "two.svg"):
        assert protoglot("probe", "prior", prior_on_disk, "--plot", tmp_path / name)[0] == 0
        drawn.append((tmp_path / name).read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1]
    for layer in UniversalPrior.load(prior_on_disk).fisher:
        assert f"{layer}</text>" in drawn[0] or f"{layer} (" in drawn[0]


def test_wrong_values_for_a_prior_are_one_line(protoglot, prior_on_disk, tmp_path):
    status, _, err = protoglot("probe", "prior", tmp_path / "nowhere")
    assert status == 2
    assert "nowhere" in complaint(err)
    status, _, err = protoglot("probe", "prior", prior_on_disk, "--plot", tmp_path / "x.png")
    assert status == 2
    assert "ending '.png'" in complaint(err)
    assert not list(tmp_path.iterdir())


def test_vietnamese_stands_out_among_four_languages(corpora, protoglot):
    languages = "vie,rom,wol,hrv"
    command = (
        "probe",
        "characters",
        "--corpus",
        corpora / "bible77",
        "--languages",
        languages,
        "--format",
        "json",
    )
    rows = json.loads(protoglot(*command)[1])["languages"]
    assert rows[0]["code"] == "vie"
    assert all(0 < row["exoticness"] < 1 for row in rows)
