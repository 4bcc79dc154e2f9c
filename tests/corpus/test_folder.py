import csv

import pytest

from protoglot.corpus.folder import FolderCorpus, read_manifest
from protoglot.errors import CorpusError, TextError


@pytest.fixture
def make(tmp_path):
    def make_folder(texts, manifest=None):
        for name, content in texts.items():
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        if manifest is not None:
            (tmp_path / "manifest.csv").write_text(manifest, encoding="utf-8")
        return FolderCorpus(tmp_path)

    return make_folder


def test_without_a_manifest_the_name_is_that_of_the_code(make, tmp_path):
    corpus = make({"eus.txt": "bat\n", "xx-mine.txt": "one\n"})
    known, own = corpus.languages()
    assert (known.code, known.iso639_3, known.name, known.licence) == ("eus", "eus", "Basque", "unknown")
    assert (own.code, own.name, own.source) == ("xx-mine", "xx-mine", "xx-mine.txt")
    assert corpus.name == tmp_path.name


def test_the_manifest_describes_what_it_lists(make):
    manifest = (
        "language,code,iso639_3,family,source,licence,extra\nJakalteko,jak,jac,Mayan,a book,CC0,1\nGone,xxx,,,,,\n"
    )
    corpus = make({"jak.txt": "a\n", "eus.txt": "b\n"}, manifest)
    basque, jakalteko = corpus.languages()
    assert basque.name == "Basque"
    assert (jakalteko.code, jakalteko.iso639_3, jakalteko.name) == ("jak", "jac", "Jakalteko")
    assert (jakalteko.family, jakalteko.source, jakalteko.licence) == ("Mayan", "a book", "CC0")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("", "columns nothing; wanted a column 'code'"),
        ("iso,language\n", "columns iso, language; wanted a column 'code'"),
        ("code,language\neus,Basque\neus,Euskara\n", "line 3: code 'eus' twice"),
        ("code,language\n,Basque\n", "line 2: a row without a code"),
        ('code,language\neus,"Basque\nglv,Manx\n', "after line 1: unexpected end of data"),
    ],
)
def test_defects_of_the_manifest(make, manifest, message):
    with pytest.raises(CorpusError) as caught:
        make({"eus.txt": "a\n"}, manifest)
    assert f"manifest.csv: {message}" in str(caught.value)


def test_a_manifest_in_another_encoding(make, tmp_path):
    (tmp_path / "manifest.csv").write_bytes("code,language\nglv,Manx Gäilck\n".encode("latin-1"))
    with pytest.raises(TextError, match=r"manifest\.csv: line 2, byte 24"):
        make({"glv.txt": "a\n"})


def test_short_and_long_rows_are_read(tmp_path):
    (tmp_path / "manifest.csv").write_text("code,language\neus\nglv,Manx,more,cells\n")
    assert read_manifest(tmp_path / "manifest.csv") == {
        "eus": {"code": "eus", "language": ""},
        "glv": {"code": "glv", "language": "Manx"},
    }


def test_only_visible_text_files_count(make, tmp_path):
    (tmp_path / "dir.txt").mkdir()
    corpus = make({"eus.txt": "a\n", ".hidden.txt": "b\n", "notes.md": "c\n"})
    assert [record.code for record in corpus.languages()] == ["eus"]


def test_names_with_characters_special_to_patterns(tmp_path):
    folder = tmp_path / "my [corpus] *"
    folder.mkdir()
    (folder / "a?b.txt").write_text("x\n")
    assert list(FolderCorpus(folder).sentences("a?b")) == ["x"]


def test_names_that_no_table_can_show_are_refused(make):
    with pytest.raises(CorpusError, match=r"file 'a\\nb\.txt'; wanted a name in printable characters"):
        make({"a\nb.txt": "x\n"})


def test_nothing_to_read(tmp_path):
    with pytest.raises(CorpusError, match=r"no \.txt file"):
        FolderCorpus(tmp_path)


def test_sentences(make):
    corpus = make(
        {"eus.txt": "one\n\n \t\n e\u0301 \r\nlast", "glv.txt": "", "gla.txt": "only one", "bad.txt": b"a\n\xff"}
    )
    assert list(corpus.sentences("eus")) == ["one", "é", "last"]
    assert list(corpus.sentences("glv")) == []
    assert list(corpus.sentences("gla")) == ["only one"]
    sentences = corpus.sentences("bad")
    with pytest.raises(TextError, match=r"bad\.txt: line 2, byte 2"):
        list(sentences)


@pytest.mark.corpora
def test_counts_of_the_77_bibles_agree_with_their_manifest(corpora):
    corpus = FolderCorpus(corpora / "bible77")
    with (corpora / "bible77" / "manifest.csv").open(encoding="utf-8", newline="") as stream:
        rows = {row["code"]: row for row in csv.DictReader(stream)}
    assert len(corpus.languages()) == len(rows) == 77
    for record in corpus.languages():
        verses, characters, distinct = 0, 0, set()
        for sentence in corpus.sentences(record.code):
            verses += 1
            characters += len(sentence)
            distinct.update(sentence)
        row = rows[record.code]
        wanted = tuple(int(row[column]) for column in ("verses", "characters", "distinct_characters"))
        assert (verses, characters, len(distinct)) == wanted, record.code
        assert (record.iso639_3, record.licence) == (row["iso639_3"], row["licence"])
