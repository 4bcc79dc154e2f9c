import csv

import numpy as np
import pytest

from protoglot.corpus.christos import LICENCE, ChristosCorpus
from protoglot.errors import CorpusError
from protoglot.languages import BIBLE_CORPUS_CORRECTIONS

HEADING = "Filename,ISO_639-3,Language,Family,Genus,Subgenus,Speakers,Script,Full,Parts,Year\n"


def document(*verses, code="xxx", name="Some"):
    header = f'<cesHeader><language id="xx" iso639="{code}">\n {name} </language></cesHeader>'
    body = "".join(
        f'<seg id="b.MAR.1.{number}" type="verse">\n\t{verse}\n</seg>' for number, verse in enumerate(verses)
    )
    return (
        f'<?xml version="1.0" ?>\n<cesDoc version="4">{header}<text><body><div>{body}</div></body></text></cesDoc>'
    )


@pytest.fixture
def make(tmp_path):
    """Makes a corpus of files (with a verse that is their name) and rows of metadata."""

    def make_corpus(files, rows=(), directory="bibles"):
        (tmp_path / directory).mkdir(exist_ok=True)
        for name in files:
            content = files[name] if isinstance(files, dict) else document(name)
            (tmp_path / directory / name).write_text(content, encoding="utf-8")
        if rows:
            lines = "".join(f'{row},Family of it,,,"5,000",Latin,True,,1900\n' for row in rows)
            (tmp_path / "metadata.csv").write_text(HEADING + lines, encoding="utf-8")
        return ChristosCorpus(tmp_path)

    return make_corpus


def test_metadata_become_the_record(make):
    corpus = make(["K'iche'-NT.xml"], ["K'iche'-NT.xml,quc,K’iche’"])
    (record,) = corpus.languages()
    assert (record.code, record.iso639_3, record.name, record.family) == ("quc", "quc", "K’iche’", "Family of it")
    assert record.licence == LICENCE
    assert "K'iche'-NT.xml" in record.source
    assert list(corpus.sentences("quc")) == ["K'iche'-NT.xml"]


@pytest.mark.parametrize("directory", ["bibles", "."])
def test_files_stand_in_the_folder_or_in_bibles(make, directory):
    assert [record.code for record in make(["A.xml"], ["A.xml,eng,English"], directory).languages()] == ["eng"]


def test_a_row_without_its_file_is_skipped(make):
    corpus = make(["A.xml"], ["A.xml,eng,English", "B.xml,fra,French"])
    assert [record.code for record in corpus.languages()] == ["eng"]


def test_a_file_without_a_row_is_described_by_its_header_and_a_row_with_that_code(make):
    corpus = make({"Amharic-NT.xml": document("x", code="amh", name="Amharic")}, ["Amharic.xml,amh,Amharic"])
    (record,) = corpus.languages()
    assert (record.code, record.name, record.family) == ("amh", "Amharic", "Family of it")


def test_metadata_win_over_the_header_and_codes_are_corrected(make):
    corpus = make({"Tuareg-PART.xml": document("x", code="tmh")}, ["Tuareg-PART.xml,ttq,Tamajaq"])
    (record,) = corpus.languages()
    assert (record.code, record.iso639_3) == ("ttq", "tmh")


def test_the_header_of_swahili_is_corrected(make):
    (record,) = make({"Swahili-NT.xml": document("x", code="ssw", name="Swahili")}).languages()
    assert (record.code, record.iso639_3, record.name) == ("ssw", "swh", "Swahili")


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        (["English-WEB", "English"], {"x": "English", "x-WEB": "English-WEB"}),
        (["Chinese-tok", "Chinese"], {"x": "Chinese", "x-tok": "Chinese-tok"}),
        (["Thai-tok"], {"x": "Thai-tok"}),
        (["A-tok", "B-PART"], {"x": "B-PART", "x-A-tok": "A-tok"}),
        (["Estonian-PART", "Estonian"], {"x": "Estonian", "x-PART": "Estonian-PART"}),
        (["A-PART", "B-NT", "C"], {"x": "C", "x-B-NT": "B-NT", "x-A-PART": "A-PART"}),
        (["K'iche'-NT-SIL", "K'iche'-NT"], {"x": "K'iche'-NT", "x-SIL": "K'iche'-NT-SIL"}),
        (["Q'", "Q-", "Q"], {"x": "Q", "x-other": "Q'", "x-other-2": "Q-"}),
    ],
)
def test_several_files_for_one_language(make, files, codes):
    corpus = make([f"{file}.xml" for file in files], [f"{file}.xml,x,X" for file in files])
    assert {record.code: next(corpus.sentences(record.code)) for record in corpus.languages()} == {
        code: f"{file}.xml" for code, file in codes.items()
    }
    assert {record.iso639_3 for record in corpus.languages()} == {"x"}


def test_codes_are_safe_as_names_of_files(make):
    corpus = make(["A.xml", "B.xml"], ["A.xml,../../etc/passwd,A", "B.xml,a b,B"])
    assert [record.code for record in corpus.languages()] == ["a-b", "etc-passwd"]


def test_verses(make):
    verses = ["one", "", " \n ", "In <i>the</i>\n beginning 2 joined", "&lt;&#233;&gt;", "e\u0301"]
    corpus = make({"A.xml": document(*verses)})
    assert list(corpus.sentences("xxx")) == ["one", "In the beginning 2 joined", "<é>", "é"]


def test_damage_is_found_when_it_is_read_and_named(make):
    corpus = make({"A.xml": document("one", "two")[:-20], "B.xml": "<a></a>"}, ["A.xml,a,A", "B.xml,b,B"])
    with pytest.raises(CorpusError, match=r"A\.xml: unclosed token: line \d+"):
        list(corpus.sentences("a"))
    with pytest.raises(CorpusError, match=r"B\.xml: no <seg>"):
        list(corpus.sentences("b"))


def test_a_file_that_says_nothing_of_its_language_is_refused(make):
    with pytest.raises(CorpusError, match=r"A\.xml: no row in metadata\.csv and no <language"):
        make({"A.xml": "<a><seg>x</seg></a>"})


def test_metadata_of_another_kind_are_refused(tmp_path):
    (tmp_path / "A.xml").write_text(document("x"))
    (tmp_path / "metadata.csv").write_text("name,code\nA.xml,eng\n")
    with pytest.raises(CorpusError, match=r"metadata\.csv: columns name, code; wanted a column 'Filename'"):
        ChristosCorpus(tmp_path)


def test_nothing_to_read(tmp_path):
    with pytest.raises(CorpusError, match=r"no \.xml file"):
        ChristosCorpus(tmp_path)


# -- The real corpus


@pytest.mark.corpora
def test_the_original_files_agree_with_the_texts_made_from_them(corpora):
    corpus = ChristosCorpus(corpora / "formats" / "christos-c")
    sentences = {record.iso639_3: list(corpus.sentences(record.code)) for record in corpus.languages()}
    assert {code: len(verses) for code, verses in sentences.items()} == {"gla": 677, "pot": 2078, "tmh": 2768}
    for code, verses in sentences.items():
        derived = set((corpora / "bible77" / f"{code}.txt").read_text(encoding="utf-8").splitlines())
        assert len(derived.intersection(verses)) > 0.9 * len(derived)


@pytest.mark.corpora
def test_corrected_codes_are_those_of_the_manifest(corpora):
    with (corpora / "formats" / "christos-c" / "metadata.csv").open(encoding="utf-8", newline="") as stream:
        codes = {row["Filename"]: row["ISO_639-3"] for row in csv.DictReader(stream)}
    with (corpora / "bible77" / "manifest.csv").open(encoding="utf-8", newline="") as stream:
        wanted = {row["source"].rpartition("/")[2]: row["iso639_3"] for row in csv.DictReader(stream)}
    shared = codes.keys() & wanted.keys()
    assert len(shared) >= 35
    for file in shared:
        assert BIBLE_CORPUS_CORRECTIONS.get(codes[file], codes[file]) == wanted[file], file


@pytest.mark.corpora
def test_uriel_has_every_language(corpora):
    from importlib.metadata import distribution

    predictions = distribution("lang2vec").locate_file("lang2vec/data/feature_predictions.npz")
    known = set(np.load(str(predictions), allow_pickle=False)["langs"].tolist())
    with (corpora / "formats" / "christos-c" / "metadata.csv").open(encoding="utf-8", newline="") as stream:
        codes = [row["ISO_639-3"] for row in csv.DictReader(stream)]
    assert len(codes) == 108
    assert {BIBLE_CORPUS_CORRECTIONS.get(code, code) for code in codes} <= known
    assert set(BIBLE_CORPUS_CORRECTIONS.values()) <= known
