"""Parts of a corpus."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.selection import MIN_SCRIPT_SHARE, select_by_iso, select_languages, select_script
from protoglot.errors import CorpusError

CODES = ("ell", "eus", "fra", "glv", "rus")


def corpus_of(name, isos):
    """A corpus whose languages say their codes."""
    records = (LanguageRecord(code=code, iso639_3=iso, name=code.upper()) for code, iso in isos.items())
    return TextsByLanguage(name, ((record, [f"from {record.code}"]) for record in records), iter)


GREETINGS = corpus_of("greetings", {code: code for code in CODES})
BIBLES = corpus_of("bibles", {"cmn-tok": "cmn", "cmn": "cmn", "swh-x": "swh"})


def test_languages_under_other_codes():
    chosen = select_by_iso(BIBLES, {"ssw": "swh", "zho": "cmn", "fra": "fra"})
    assert [(record.code, record.iso639_3) for record in chosen.languages()] == [("ssw", "swh"), ("zho", "cmn")]
    assert list(chosen.sentences("ssw")) == ["from swh-x"]
    assert list(chosen.sentences("zho")) == ["from cmn"]  # the shortest code
    with pytest.raises(CorpusError, match="swh-x"):
        chosen.sentences("swh-x")
    with pytest.raises(CorpusError, match="none of 1 languages"):
        select_by_iso(BIBLES, {"fra": "fra"})


@pytest.fixture
def mixed(tmp_path):
    texts = {"eus": "kaixo\n", "rus": "привет\n", "num": "12 34\n", "none": ""}
    texts["more"] = "a" * 9 + "ж\n"  # just enough Latin
    texts["less"] = "a" * 8 + "ж\n"
    texts["late"] = "abc\n" * 500 + "жжж\n" * 5000
    for code, text in texts.items():
        (tmp_path / f"{code}.txt").write_text(text, encoding="utf-8")
    return FolderCorpus(tmp_path)


@given(st.lists(st.sampled_from(CODES)))
def test_a_selection_has_what_was_asked_for_in_the_order_of_the_corpus(codes):
    selected = select_languages(GREETINGS, codes)
    assert selected.name == GREETINGS.name
    assert selected.languages() == tuple(record for record in GREETINGS.languages() if record.code in codes)
    for record in selected.languages():
        assert list(selected.sentences(record.code)) == [f"from {record.code}"]
    for code in set(CODES) - set(codes):
        with pytest.raises(CorpusError, match="no language"):
            selected.sentences(code)


def test_selecting_twice_is_selecting_what_both_have():
    once = select_languages(GREETINGS, ["eus", "fra"])
    assert [record.code for record in select_languages(once, ["fra"]).languages()] == ["fra"]
    with pytest.raises(CorpusError, match="corpus greetings: no language 'rus'"):
        select_languages(once, ["rus"])


def test_an_unknown_language_is_named_with_the_nearest():
    with pytest.raises(CorpusError, match=r"no language 'eux'; nearest: .*eus \(EUS\)"):
        select_languages(GREETINGS, ["fra", "eux"])


def test_a_language_counts_as_written_in_the_script_of_nearly_all_its_letters(mixed):
    assert MIN_SCRIPT_SHARE == 0.9
    assert [record.code for record in select_script(mixed, "Latin").languages()] == ["eus", "late", "more"]
    assert [record.code for record in select_script(mixed, "cyrillic").languages()] == ["rus"]


def test_scripts_that_no_language_has_and_that_nobody_knows(mixed):
    with pytest.raises(CorpusError, match="no language in Thai script"):
        select_script(mixed, "Thai")
    with pytest.raises(CorpusError, match=r"script 'latim': unknown; wanted .* Latin"):
        select_script(mixed, "latim")


def test_every_language_of_the_installed_text_is_in_one_script_at_most():
    corpus = EldCorpus()
    by_script = {
        script: {record.code for record in select_script(corpus, script).languages()}
        for script in ("Latin", "Cyrillic", "Arabic")
    }
    assert len(set.union(*by_script.values())) == sum(map(len, by_script.values()))
    assert len(by_script["Latin"]) == 31
    assert {"rus", "bul"} <= by_script["Cyrillic"]
