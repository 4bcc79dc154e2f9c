"""Laws that hold for every corpus, whatever form it comes in."""

import contextlib
import re
from itertools import islice

import pytest

from protoglot.corpus.christos import ChristosCorpus
from protoglot.corpus.ebible import EbibleCorpus
from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.udhr import UdhrCorpus
from protoglot.errors import CorpusError
from protoglot.text import normalise

# What normalising changes: a decomposed letter, a control, blanks of all kinds; and a line that has nothing else.
SENTENCES = ["Hau e\u0301 da\u00a0 bat", "bi\x9f", " ", "hiru  lau\t"]
NUM_SENTENCES = 3
BIG = 200_000  # sentences: far more than any reader may buffer


def write_folder(path, sentences):
    for code in ("eus", "glv"):
        (path / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    return FolderCorpus(path)


def write_christos(path, sentences):
    verses = "\n".join(f"<seg>{sentence}</seg>" for sentence in sentences)
    for name in ("Basque-NT", "Basque-tok", "Basque-NT-X"):
        (path / f"{name}.xml").write_text(
            f'<a><language iso639="eus">Basque</language>{verses}</a>', encoding="utf-8"
        )
    return ChristosCorpus(path)


def write_ebible(path, sentences):
    (path / "vref.txt").write_text("GEN 1:1\n" * len(sentences))
    for name in ("eus-a", "eus-b"):
        (path / f"{name}.txt").write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return EbibleCorpus(path)


def write_eld(path, sentences):
    file = path / "big-test.txt"
    file.write_text(
        "".join(f"{code}\t{sentence}\n" for code in ("eu", "gv") for sentence in sentences), encoding="utf-8"
    )
    return EldCorpus(file)


def write_udhr(path, sentences):
    keys = ("eus", "eus_1")
    (path / "index.xml").write_text(
        "<i>" + "".join(f"<udhr f='{f}' iso639-3='eus' stage='4' n='Basque'/>" for f in keys) + "</i>"
    )
    paragraphs = "\n".join(f"<para>{sentence}</para>" for sentence in sentences)
    for key in keys:
        (path / f"udhr_{key}.xml").write_text(f"<udhr>{paragraphs}</udhr>", encoding="utf-8")
    return UdhrCorpus(path)


WRITERS = {
    "folder": write_folder,
    "christos": write_christos,
    "ebible": write_ebible,
    "eld": write_eld,
    "udhr": write_udhr,
}
INSTALLED = {"installed eld": EldCorpus, "installed udhr": UdhrCorpus}


@pytest.fixture(params=[*WRITERS, *INSTALLED])
def corpus(request, tmp_path):
    if request.param in INSTALLED:
        return INSTALLED[request.param]()
    return WRITERS[request.param](tmp_path, SENTENCES)


@pytest.fixture(params=list(WRITERS))
def small(request, tmp_path):
    return WRITERS[request.param](tmp_path, SENTENCES)


def test_languages_are_sorted_and_their_codes_safe_and_unique(corpus):
    codes = [record.code for record in corpus.languages()]
    assert len(codes) >= 2
    assert codes == sorted(codes)
    assert len({code.casefold() for code in codes}) == len(codes)
    assert all(re.fullmatch(r"[A-Za-z0-9@_-]+", code) for code in codes)
    assert re.fullmatch(r"[\w.@-]+", corpus.name)


def test_every_record_says_where_its_text_comes_from(corpus):
    for record in corpus.languages():
        for value in (record.iso639_3, record.name, record.source, record.licence):
            assert value
            assert value == normalise(value)


def test_sentences_are_normalised_and_not_empty(corpus):
    for record in islice(corpus.languages(), 20):
        sentences = list(islice(corpus.sentences(record.code), 100))
        assert sentences
        assert all(sentence and sentence == normalise(sentence) for sentence in sentences)


def test_sentences_are_those_of_the_source_in_its_order(small):
    for record in small.languages():
        assert list(small.sentences(record.code)) == [
            normalise(sentence) for sentence in SENTENCES if normalise(sentence)
        ]


def test_reading_twice_or_at_the_same_time_gives_the_same(corpus):
    first, second = corpus.languages()[:2]
    once = list(corpus.sentences(first.code))
    both = list(
        zip(
            corpus.sentences(first.code), corpus.sentences(second.code), corpus.sentences(first.code), strict=False
        )
    )
    assert once == list(corpus.sentences(first.code))
    assert [left for left, _, _ in both] == [right for _, _, right in both] == once[: len(both)]


def test_an_unknown_language_is_refused_at_once_with_the_nearest(corpus):
    known = corpus.languages()[0]
    with pytest.raises(CorpusError) as caught:
        corpus.sentences(f"{known.code}x")  # not yet read from
    assert f"no language '{known.code}x'" in str(caught.value)
    assert f"{known.code} ({known.name})" in str(caught.value)
    with pytest.raises(CorpusError, match=r"wanted one of its|nearest"):
        corpus.sentences("../../../etc/passwd")


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "eld"])  # eld is kept in memory
def test_little_more_is_read_than_asked_for(kind, tmp_path):
    corpus = WRITERS[kind](tmp_path, ["verse"] * BIG)
    sentences = corpus.sentences(corpus.languages()[0].code)
    next(sentences)
    for file in tmp_path.iterdir():  # what the reader has not read by now, it will not find
        with file.open("r+b") as stream:
            stream.truncate(100_000)
    num_buffered = 0
    with contextlib.suppress(CorpusError):
        for _ in sentences:
            num_buffered += 1
    assert num_buffered < BIG / 4
