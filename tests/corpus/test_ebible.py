import pytest

from protoglot.corpus.ebible import LICENCE, EbibleCorpus
from protoglot.errors import CorpusError

VERSES = "GEN 1:1\nGEN 1:2\nGEN 1:3\nGEN 1:4\n"


@pytest.fixture
def make(tmp_path):
    """Makes a corpus in the form of the repository, or flat."""

    def make_corpus(texts, *, flat=False, **metadata):
        for directory in ("corpus", "metadata"):
            (tmp_path / directory).mkdir()
        if flat:
            (tmp_path / "corpus").rmdir()
        (tmp_path / ("." if flat else "metadata") / "vref.txt").write_text(VERSES)
        for name, content in texts.items():
            (tmp_path / ("." if flat else "corpus") / name).write_text(content, encoding="utf-8")
        for name, content in metadata.items():
            suffix = "tsv" if name == "licences" else "csv"
            (tmp_path / "metadata" / f"{name}.{suffix}").write_text(content, encoding="utf-8")
        return EbibleCorpus(tmp_path)

    return make_corpus


@pytest.mark.parametrize("flat", [False, True])
def test_missing_and_joined_verses_are_skipped(make, flat):
    corpus = make({"eng-engX.txt": "one and two\n<range>\n\n four \n"}, flat=flat)
    (record,) = corpus.languages()
    assert (record.code, record.iso639_3, record.name, record.licence) == ("eng", "eng", "English", LICENCE)
    assert list(corpus.sentences("eng")) == ["one and two", "four"]


@pytest.mark.parametrize(("lines", "count"), [("", 0), ("a\nb\nc\n", 3), ("a\nb\nc\nd\ne\n\n", 6)])
def test_the_number_of_lines_must_be_that_of_the_verses(make, lines, count):
    sentences = make({"eng-x.txt": lines}).sentences("eng")
    with pytest.raises(
        CorpusError, match=rf"eng-x\.txt: {count} lines; wanted 4, one for each line of .*vref\.txt"
    ):
        list(sentences)


def test_the_last_line_may_lack_its_end(make):
    assert list(make({"eng-x.txt": "a\n\n\nd"}).sentences("eng")) == ["a", "d"]


def test_the_largest_translation_has_the_plain_code(make):
    small, large = "a\n\n\n\n", "a long verse\n\n\n\n"
    corpus = make({"acr-acr-acc.txt": small, "acr-acrNNT.txt": large, "acr-acrTNT.txt": large, "aai.txt": small})
    sources = {record.code: record.source.rpartition("/")[2] for record in corpus.languages()}
    assert sources == {
        "aai": "aai.txt",
        "acr": "acr-acrNNT.txt",
        "acr-acr-acc": "acr-acr-acc.txt",
        "acr-acrTNT": "acr-acrTNT.txt",
    }
    assert {record.iso639_3 for record in corpus.languages()} == {"aai", "acr"}


def test_a_code_of_two_letters_becomes_three(make):
    (record,) = make({"en-KJV.txt": "a\n\n\n\n"}).languages()
    assert (record.code, record.iso639_3, record.name) == ("en", "eng", "English")


def test_other_files_are_ignored(make):
    corpus = make({"eng-x.txt": "a\n\n\n\n", "README.txt": "x", "requirements.txt": "x", "x.txt": "x"}, flat=True)
    assert [record.code for record in corpus.languages()] == ["eng"]


def test_unsafe_names_become_safe_codes(make):
    corpus = make({"eng-a b (c).txt": "a\n\n\n\n", "eng-x.txt": "aa\n\n\n\n"})
    assert [record.code for record in corpus.languages()] == ["eng", "eng-a-b-c"]


COLUMNS = ["ID", "Language", "Licence Type", "Licence Version", "Copyright Holder", "Copyright Years"]
TEXTS = {f"{name}.txt": "a\n\n\n\n" for name in ("aak-aak", "abt-abt-maprik", "arb-arb-vd", "abp-abp", "zzz-zzz")}


@pytest.mark.parametrize(("delimiter", "names"), [("\t", ["aak", "abt_maprik", "arb_vd", "abp"]), (",", None)])
def test_licences_in_the_forms_of_two_releases(make, delimiter, names):
    names = names or ["aak-aak", "abt-abt-maprik", "arb-arb-vd", "abp-abp"]
    rows = [
        COLUMNS,
        [names[0], "Ankave", "by-nc-nd", "4.0", "A Society", "copyright © 1990"],
        [names[1], "Ambulas", "by-sa", "4.0", "", ""],
        [names[2], "Arabic", "Public Domain", "", "Public Domain", ""],
        [names[3], "Ayta", "", "", "", ""],
    ]
    table = "".join(delimiter.join(row) + "\n" for row in rows)
    translations = (
        '"languageCode","translationId","Copyright"\n"abp","abp","Copyright © 2020 Some, Inc."\n"aak","aak","x"\n'
    )
    corpus = make(TEXTS, licences=table, translations=translations)
    assert {record.code: record.licence for record in corpus.languages()} == {
        "aak": "CC BY-NC-ND 4.0; copyright © 1990 A Society",
        "abt": "CC BY-SA 4.0",
        "arb": "Public Domain",
        "abp": "Copyright © 2020 Some, Inc.",
        "zzz": LICENCE,
    }


def test_licences_of_another_kind_are_refused(make):
    with pytest.raises(CorpusError, match=r"licences\.tsv: columns a, b; wanted a column 'ID'"):
        make(TEXTS, licences="a,b\n1,2\n")


def test_nothing_to_read(tmp_path):
    with pytest.raises(CorpusError, match=r"no vref\.txt"):
        EbibleCorpus(tmp_path)
    (tmp_path / "vref.txt").write_text(VERSES)
    with pytest.raises(CorpusError, match="no <code>-<translation>"):
        EbibleCorpus(tmp_path)


@pytest.mark.corpora
def test_the_original_files(corpora):
    corpus = EbibleCorpus(corpora / "formats" / "ebible")
    counts = {record.code: sum(1 for _ in corpus.sentences(record.code)) for record in corpus.languages()}
    assert counts == {"ces": 7300, "cha": 7244}
    for record in corpus.languages():
        raw = (corpora / "formats" / "ebible" / record.source.rpartition("/")[2]).read_text(encoding="utf-8")
        kept = [line for line in raw.splitlines() if line.strip() and line.strip() != "<range>"]
        assert len(kept) == counts[record.code]
