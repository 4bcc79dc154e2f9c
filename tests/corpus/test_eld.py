import subprocess
import sys
import time
from importlib.metadata import distribution

import numpy as np
import pytest

from protoglot.corpus.eld import EldCorpus
from protoglot.errors import CorpusError, TextError


@pytest.fixture
def write(tmp_path):
    def write_text(content):
        path = tmp_path / "big-test.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_text


def test_sixty_languages_of_a_thousand_sentences_in_little_time():
    start = time.perf_counter()
    corpus = EldCorpus()
    counts = {record.code: sum(1 for _ in corpus.sentences(record.code)) for record in corpus.languages()}
    assert time.perf_counter() - start < 5  # half a second on an idle machine; quadratic: a minute
    assert len(counts) == 60
    assert set(counts.values()) == {1000}


def test_uriel_has_every_language():
    predictions = distribution("lang2vec").locate_file("lang2vec/data/feature_predictions.npz")
    known = set(np.load(str(predictions), allow_pickle=False)["langs"].tolist())
    assert {record.iso639_3 for record in EldCorpus().languages()} <= known


def test_records_name_source_and_licence():
    for record in EldCorpus().languages():
        assert record.code == record.iso639_3
        assert record.name != record.code
        assert record.licence == "Apache-2.0 (package eld 1.0.6)"
        assert "big-test.txt" in record.source


def test_the_package_is_not_imported():
    code = (
        "import sys; from protoglot.corpus.eld import EldCorpus; next(EldCorpus().sentences('eng'));"
        "sys.exit('eld' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_languages_need_not_stand_together(write):
    corpus = EldCorpus(write("en\tone\nfr\tun\nen\ttwo\r\nen\tthree\nfr\tdeux"))
    assert list(corpus.sentences("eng")) == ["one", "two", "three"]
    assert list(corpus.sentences("fra")) == ["un", "deux"]


def test_malformed_lines_are_ignored(write):
    corpus = EldCorpus(
        write("a comment\n\n\ten\n\nxq\tno such code\nenglish\ttext\nen\t \nen\ta\tb\n\xe9\xe9\tx\n")
    )
    assert [record.code for record in corpus.languages()] == ["eng"]
    assert list(corpus.sentences("eng")) == ["a b"]


def test_damage(write, tmp_path):
    with pytest.raises(CorpusError, match="no line 'code<TAB>sentence'"):
        EldCorpus(write(""))
    for content, reason in (
        (b"en\t\xff\n", "invalid UTF-8"),
        ("en\t" + "x" * 1_000_000, "wanted one sentence a line"),
    ):
        with pytest.raises(TextError, match=reason):
            EldCorpus(write(content))
    with pytest.raises(TextError, match="cannot be read"):
        EldCorpus(tmp_path / "nowhere")


@pytest.mark.parametrize("installed", [False, True])
def test_a_package_that_is_missing_or_another_release(monkeypatch, tmp_path, installed):
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]}) if installed else None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    with pytest.raises(CorpusError, match=r"package eld: .*; wanted release 1\.0\.6"):
        EldCorpus()
