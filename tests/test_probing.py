import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.errors import CorpusError, StorageError, TextError
from protoglot.probing import (
    ALL_LAYERS,
    check_ratios,
    correlate,
    count_characters,
    count_training_characters,
    exoticness,
    read_scores,
    signal_density,
    summarise_signal,
)
from protoglot.splits import split_sentences
from protoglot.statistics import pearson
from tiny import TextCorpus, babble

ROOT = Path(__file__).parent.parent
COUNTS = st.dictionaries(st.sampled_from("abcde ñ字"), st.integers(1, 10_000), min_size=1)
LANGUAGES = st.dictionaries(st.sampled_from(["eus", "fra", "tur", "zul", "wol"]), COUNTS, min_size=2)
RATIOS = st.dictionaries(
    st.sampled_from(["embedding", "projection", "layers.bias_0"]),
    st.lists(st.just(0.0) | st.floats(1e-30, 1e30), min_size=1, max_size=40).map(np.array),
    min_size=1,
)


@settings(max_examples=30)  # of a million possible characters each
@given(st.lists(st.text()))
def test_every_character_counts_once(sentences):
    assert count_characters(sentences) == Counter("".join(sentences))


def test_only_the_training_part_is_counted():
    sentences = babble("aeiktz", 50, seed=0)
    corpus = TextCorpus({"eus": [*sentences, "QQQ"]})
    found = count_training_characters(corpus, "eus")
    assert "Q" not in found
    assert found == Counter("".join(split_sentences([*sentences, "QQQ"]).train))


def test_exoticness_by_hand():
    found = exoticness({"one": {"a": 4, "b": 3}, "two": {"a": 1}, "three": {"b": 2, "c": 2}})
    # The others of "one" are (1, 2, 2) / 2, and (4, 3, 0) has length 5 against 3 / 2.
    assert found["one"] == pytest.approx(1 - (4 + 6) / (5 * 3))
    assert list(found) == ["one", "two", "three"]


@given(LANGUAGES)
def test_exoticness_is_one_minus_the_cosine_with_the_mean_of_the_others(counts):
    characters = sorted({character for of_language in counts.values() for character in of_language})
    vectors = {code: np.array([found.get(c, 0) for c in characters]) for code, found in counts.items()}
    for code, distance in exoticness(counts).items():
        others = np.mean([vector for other, vector in vectors.items() if other != code], axis=0)
        cosine = vectors[code] @ others / np.linalg.norm(vectors[code]) / np.linalg.norm(others)
        assert distance == pytest.approx(1 - cosine, abs=1e-12)
        assert 0 <= distance <= 1


@given(LANGUAGES, st.integers(2, 100))
def test_more_text_of_the_same_kind_does_not_change_a_language_s_own(counts, times):
    code = next(iter(counts))
    more = {**counts, code: {character: times * number for character, number in counts[code].items()}}
    assert exoticness(more)[code] == pytest.approx(exoticness(counts)[code], abs=1e-12)


def test_more_text_has_more_say_in_the_mean():
    counts = {"one": {"a": 1}, "like": {"a": 1}, "unlike": {"b": 1}}
    assert exoticness({**counts, "like": {"a": 9}})["one"] < exoticness(counts)["one"]


def test_the_same_characters_and_none_in_common():
    found = exoticness({"one": {"a": 2, "b": 1}, "two": {"a": 4, "b": 2}})
    assert found == pytest.approx({"one": 0, "two": 0}, abs=1e-12)
    assert exoticness({"one": {"a": 2}, "two": {"b": 4}}) == {"one": 1, "two": 1}


def test_exoticness_refuses_what_cannot_be_compared():
    with pytest.raises(CorpusError, match="1 language to compare; wanted two or more"):
        exoticness({"eus": {"a": 1}})
    with pytest.raises(CorpusError, match="fra: no characters"):
        exoticness({"eus": {"a": 1}, "fra": {}})


def write(tmp_path, text):
    file = tmp_path / "rows.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_language_has_one_score_in_each_role(tmp_path):
    rows = ["code,part,bits_per_character,role", "eus,test,2.5,held_out", "fra,test,1.5,training"]
    text = "\n".join([*rows, "eus,test,1,training\n"])
    wanted = {"held_out": {"eus": 2.5}, "training": {"fra": 1.5, "eus": 1.0}}
    assert read_scores(write(tmp_path, text)) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code,role\neus,held_out\n", "wanted a column 'bits_per_character'"),
        ("code,role,bits_per_character\n", "no scores"),
        ("code,role,bits_per_character\neus,held_out,high\n", "line 2: bits_per_character 'high'"),
        ("code,role,bits_per_character\neus,held_out,nan\n", "line 2: bits_per_character 'nan'"),
        ("code,role,bits_per_character\neus,held_out,\n", "line 2: bits_per_character ''"),
        (
            "code,role,bits_per_character\neus,held_out,1\neus,held_out,2\n",
            "line 3: a second score of eus as held_out",
        ),
    ],
)
def test_what_is_wrong_with_scores_is_named(tmp_path, text, message):
    file = write(tmp_path, text)
    with pytest.raises(CorpusError, match=message) as caught:
        read_scores(file)
    assert str(caught.value).startswith(f"{file}: ")


def test_a_missing_file_of_scores_is_named(tmp_path):
    with pytest.raises(TextError, match=r"none\.csv: cannot be read"):
        read_scores(tmp_path / "none.csv")


def test_roles_are_correlated_apart_and_languages_matched_by_code():
    distances = {"eus": 0.1, "fra": 0.2, "tur": 0.3, "zul": 0.4}
    scores = {
        "held_out": {"tur": 3.0, "eus": 1.0, "fra": 2.0, "unknown": 99.0},
        "training": {"zul": 1.0, "eus": 2.0, "fra": 2.0},
    }
    found = correlate(distances, scores)
    assert found["held_out"].coefficient == pytest.approx(1)
    assert found["held_out"].num_pairs == 3
    assert found["training"].coefficient == pytest.approx(np.corrcoef([0.4, 0.1, 0.2], [1, 2, 2])[0, 1])


@given(RATIOS)
def test_every_weight_is_in_one_bin_or_at_zero(ratios):
    found = signal_density(ratios)
    sizes = {layer: values.size for layer, values in ratios.items()}
    sizes[ALL_LAYERS] = sum(sizes.values())
    assert list(found.num_weights) == list(sizes)
    for layer, size in sizes.items():
        assert found.num_weights[layer].sum() + found.num_zero[layer] == size
        share = (found.density(layer) * np.diff(found.edges)).sum()
        assert share == pytest.approx(1 - found.num_zero[layer] / size)


@given(RATIOS)
def test_all_is_the_sum_of_the_layers(ratios):
    found = signal_density(ratios)
    layers = [layer for layer in found.num_weights if layer != ALL_LAYERS]
    total = sum(found.num_weights[layer] for layer in layers)
    np.testing.assert_array_equal(total, found.num_weights[ALL_LAYERS])
    assert sum(found.num_zero[layer] for layer in layers) == found.num_zero[ALL_LAYERS]


def test_bins_of_ratios_by_hand():
    found = signal_density({"one": np.array([[0.0, 0.02], [0.03, 5.0]], dtype=np.float32)}, bins_per_decade=1)
    assert found.edges.tolist() == [-2, -1, 0, 1]
    assert found.num_weights["one"].tolist() == [2, 0, 1]
    assert found.density("one").tolist() == [0.5, 0, 0.25]
    assert found.num_zero == {"one": 1, "all": 1}


def test_a_normal_distribution_has_its_density():
    logarithms = np.random.default_rng(0).normal(-1, 0.5, size=200_000)
    found = signal_density({"one": 10**logarithms}, bins_per_decade=10)
    centres = (found.edges[:-1] + found.edges[1:]) / 2
    wanted = np.exp(-(((centres + 1) / 0.5) ** 2) / 2) / (0.5 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(found.density("one"), wanted, atol=0.02)


def test_nothing_but_zeros_is_a_density_too():
    found = signal_density({"bias": np.zeros(5)})
    assert found.num_zero["all"] == 5
    assert found.density("bias").sum() == 0
    (bias, _) = summarise_signal({"bias": np.zeros(5)})
    assert (bias.num_zero, bias.median, bias.share_below_one) == (5, 0, 1)


def test_figures_of_layers_by_hand():
    ratios = {"one": np.arange(101, dtype=np.float32).reshape(1, 101) / 10, "two": np.array([0.5])}
    one, two, everything = summarise_signal(ratios)
    assert (one.layer, two.layer, everything.layer) == ("one", "two", "all")
    assert (one.num_weights, one.num_zero) == (101, 1)
    assert (one.low, one.median, one.high) == pytest.approx((0.5, 5.0, 9.5))
    assert one.share_below_one == pytest.approx(10 / 101)
    assert two.share_below_one == 1
    assert everything.num_weights == 102
    assert everything.share_below_one == pytest.approx(11 / 102)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_what_cannot_be_a_ratio_is_refused(wrong):
    check_ratios({"one": np.ones(3)}, name="priors/bare2")
    with pytest.raises(StorageError, match=r"priors/bare2: two: ratios negative or not finite"):
        check_ratios({"one": np.ones(3), "two": np.array([1, wrong])}, name="priors/bare2")
    with pytest.raises(StorageError, match="no weights"):
        check_ratios({}, name="priors/bare2")


@pytest.mark.parametrize(
    ("file", "roles"),
    [("BARE", ["held_out", "validation", "training"]), ("paper", ["zero_univ_bare", "few_univ_bare"])],
)
def test_the_figures_on_the_page_come_from_rows(file, roles):
    page = (ROOT / "docs" / "probing.md").read_text(encoding="utf-8")
    with (ROOT / "benchmarks" / "results" / "probing" / f"{file}.csv").open(
        encoding="utf-8", newline=""
    ) as stream:
        rows = list(csv.DictReader(stream))
    assert {row["role"] for row in rows} == set(roles)
    for role in roles:
        pairs = [
            (float(row["exoticness"]), float(row["bits_per_character"])) for row in rows if row["role"] == role
        ]
        found = pearson(*zip(*pairs, strict=True))
        shown = f"| {found.num_pairs} | {found.coefficient:.3f} | {found.p_value:.2g} |"
        assert f"| {role.replace('_', ' ')} {shown}" in page
