"""URIEL as installed, its facts over the paper's 77 languages, and the user's own vectors."""

import csv
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from protoglot import typology as module
from protoglot.errors import TypologyError
from protoglot.typology import (
    PREDICTIONS,
    SOURCES,
    Level,
    Origin,
    Profile,
    Typology,
    feature_names,
    features_of,
    profile_as_csv,
    read_profile,
    write_profile,
)

K = 245


@pytest.fixture(scope="module")
def uriel() -> Typology:
    return Typology.installed()


@pytest.fixture(scope="module")
def paper_codes(corpora) -> dict[str, str]:
    """The paper's code -> ISO 639-3, for its 77 languages."""
    with (corpora / "bible77" / "manifest.csv").open(encoding="utf-8", newline="") as stream:
        return {row["code"]: row["iso639_3"] for row in csv.DictReader(stream)}


# The database.


def test_levels_partition_the_features():
    masks = [features_of(level) for level in Level]
    assert [int(mask.sum()) for mask in masks] == [97, 27, 121]
    np.testing.assert_array_equal(np.sum(masks, axis=0), np.ones(K))
    assert features_of(None).all()
    assert len(set(feature_names())) == K


def test_every_value_is_zero_or_one(uriel):
    assert len(uriel.languages) == 7970
    values = np.stack([uriel.vector(code) for code in uriel.languages])
    assert values.shape == (7970, K)
    assert values.dtype == np.float32
    assert set(np.unique(values)) == {0.0, 1.0}


def test_values_agree_with_an_independent_reading(uriel):
    directory = uriel._directory
    with np.load(directory / PREDICTIONS) as predicted, np.load(directory / SOURCES) as stated:
        names, codes = predicted["feats"].tolist(), predicted["langs"].tolist()
        values, sources = predicted["data"], stated["data"]
    for code in ("eus", "usp", "slk", codes[0], codes[-1]):
        row = codes.index(code)
        for position in range(0, K, 7):
            column = names.index(feature_names()[position])
            assert uriel.vector(code)[position] == values[row, column, 0]
            assert uriel.observed(code)[position] == (sources[row, column].max() >= 0)


def test_imputation_keeps_what_all_sources_agree_on(uriel):
    with np.load(uriel._directory / SOURCES) as stated:
        row, names = uriel.languages.index("eus"), stated["feats"].tolist()
        sources = stated["data"][row][[names.index(name) for name in feature_names()]]  # (K, 10)
    for stated_values, value in zip(sources, uriel.vector("eus"), strict=True):
        said = set(stated_values[stated_values >= 0].tolist())
        if len(said) == 1:
            assert said == {value}


def test_vectors_are_copies(uriel):
    uriel.vector("eus")[:] = 7
    uriel.observed("eus")[:] = False
    assert uriel.vector("eus").max() == 1
    assert uriel.observed("eus").any()


def test_coverage(uriel):
    assert uriel.coverage("eus") == {Level.SYNTAX: 83 / 97, Level.PHONOLOGY: 25 / 27, Level.INVENTORY: 1.0}
    assert set(uriel.coverage("slk").values()) == {0.0}


def test_knows_the_rows_of_uriel(uriel):
    assert uriel.knows("eus")
    assert not uriel.knows("basque")
    assert not uriel.knows("cnr")


# The paper's 77 languages.


@pytest.mark.corpora
def test_the_features_are_those_that_some_of_the_77_has(uriel, paper_codes):
    with np.load(uriel._directory / PREDICTIONS) as predicted:
        names, codes, values = predicted["feats"].tolist(), predicted["langs"].tolist(), predicted["data"][..., 0]
    rows = [codes.index(code) for code in paper_codes.values()]
    assert len(rows) == 77
    kept = [name for name, column in zip(names, values[rows].T, strict=True) if column.any()]
    assert tuple(kept) == feature_names()


@pytest.mark.corpora
def test_facts_over_the_77(uriel, paper_codes):
    codes = list(paper_codes.values())
    values = np.stack([uriel.vector(code) for code in codes])
    observed = np.stack([uriel.observed(code) for code in codes])
    assert int((values == values[0]).all(axis=0).sum()) == 8
    assert {code for code, row in zip(codes, observed, strict=True) if not row.any()} == {
        "dik",
        "slk",
        "pot",
        "ppk",
    }
    assert round(float(1 - observed.mean()), 3) == 0.377
    assert int((~observed[:, features_of(Level.INVENTORY)].any(axis=1)).sum()) == 20
    identical = [
        {codes[one], codes[other]}
        for one in range(77)
        for other in range(one)
        if (values[one] == values[other]).all()
    ]
    assert identical == [{"usp", "cak"}]


@pytest.mark.corpora
def test_the_codes_of_the_corpus_would_cost_three_inventories(uriel, paper_codes):
    """Taken literally, jak, ssw and alb are other rows of URIEL: known less well, or not at all."""
    assert {code for code, iso in paper_codes.items() if code != iso} == {"jak", "ssw", "alb"}
    observed = np.stack([uriel.observed(code) for code in paper_codes])
    assert round(float(1 - observed.mean()), 3) == 0.405
    assert int((~observed[:, features_of(Level.INVENTORY)].any(axis=1)).sum()) == 23
    assert not uriel.observed("jak").any()


# Names.


@pytest.mark.parametrize(
    ("text", "code"),
    [("eus", "eus"), ("EUS", "eus"), ("eu", "eus"), ("basque", "eus"), ("Basque", "eus"), ("alb", "sqi"),
     ("gre", "ell"), ("jak", "jak"), ("ssw", "ssw"), ("zua", "zua")],
)  # fmt: skip
def test_resolve(uriel, text, code):
    assert uriel.resolve(text) == code


def test_resolve_gives_only_rows_of_uriel_and_keeps_them(uriel):
    doubles = {"alb", "gre"}
    for code in uriel.languages:
        assert uriel.resolve(code) == code or code in doubles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cnr", ["cnr (Montenegrin)", "hbs (Serbo-Croatian)", "srp (Serbian)"]),
        ("mol", ["Moldavian, a retired code", "ron (Romanian)"]),
        ("baskue", ["'baskue'", "eus (Basque)"]),
        ("Fur", ["fur (Friulian)", "fvr (Fur)", "wanted one language"]),
        ("nahuatl", ["or 24 others"]),
        ("", ["wanted a code of ISO 639-3"]),
        ("\x1b[31m\n", [r"'\x1b[31m\n'"]),
    ],
)
def test_unknown_languages_are_named_with_the_nearest(uriel, text, words):
    with pytest.raises(TypologyError) as caught:
        uriel.resolve(text)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


def test_vector_takes_codes_only(uriel):
    with pytest.raises(TypologyError, match=r"no language 'basque'; nearest: eus \(Basque\)"):
        uriel.vector("basque")


# Distances.


def test_nearest_is_the_share_of_features_that_differ(uriel):
    for neighbour in uriel.nearest("eus", 20):
        differing = len(uriel.compare("eus", neighbour.code))
        assert neighbour.distance == pytest.approx(differing / K)


def test_nearest_agrees_with_sorting_by_hand(uriel):
    within = uriel.languages[::97]
    expected = sorted((len(uriel.compare("eus", code)), code) for code in within if code != "eus")
    found = uriel.nearest("eus", len(within), within=within)
    assert [neighbour.code for neighbour in found] == [code for _, code in expected]


def test_identical_languages_come_first_in_the_order_of_codes(uriel):
    assert [(found.code, found.distance) for found in uriel.nearest("usp", 4)] == [
        ("acr", 0.0), ("cak", 0.0), ("poc", 0.0), ("poh", 0.0),
    ]  # fmt: skip


def test_nearest_leaves_out_the_language_and_the_imputed(uriel):
    assert "fra" not in {found.code for found in uriel.nearest("fra", 50)}
    assert uriel.nearest("fra", 1)[0].code == "fsl"  # a sign language, imputed from its neighbours
    observed = uriel.nearest("fra", 50, min_observed=0.5)
    assert observed
    assert all(uriel.observed(found.code).mean() >= 0.5 for found in observed)


def test_nearest_among_none_or_unknown(uriel):
    assert uriel.nearest("eus", 3, within=[]) == []
    with pytest.raises(TypologyError, match="no language 'basque'"):
        uriel.nearest("eus", 3, within=["basque"])


def test_compare_is_symmetric_and_empty_with_itself(uriel):
    assert uriel.compare("usp", "cak") == []
    there, back = uriel.compare("eus", "spa"), uriel.compare("spa", "eus")
    assert [(one.feature, one.values[::-1], one.origins[::-1]) for one in there] == [
        (one.feature, one.values, one.origins) for one in back
    ]
    by_level = [one for level in Level for one in uriel.compare("eus", "spa", level=level)]
    assert sorted(one.feature for one in by_level) == sorted(one.feature for one in there)


# The user's own vectors.


@st.composite
def profiles(draw) -> Profile:
    values = draw(arrays.arrays(np.float32, K, elements=st.floats(0, 1, width=32)))
    filled = draw(arrays.arrays(np.bool_, K))
    filled[0] = False
    observed = draw(arrays.arrays(np.bool_, K)) & ~filled
    return Profile("made up", values, observed, filled)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profile=profiles())
def test_write_then_read_is_the_identity(uriel, tmp_path, profile):
    path = tmp_path / "made up.csv"
    write_profile(path, profile)
    read = read_profile(path, uriel)
    np.testing.assert_array_equal(read.observed, profile.observed)
    np.testing.assert_array_equal(read.filled, profile.filled)
    np.testing.assert_array_equal(read.values, np.where(profile.filled, uriel.mean(), profile.values))


def test_export_of_a_language_reads_back(uriel, tmp_path):
    write_profile(tmp_path / "eus.csv", uriel.profile("eus"))
    read = read_profile(tmp_path / "eus.csv", uriel)
    np.testing.assert_array_equal(read.values, uriel.vector("eus"))
    np.testing.assert_array_equal(read.observed, uriel.observed("eus"))
    assert uriel.nearest(read, 1)[0].code == "eus"


def test_partial_file(uriel, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\ufefffeature,value\r\n\r\ns_sov, 1\r\nP_TONE,?\r\nS_SVO,0.25\r\nP_CODAS,1,imputed\r\n")
    profile = read_profile(path, uriel)
    position = {name: place for place, name in enumerate(feature_names())}
    assert profile.values[position["S_SOV"]] == 1
    assert profile.values[position["S_SVO"]] == 0.25
    assert profile.origin(position["S_SOV"]) is Origin.OBSERVED
    assert profile.origin(position["P_CODAS"]) is Origin.IMPUTED
    assert profile.origin(position["P_TONE"]) is Origin.FILLED
    assert int(profile.filled.sum()) == K - 3
    np.testing.assert_array_equal(profile.values[profile.filled], uriel.mean()[profile.filled])


def test_unknown_values_are_filled_from_the_languages_given(uriel, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("S_SOV,1\n")
    profile = read_profile(path, uriel, filled_from=["eus", "fra"])
    expected = (uriel.vector("eus") + uriel.vector("fra")) / 2
    np.testing.assert_array_equal(profile.values[profile.filled], expected[profile.filled])
    with pytest.raises(TypologyError, match="over no language"):
        read_profile(path, uriel, filled_from=[])


def test_unknown_values_count_in_no_comparison(uriel, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("S_SOV,1\nP_TONE,0\n")
    profile = read_profile(path, uriel)
    first = uriel.nearest(profile, 1)[0]
    assert first.distance == 0
    assert {one.feature for one in uriel.compare(profile, "vie")} == {"S_SOV", "P_TONE"}
    with pytest.raises(TypologyError, match=r"mine\.csv: no value among its inventory features"):
        uriel.nearest(profile, 1, level=Level.INVENTORY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("S_SOW,1\n", ["line 1", "'S_SOW'", "nearest", "S_SOV"]),
        ("feature,value\nINV_VOW_9,1\n", ["line 2", "INV_VOW_9", "not one of the 245"]),
        ("S_SOV,1\n\nS_SOV,0\n", ["line 3", "S_SOV a second time"]),
        ("S_SOV,?\nS_SOV,1\n", ["line 2", "a second time"]),
        ("S_SOV,1.5\n", ["line 1", "'1.5'", "from 0 to 1"]),
        ("S_SOV,-1\n", ["'-1'", "from 0 to 1"]),
        ("S_SOV,nan\n", ["'nan'", "from 0 to 1"]),
        ("S_SOV,yes\n", ["'yes'", "from 0 to 1"]),
        ("S_SOV,1,guessed\n", ["'guessed'", "observed or imputed"]),
        ("S_SOV;1\n", ["line 1", "1 columns", "feature,value"]),
        ("S_SOV,S_SVO,S_VSO,S_VOS\n1,0,0,0\n", ["4 columns"]),
        ("feature,value\n", ["no feature has a value"]),
        ("S_SOV,?\n", ["no feature has a value"]),
        ("", ["no feature has a value"]),
        ("zzzz,1\n", ["'zzzz'", "wanted one as in S_SVO,1"]),
    ],
)
def test_faulty_files_are_refused_with_the_line(uriel, tmp_path, text, words):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(TypologyError) as caught:
        read_profile(path, uriel)
    assert str(caught.value).startswith(str(path))
    assert all(word in str(caught.value) for word in words)


def test_files_that_cannot_be_read(uriel, tmp_path):
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    for name in ("absent.csv", "binary.csv", "."):
        with pytest.raises(TypologyError, match="wanted"):
            read_profile(tmp_path / name, uriel)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(alphabet='S_OV,1?"\n\r;', max_size=60).map(str.encode))
def test_any_file_is_read_or_refused(uriel, tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    try:
        profile = read_profile(path, uriel)
    except TypologyError as error:
        message = str(error)
    else:
        message = ""
        assert ((profile.values >= 0) & (profile.values <= 1)).all()
    assert "\n" not in message


def test_csv_of_chosen_features(uriel):
    text = profile_as_csv(uriel.profile("eus"), features_of(Level.PHONOLOGY))
    assert text.splitlines()[:2] == ["feature,value,origin", "P_VOICE,1,observed"]
    assert len(text.splitlines()) == 1 + 27


# Damage and absence.


def test_absent_package(monkeypatch):
    def absent(name):
        raise module.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "distribution", absent)
    with pytest.raises(TypologyError, match=r"lang2vec: not installed; .*pip install lang2vec==1\.1\.2"):
        module._installed.__wrapped__()


def test_a_script_called_lang2vec_does_not_hide_the_package(monkeypatch, tmp_path):
    """lang2vec installs bin/lang2vec.py, and bin/ leads the path of every installed command."""
    (tmp_path / "lang2vec.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert module._installed.__wrapped__().knows("eus")


def test_reading_does_not_import_lang2vec():
    code = (
        "import sys; from protoglot.typology import Typology; Typology.installed().observed('eus');"
        "sys.exit(any(name in sys.modules for name in ('lang2vec', 'pkg_resources', 'torch')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def make_database(directory, **changes) -> None:
    """A database of two languages, whole but for the changes."""
    names = np.array([*feature_names(), "S_OTHER"])
    codes = np.array(["aaa", "bbb"])
    values = np.zeros((2, K + 1, 1), dtype=np.float32)
    sources = np.full((2, K + 1, 10), -1, dtype=np.float32)
    values[1, 3], sources[1, 3, 9] = 1, 1
    sources[0, 4, 0] = 0  # an observed absence is an observation
    predicted = {"langs": codes, "feats": names, "data": values} | changes.get("predicted", {})
    stated = {"langs": codes, "feats": names, "data": sources} | changes.get("stated", {})
    np.savez_compressed(directory / PREDICTIONS, **predicted)
    np.savez_compressed(directory / SOURCES, **stated)


def test_small_database(tmp_path):
    make_database(tmp_path)
    small = Typology(tmp_path)
    assert small.vector("bbb").nonzero()[0].tolist() == [3]
    assert small.observed("bbb").nonzero()[0].tolist() == [3]
    assert small.observed("aaa").nonzero()[0].tolist() == [4]


@pytest.mark.parametrize(
    "changes",
    [
        {"predicted": {"data": np.full((2, K + 1, 1), -1, dtype=np.float32)}},
        {"predicted": {"data": np.full((2, K + 1, 1), np.nan, dtype=np.float32)}},
        {"predicted": {"data": np.zeros((3, K + 1, 1), dtype=np.float32)}},
        {"predicted": {"feats": np.array(["S_SVO"] * (K + 1))}},
        {"stated": {"langs": np.array(["aaa", "ccc"])}},
        {"stated": {"data": np.zeros((1, K + 1, 10), dtype=np.float32)}},
        {"stated": {"feats": np.array(["S_SVO"] * (K + 1))}},
    ],
)
def test_foreign_data_are_refused(tmp_path, changes):
    make_database(tmp_path, **changes)
    with pytest.raises(TypologyError, match=r"\.npz: cannot be read as URIEL"):
        Typology(tmp_path).observed("aaa")


@pytest.mark.parametrize("name", [PREDICTIONS, SOURCES])
@pytest.mark.parametrize("damage", ["absent", "empty", "text", "truncated", "member missing"])
def test_damaged_data_are_refused(tmp_path, name, damage):
    make_database(tmp_path)
    path = tmp_path / name
    if damage == "absent":
        path.unlink()
    elif damage == "member missing":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other.npy", b"")
    else:
        content = {"empty": b"", "text": b"hello", "truncated": path.read_bytes()[:-40]}[damage]
        path.write_bytes(content)
    with pytest.raises(TypologyError, match=name):
        Typology(tmp_path).observed("aaa")
