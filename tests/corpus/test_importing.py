"""Any corpus as a folder of plain text."""

import csv
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.corpus import open_corpus
from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.importing import MANIFEST_COLUMNS, import_corpus
from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.measuring import measure
from protoglot.corpus.selection import select_languages
from protoglot.errors import CorpusError, StorageError
from protoglot.text import normalise

WORDS = st.text(max_size=30).map(normalise).filter(bool)


def corpus_of(texts, **facts):
    facts = {"name": "some", "source": "nowhere", **facts}
    records = {code: LanguageRecord(code=code, iso639_3=code, **facts) for code in texts}
    return TextsByLanguage("texts", ((records[code], text) for code, text in texts.items()), iter)


def rows_of(folder):
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


@settings(max_examples=40)
@given(
    texts=st.dictionaries(
        st.sampled_from(["eus", "x-a", "y_b"]), st.lists(WORDS, min_size=1, max_size=8), min_size=1
    ),
    name=WORDS,
    family=st.one_of(st.just(""), WORDS),
    licence=WORDS,
)
def test_a_folder_gives_back_the_sentences_the_records_and_the_counts(
    tmp_path_factory, texts, name, family, licence
):
    corpus = corpus_of(texts, name=name, family=family, licence=licence)
    folder = tmp_path_factory.mktemp("imported") / "folder"
    assert import_corpus(corpus, folder) == len(texts)
    again = FolderCorpus(folder)
    assert again.languages() == corpus.languages()
    rows = rows_of(folder)
    assert list(rows) == sorted(texts)
    for code, sentences in texts.items():
        assert list(again.sentences(code)) == sentences
        measured = measure(corpus, code)
        assert int(rows[code]["sentences"]) == measured.num_sentences
        assert int(rows[code]["characters"]) == measured.num_characters
        assert int(rows[code]["distinct_characters"]) == measured.num_distinct_characters
        assert rows[code]["sha256"] == hashlib.sha256((folder / f"{code}.txt").read_bytes()).hexdigest()


def test_importing_what_was_imported_changes_no_byte(tmp_path):
    corpus = select_languages(EldCorpus(), ["eus", "jpn", "tam"])
    import_corpus(corpus, tmp_path / "once")
    import_corpus(FolderCorpus(tmp_path / "once"), tmp_path / "twice")
    names = sorted(file.name for file in (tmp_path / "once").iterdir())
    assert names == ["eus.txt", "jpn.txt", "manifest.csv", "tam.txt"]
    for name in names:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()
    assert FolderCorpus(tmp_path / "twice").languages() == corpus.languages()


def test_languages_without_a_sentence_are_left_out(tmp_path):
    seen = []
    number = import_corpus(corpus_of({"eus": ["bat"], "glv": []}), tmp_path / "to", on_language=seen.append)
    assert number == 1
    assert seen == ["eus", "glv"]
    assert sorted(file.name for file in (tmp_path / "to").iterdir()) == ["eus.txt", "manifest.csv"]
    assert (tmp_path / "to" / "manifest.csv").read_text().splitlines()[0] == ",".join(MANIFEST_COLUMNS)


def failing():
    yield "bat"
    raise CorpusError("damaged half-way")


def interrupted():
    yield "bat"
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ({"eus": ["bat"], "glv": failing()}, CorpusError),
        ({"eus": ["bat"], "glv": interrupted()}, KeyboardInterrupt),
        ({"eus": []}, CorpusError),
    ],
)
def test_a_failure_leaves_nothing(tmp_path, texts, error):
    with pytest.raises(error):
        import_corpus(corpus_of(texts), tmp_path / "to")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_an_existing_destination_is_refused_and_left_alone(tmp_path, kind):
    destination = tmp_path / "to"
    if kind == "directory":
        destination.mkdir()
        (destination / "mine.txt").write_text("precious")
    elif kind == "file":
        destination.write_text("precious")
    else:
        destination.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError, match=r"to: exists already; wanted a new directory"):
        import_corpus(corpus_of({"eus": ["bat"]}), destination)
    assert [path.name for path in tmp_path.iterdir()] == ["to"]
    if kind == "directory":
        assert (destination / "mine.txt").read_text() == "precious"


@pytest.mark.corpora
@pytest.mark.parametrize("form", ["christos-c", "ebible"])
def test_the_two_forms_of_bibles(corpora, tmp_path, form):
    corpus = open_corpus(str(corpora / "formats" / form))
    import_corpus(corpus, tmp_path / "to")
    again = FolderCorpus(tmp_path / "to")
    assert again.languages() == corpus.languages()
    for record in corpus.languages():
        assert list(again.sentences(record.code)) == list(corpus.sentences(record.code))
