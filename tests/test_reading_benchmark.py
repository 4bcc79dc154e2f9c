"""The reading benchmark: texts as the rivals had them, rows that are made once, and sums that come out right."""

import csv
import importlib
import json
import math
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
MODULES = (
    *("reading_texts", "reading_systems", "reading_rows", "reading_table", "reading_curve", "reading"),
    "components",
)
VERSES = [f"verse {number} of this book: {'abcdefgh'[number % 8] * (number % 5 + 1)}." for number in range(300)]


@pytest.fixture
def benchmark(monkeypatch):
    """Any module of the benchmark, by name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def material(benchmark, tmp_path):
    texts = benchmark("reading_texts")
    (tmp_path / "xxx.txt").write_text("".join(f"{verse}\n" for verse in VERSES), encoding="utf-8")
    return texts.read_material(texts.Source("bibles", "xxx", str(tmp_path)))


def make_row(system, language="aaa", *, identity="", corpus="ebible", page=200.0, **bits):
    found = {"page": page, **bits}
    return {
        "corpus": corpus,
        "language": language,
        "system": system,
        "identity": identity,
        "bits": found,
        "characters": dict.fromkeys(found, 100),
    }


@pytest.fixture
def anchors(corpora):
    path = corpora.parent / "anchors" / "compressors.csv"
    if not path.is_file():
        pytest.skip(f"figures of the rivals not found at {path}")
    with path.open(encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


@pytest.mark.corpora
def test_pages_and_tests_are_those_the_rivals_had(benchmark, corpora, anchors):
    texts = benchmark("reading_texts")
    sources = texts.find_sources(corpora / "ebible", None, udhr=False, only={"ebible"})
    assert [source.language for source in sources] == sorted(anchors)
    assert len(sources) == 40
    for source in sources:
        material = texts.read_material(source)
        row = anchors[source.language]
        assert len(texts.join(material.page)) == int(row["characters_page"]), source.language
        assert len(texts.join(material.test)) == int(row["characters_test"]), source.language


@pytest.mark.corpora
def test_ppmd_needs_here_what_it_needed_there(benchmark, corpora, anchors):
    pytest.importorskip("pyppmd")
    texts, systems = benchmark("reading_texts"), benchmark("reading_systems")
    found = systems.measure_ppmd(texts.read_material(texts.Source("ebible", "stp", str(corpora / "ebible"))))
    for measure, column in (("page", "ppmd_page"), ("static100", "ppmd_static"), ("on", "ppmd_online")):
        bits = found.bits[measure] / found.characters[measure]
        assert bits == pytest.approx(float(anchors["stp"][column]), abs=6e-5), measure


@pytest.mark.corpora
def test_every_source_of_the_benchmark_is_there(benchmark, corpora):
    texts = benchmark("reading_texts")
    sources = texts.find_sources(corpora / "ebible", corpora / "bible77", udhr=True)
    counts = Counter(source.corpus for source in sources)
    assert counts == {"ebible": 40, "bibles": 9, "eld": 5, "udhr": 8}
    for source in sources:
        if source.corpus != "ebible":
            material = texts.read_material(source)
            assert 80 < len(material.page) <= 100
            assert len(material.test) == (0 if source.corpus == "udhr" else 100)


@pytest.mark.corpora
def test_parts_are_weighed_on_validation_languages_alone(benchmark, corpora):
    texts = benchmark("reading_texts")
    sources = texts.validation_sources(corpora / "ebible")
    codes = {source.language for source in sources}
    assert len(codes) == len(sources) == 23
    assert not codes & {source.language for source in texts.find_sources(corpora / "ebible", None, udhr=True)}


def test_a_part_brings_what_is_lost_without_it(benchmark):
    table = benchmark("reading_table")
    measures = dict.fromkeys(("first10", "on", "static10", "static100"), 100.0)
    rows = [
        {
            **make_row(system, language, corpus="validation", page=page, **measures),
            "characters": dict.fromkeys([*measures, "page"], 100),
        }
        for language, pages in (("aaa", (100.0, 102.0, 99.0)), ("bbb", (200.0, 208.0, 198.0)))
        for system, page in zip(("reader", "no-words", "told"), pages, strict=True)
    ]
    lines = table.table_of_parts(rows).splitlines()
    assert lines[0].startswith("| percent, 2 languages | first 10 | page |")
    assert lines[2].split(" | ")[2] == "1.500"
    assert lines[3].startswith("| word lists of other languages | 0.00 ± 0.00 | 3.00 ± 1.00 |")
    assert lines[4].startswith("| the code of the language | 0.00 ± 0.00 | 1.00 ± 0.00 |")
    with pytest.raises(SystemExit, match="no row of the reader on validation"):
        table.table_of_parts([row for row in rows if row["system"] != "reader"])


def test_no_line_of_the_test_is_on_the_page(material):
    assert len(set(material.page)) == 100
    assert material.test == VERSES[270:]
    assert not set(material.page) & set(VERSES[240:])


def test_a_curve_begins_with_the_page_and_goes_on_with_the_other_lines(benchmark, material):
    texts = benchmark("reading_texts")
    text = texts.curve_text(VERSES)
    assert text.startswith(texts.join(material.page))
    assert sorted(text.splitlines()) == sorted(VERSES)
    assert texts.curve_text(VERSES, 50) == text[:50]


def test_only_names_corpora_languages_or_both(benchmark, tmp_path):
    texts = benchmark("reading_texts")
    found = texts.find_sources(None, tmp_path, udhr=True, only={"eld/kur", "udhr", "tur"})
    assert [(source.corpus, source.language) for source in found] == [
        ("eld", "kur"),
        ("bibles", "tur"),
        *(("udhr", code) for code in texts.UDHR_CODES),
    ]
    with pytest.raises(SystemExit, match="xyz"):
        texts.find_sources(None, None, udhr=False, only={"xyz"})


def test_bits_of_an_ngram_add_up(benchmark, material):
    from protoglot.ngram import NGram, Smoothing
    from protoglot.vocabulary import Vocabulary

    systems = benchmark("reading_systems")
    sentences = [*material.test[:3], "ŋandi, that was new"]
    vocabulary = Vocabulary.of(material.page)
    ngram = NGram.train(material.page, vocabulary, order=7, smoothing=Smoothing.KNESER_NEY)
    score = ngram.score(sentences)
    bits = systems.ngram_bits(material.page, sentences)
    assert len(bits) == score.num_characters
    assert bits.sum() * math.log(2) == pytest.approx(score.nats)
    assert np.isfinite(systems.ngram_bits([], sentences)).all()


def test_measures_of_an_ngram_are_sums_over_lines(benchmark, material):
    systems, texts = benchmark("reading_systems"), benchmark("reading_texts")
    found = systems.measure_ngram(material)
    assert set(found.bits) == set(systems.MEASURES)
    assert 0 < found.bits["first10"] < found.bits["first30"] < found.bits["page"]
    lines = [systems.ngram_bits(material.page[:30], [line]).sum() for line in material.test]
    assert found.bits["static30"] == pytest.approx(math.fsum(lines))
    assert found.characters["first10"] == len(texts.join(material.page[:10]))


def test_stretches_of_a_curve_cover_every_character_once(benchmark):
    systems, texts = benchmark("reading_systems"), benchmark("reading_texts")
    text = texts.curve_text(VERSES)[:1000]
    learned = []

    def costs(before, sentences):
        learned.append(len(texts.join(before)))
        return np.array([ord(character) for character in texts.join(sentences)], float)

    points = [0, 10, 27, 28, 300, 1000]
    found = list(systems.ngram_stretches(text, points, costs))
    assert "".join(chr(int(code)) for code in np.concatenate(found)) == text
    assert learned == [0, *(point + (text[point - 1] != "\n") for point in points[1:-1])]


def test_a_curve_ends_at_the_bits_of_the_whole_text(benchmark):
    pytest.importorskip("pyppmd")
    systems, texts = benchmark("reading_systems"), benchmark("reading_texts")
    text = texts.curve_text(VERSES)
    bits = systems.trace("ppmd", text, [0, 10, 100, len(text)], systems.Setting())
    assert bits[0] == 0
    assert bits == sorted(bits)
    assert bits[-1] == 8 * (systems.ppmd_size(text) - systems.ppmd_size(""))


def test_rows_that_are_there_are_not_made_again(benchmark, tmp_path):
    rows_of, texts, systems = benchmark("reading_rows"), benchmark("reading_texts"), benchmark("reading_systems")
    path = tmp_path / "rows.jsonl"
    sources = [texts.Source("eld", code, "eld") for code in ("aze", "kur")]
    for code, identity in (("aze", ""), ("kur", "another")):
        row = make_row("ngram", code, corpus="eld", identity=identity)
        with path.open("a") as file:
            file.write(rows_of.json.dumps(row) + "\n")
    with path.open("a") as file:
        file.write('{"corpus": "eld", "langu')  # cut off
    rows = rows_of.read_rows(path)
    assert [row["language"] for row in rows] == ["aze", "kur"]
    left = rows_of.tasks_left(sources, ["ngram"], systems.Setting(), rows)
    assert [task.key for task in left] == [("eld", "kur", "ngram", "")]


def test_rows_are_made_in_other_processes_and_once(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "benchmarks"))
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    rows, path = benchmark("reading_rows"), tmp_path / "rows.jsonl"
    arguments = ["reading.py", "run", "--udhr", "--only", "udhr/cym", "--systems", "ngram", "--out", str(path)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--jobs", "1"])
    path.write_text('{"cut')
    main = benchmark("reading").main
    main()
    (row,) = rows.read_rows(path)
    assert (row["corpus"], row["language"], row["system"]) == ("udhr", "cym", "ngram")
    assert row["bits"]["page"] > row["bits"]["first30"] > row["bits"]["first10"] > 0
    assert row["commit"]
    assert row["versions"]["numpy"]
    assert "left 0:00:00" in capsys.readouterr().out
    main()
    assert "0 rows to make" in capsys.readouterr().out
    assert len(rows.read_rows(path)) == 1


def test_time_left_is_reckoned_by_system(benchmark):
    rows = benchmark("reading_rows")
    assert rows.seconds_left(["a", "a", "b", "c"], {"a": [1.0, 3.0], "b": [10.0]}) == 2 + 2 + 10 + 6
    assert rows.seconds_left(["a"], {}) == 0


def test_ratios_are_of_means_over_common_languages(benchmark):
    table = benchmark("reading_table")
    bits = {"reader": {"aaa": 1.0, "bbb": 2.0, "ccc": 9.0}, "ppmd": {"aaa": 2.0, "bbb": 1.0, "ddd": 9.0}}
    assert table.compare(bits, "reader", "ppmd") == (1.0, 1, 2)
    assert table.compare(bits, "reader", "paq8px")[1:] == (0, 0)


def test_tables_say_what_was_measured(benchmark):
    table = benchmark("reading_table")
    rows = [
        make_row("reader", "bbb", identity="1"),
        make_row("paq8px", "aaa", page=300.0, on=100.0),
        make_row("reader", "aaa", identity="1", page=150.0, on=110.0),
        make_row("ppmd", "aaa", page=300.0),
        make_row("reader", "kur", identity="1", corpus="udhr"),
        make_row("ppmd", "kur", corpus="udhr", page=250.0),
    ]
    chosen = table.chosen_rows(rows)
    made = table.make_tables(chosen)
    assert "| reader | 2 | 1.750 | 1.100 |" in made
    assert "| paq8px 216 `-5` (measured elsewhere) | 1 | 3.000 | 1.000 |" in made
    assert "| Bibles, test | page | paq8px | 0.500 (1 of 1) |" in made
    assert "| Bibles, test | reading on | paq8px | 1.100 (0 of 1) |" in made
    assert "| Declaration | page | PPMd | 0.800 (1 of 1) |" in made
    assert table.make_tables(table.chosen_rows(rows[::-1])) == made
    lines = table.make_csv(chosen).splitlines()
    assert lines[1].startswith("ebible,aaa,reader,100,100,1.5000,")
    assert table.make_csv(table.chosen_rows(rows[::-1])).splitlines() == lines


def test_the_readme_has_the_summary_of_the_rows(benchmark, tmp_path):
    table = benchmark("reading_table")
    rows = [make_row("reader", page=150.0, on=110.0), make_row("ppmd", page=300.0, on=90.0)]
    page = tmp_path / "README.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    for _ in range(2):  # the second time nothing changes
        table.update_readme(page, rows)
        assert page.read_text().startswith(f"before\n{table.BEGIN}\n| bits per character | reader | PPMd |\n")
        assert page.read_text().endswith(f"{table.END}\nafter\n")
        assert "| page of 100 sentences, from nothing | **1.500** | 3.000 |" in page.read_text()
        assert "| 100 further sentences, reading on | 1.100 | **0.900** |" in page.read_text()
    page.write_text("no markers")
    with pytest.raises(SystemExit, match="wanted"):
        table.update_readme(page, rows)
    with pytest.raises(SystemExit, match="no row of the reader"):
        table.summary(rows[1:])


def test_a_table_is_of_one_scorer(benchmark):
    table = benchmark("reading_table")
    rows = [make_row("reader", identity="1a"), make_row("reader", identity="2b", page=1.0), make_row("ngram")]
    assert [row["identity"] for row in table.chosen_rows(rows)] == ["2b", ""]
    assert [row["identity"] for row in table.chosen_rows(rows, "1")] == ["1a", ""]
    with pytest.raises(SystemExit, match="0 scorers"):
        table.chosen_rows(rows, "3")


@pytest.fixture
def curves(benchmark):
    """One system that needs 6 bits less the decimal logarithm of the place, and one ten times as slow to get there."""
    curve = benchmark("reading_curve")
    points = [0, *curve.POINTS]
    exact = np.cumsum(6 - np.log10(np.arange(1, points[-1] + 1)))
    rows = []
    for system, shift in (("reader", 0.0), ("ppmd", 1.0)):
        bits = [0.0, *(float(exact[p - 1] + shift * p) for p in points[1:])]
        rows.append(
            {"language": "aaa", "system": system, "points": points, "bits": bits, "characters_per_sentence": 100.0}
        )
    return curve.curves_of(rows)


def test_the_area_between_curves_is_the_bits_saved(benchmark, curves):
    curve = benchmark("reading_curve")
    assert curve.saved_bits(curves["reader"], curves["ppmd"], 1_000) == pytest.approx(1_000)
    assert curve.saved_bits(curves["reader"], curves["ppmd"], 100_000) == pytest.approx(100_000)


def test_one_bit_at_a_bit_per_decade_is_worth_ten_times_the_sentences(benchmark, curves):
    curve = benchmark("reading_curve")
    assert curve.worth(curves["reader"], curves["ppmd"], 10) == pytest.approx(100, rel=0.01)
    assert math.isinf(curve.worth(curves["reader"], curves["ppmd"], 200))
    described = curve.describe_gap(curves)
    assert "| PPMd | 1,000 | 10,000 | 100,000 |" in described
    assert "more than 1000" in described


def test_curves_are_drawn_the_same_each_time(benchmark, curves, tmp_path):
    pytest.importorskip("matplotlib")
    curve = benchmark("reading_curve")
    first = curve.draw(curves, tmp_path / "a.svg")
    second = curve.draw(curves, tmp_path / "b.svg")
    assert [path.suffix for path in first] == [".svg", ".png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_curves_need_the_same_languages(benchmark):
    curve = benchmark("reading_curve")
    with pytest.raises(SystemExit, match="no language"):
        curve.curves_of([])


def test_measures_of_online_map_are_of_one_stream(benchmark, material, monkeypatch):
    systems, texts = benchmark("reading_systems"), benchmark("reading_texts")
    read = []

    class Online:
        def read(self, text):
            read.append(text)
            return np.full(len(text), float(len(read)))

    monkeypatch.setattr(systems, "online_model", lambda language: Online())
    found = systems.measure("univ-online", material, systems.Setting())
    assert "".join(read) == texts.join([*material.page, *material.test])
    sizes = [len(text) for text in read]
    assert found.bits == {
        "first10": sizes[0],
        "first30": sizes[0] + 2 * sizes[1],
        "page": sizes[0] + 2 * sizes[1] + 3 * sizes[2],
        "on": 4 * sizes[3],
    }
    assert found.characters["page"] == sum(sizes[:3])
    bits = systems.trace("univ-online", "abcdef", [0, 2, 5], systems.Setting())
    assert bits == [0, 10, 25]
    assert {"univ", "univ-online"}.isdisjoint(systems.NO_CURVE)


class Codes:
    """A model that pays the code of a character, and as many bits more as sentences it has learned from."""

    def __init__(self, learned):
        self.learned = learned

    def nats(self, sentences):
        text = "".join(f"{sentence}\n" for sentence in sentences)
        return (np.array([ord(character) for character in text], float) + 1000 * self.learned) * math.log(2)


def test_univ_learns_anew_when_the_sentences_have_doubled(benchmark, monkeypatch):
    import protoglot.adaptation

    systems = benchmark("reading_systems")
    prior = SimpleNamespace(settings_for=lambda method: method)
    monkeypatch.setattr(systems, "universal_prior", lambda: prior)
    monkeypatch.setattr(systems, "typology_of", lambda prior, language: None)
    monkeypatch.setattr(
        protoglot.adaptation, "learn_language", lambda prior, sentences, **_: Codes(len(sentences))
    )
    text = "a\nbb\nccc\ndd\ne\nff\ngg"
    for length in (1, 2, 3, len(text) - 1, len(text)):
        bits = systems.univ_bits(text[:length], "xxx")
        learned, codes = np.divmod(np.round(bits).astype(int), 1000)
        assert "".join(map(chr, codes)) == text[:length]
        numbers = [text[:place].count("\n") for place in range(length)]
        assert learned.tolist() == [0 if not n else 1 << (n.bit_length() - 1) for n in numbers]


def product(reader, component, a, b):
    found = reader**a * component**b
    return found / found.sum(axis=1, keepdims=True)


def test_powers_are_found_that_made_a_text(benchmark):
    components = benchmark("components")
    generator = np.random.default_rng(0)
    reader, component = generator.dirichlet(np.ones(5), (2, 20_000))
    truth = product(reader, component, 0.7, 0.4)
    targets = (truth.cumsum(axis=1) > generator.random((len(truth), 1))).argmax(axis=1)
    example = components.Example(np.log([reader, component]), targets, np.zeros(len(targets)))
    powers = components.best_powers([example, example])
    assert powers == pytest.approx([0.7, 0.4], abs=0.05)
    bits, gradient, curvature = example.bits(powers)
    exact = -np.log2(product(reader, component, *powers)[np.arange(len(targets)), targets]).mean()
    assert bits == pytest.approx(exact)
    assert np.abs(gradient).max() < 1e-4
    step = np.array([1e-4, 0.0])
    assert (example.bits(powers + step)[1] - gradient) / 1e-4 == pytest.approx(curvature[0], rel=1e-2)


def test_outcomes_of_a_component_are_those_of_the_reader(benchmark):
    from protoglot.vocabulary import Vocabulary

    components = benchmark("components")
    vocabulary = Vocabulary("abc")
    found = np.log(np.array([[0.4, 0.1, 0.2, 0.2, 0.1]] * 3))  # end, other, a, b, c
    made = components.onto_outcomes(found, vocabulary, "aω\n", ["\n", "b", "ω"], np.array([2, 2, 3]))
    named = 0.1 * math.exp(-vocabulary.other_nats("ω"))
    assert np.exp(made.log_probabilities[0, 1:3]) == pytest.approx([0.4, 0.2])
    assert np.exp(made.log_probabilities[[0, 2], 0]) == pytest.approx([0.4, 0.4 - named])
    assert np.exp(made.log_probabilities[2, 3]) == pytest.approx(named)
    assert 2**-made.bits == pytest.approx([0.2, named, 0.4])


def test_a_reader_pays_by_outcomes_what_it_pays(benchmark):
    from protoglot.reading.reader import Reader
    from tiny_scorer import tiny_scorer

    components = benchmark("components")
    reader = Reader(tiny_scorer())
    reader.read("ab ba\nab\n")
    wanted = [reader.score(f"{line}\n").bits for line in ("abx xay", "bay")]
    read = reader.text
    static = components.read_test(reader, ["abx xay", "bay"], static=True)
    assert reader.text == read
    assert static.bits == pytest.approx(np.concatenate(wanted))
    on = components.read_test(reader, ["abx xay", "bay"], static=False)
    assert set(on.met) == set("ab \nxy")
    for found in (static, on):
        assert np.exp(found.log_probabilities).sum(axis=1) == pytest.approx(np.ones(len(found.bits)))
        example = components.Example(
            np.stack([found.log_probabilities, np.zeros_like(found.log_probabilities)]),
            found.targets,
            found.naming,
        )
        assert example.bits(np.array([1.0, 0.0]))[0] == pytest.approx(found.bits.mean())


def test_gains_are_of_means_over_languages(benchmark):
    components = benchmark("components")
    rows = [
        {
            **{"language": code, "page": 100, "mode": "static", "component": "univ", "reader": 2.0},
            **{"alone": 3.0, "combined": combined, "powers": [0.9, 0.1]},
        }
        for code, combined in (("aaa", 1.9), ("bbb", 2.02))
    ]
    assert "| LSTM, UNIV | 3.000 | 1.960 | 2.00 % | 1 of 2 | 0.90, 0.10 |" in components.make_table(rows)


def test_removed_components_are_marked_and_have_gains_over_the_reader_of_their_time(benchmark):
    components = benchmark("components")
    row = {"language": "aaa", "page": 100, "mode": "static", "alone": 3.0, "combined": 1.9, "powers": [0.9, 0.1]}
    rows = [
        {**row, "component": "univ", "reader": 1.92, "commit": "new"},
        {**row, "component": "former", "reader": 2.0, "commit": "old"},
    ]
    table = components.make_table(rows)
    assert "The reader alone: 1.920." in table
    label = "former whole model (no longer part of protoglot; measured at commit old)"
    assert f"| {label} | 3.000 | 1.900 | 5.00 % | 1 of 1 | 0.90, 0.10 |" in table


def test_components_are_run_and_rows_of_removed_ones_are_kept(benchmark, tmp_path, monkeypatch, capsys):
    import torch

    from protoglot.online_adaptation import OnlineAdaptation
    from protoglot.prior.universal import UniversalPrior
    from tiny import tiny_trained
    from tiny_scorer import tiny_scorer

    components, rows = benchmark("components"), benchmark("reading_rows")
    trained = tiny_trained()
    prior = UniversalPrior(
        mean=trained,
        fisher={name: torch.ones_like(weight) for name, weight in trained.model.named_parameters()},
        frequencies=np.full(len(trained.vocabulary) - 1, 1 / (len(trained.vocabulary) - 1), dtype=np.float32),
        prior_variance=1.0,
        num_training_sequences=10,
        num_sequences=dict.fromkeys(trained.fold.training, 10),
    )
    monkeypatch.setattr(components, "universal_prior", lambda: prior)
    monkeypatch.setattr(components, "typology_of", lambda prior, language: None)
    monkeypatch.setattr(components, "online_model", lambda language: OnlineAdaptation(prior))
    monkeypatch.setattr(components, "load_scorer", lambda path: tiny_scorer())
    monkeypatch.setattr(components, "identity_of", lambda system, setting: system)
    monkeypatch.setattr(components, "TEST", 2)
    for code in ("aaa", "bbb"):
        text = "".join(f"{code}, {verse}\n" for verse in VERSES)
        (tmp_path / f"{code}.txt").write_text(text, encoding="utf-8")
    old = {"language": "aaa", "page": 2, "mode": "static", "reader": 2.0, "alone": 3.0, "combined": 1.9}
    old |= {"powers": [0.9, 0.1], "commit": "old"}
    out = tmp_path / "rows.jsonl"
    out.write_text("".join(json.dumps({**old, "component": name}) + "\n" for name in ("former", "univ")))
    options = ["--corpus", tmp_path, "--predictions", tmp_path / "predictions", "--out", out]
    command = ["components", "run", *map(str, options), "--languages", "aaa,bbb", "--pages", "2"]
    monkeypatch.setattr(sys, "argv", command)
    components.main()
    made = rows.read_rows(out)
    assert [row for row in made if row.get("commit") == "old"] == [{**old, "component": "former"}]
    for mode in ("static", "on"):
        found = [(row["component"], row["language"]) for row in made[1:] if row["mode"] == mode]
        assert found == [(name, code) for name in components.components_of(mode) for code in ("aaa", "bbb")]
    assert all(0 < row["alone"] < 20 and 0 < row["combined"] < 20 for row in made)
    assert capsys.readouterr().out.endswith(components.make_table(made))


def test_the_table_of_components_is_that_of_its_rows(benchmark):
    components = benchmark("components")
    rows = benchmark("reading_rows").read_rows(components.ROWS)
    table = (ROOT / "docs" / "components-table.md").read_text(encoding="utf-8")
    assert components.make_table(rows) == table
    gains = [
        1 - math.fsum(row["combined"] for row in own) / math.fsum(row["reader"] for row in own)
        for page, mode in {(row["page"], row["mode"]) for row in rows}
        for name in components.LABELS[mode]
        if (own := [r for r in rows if (r["page"], r["mode"], r["component"]) == (page, mode, name)])
    ]
    assert max(gains) < components.KEPT / 100  # as the page about it says
