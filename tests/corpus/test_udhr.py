import importlib.metadata
import subprocess
import sys

import pytest

from protoglot.corpus.udhr import LICENCE, UdhrCorpus
from protoglot.errors import CorpusError


@pytest.fixture
def make(tmp_path):
    """Makes a folder of versions given as (f, code, stage)."""

    def make_corpus(*versions, missing=()):
        index = "".join(
            f"<udhr f='{f}' iso639-3='{code}' stage='{stage}' n='Name of {f}'/>" for f, code, stage in versions
        )
        (tmp_path / "index.xml").write_text(f"<udhrs>{index}</udhrs>")
        for f, _, _ in versions:
            if f not in missing:
                (tmp_path / f"udhr_{f}.xml").write_text(
                    f'<udhr xmlns="http://www.unhchr.ch/udhr"><note><para>left out</para></note><title>{f}</title>'
                    "<article><para>A &#233;</para><listitem><para> </para></listitem></article></udhr>"
                )
        return UdhrCorpus(tmp_path)

    return make_corpus


def test_titles_and_paragraphs_are_sentences_and_notes_are_not(make):
    assert list(make(("eng", "eng", 4)).sentences("eng")) == ["eng", "A é"]


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        (["x_1", "x"], {"x": "x", "x-1": "x_1"}),
        (["008", "x"], {"x": "x", "x-008": "008"}),
        (["auv", "x_2", "x_1"], {"x": "x_1", "x-2": "x_2", "x-auv": "auv"}),
        (["b", "a"], {"x": "a", "x-b": "b"}),
        (["x", "x2"], {"x": "x", "x-x2": "x2"}),
    ],
)
def test_several_versions_in_one_language(make, keys, codes):
    corpus = make(*((key, "x", 4) for key in keys))
    assert {record.code: next(corpus.sentences(record.code)) for record in corpus.languages()} == codes


def test_versions_in_no_known_language_have_the_name_of_their_file(make):
    corpus = make(("012", "und", 4), ("013", "und", 4))
    assert [record.code for record in corpus.languages()] == ["und-012", "und-013"]


def test_incomplete_versions_and_those_without_a_file_are_left_out(make):
    corpus = make(("eng", "eng", 5), ("fra", "fra", 3), ("deu", "deu", 4), missing=["deu"])
    assert [record.code for record in corpus.languages()] == ["eng"]


def test_an_index_does_not_lead_out_of_its_folder(make, tmp_path):
    (tmp_path / "udhr_").mkdir()
    (tmp_path.parent / "secret.xml").write_text("<udhr><para>secret</para></udhr>")
    corpus = make(("eng", "eng", 4), ("/../../secret", "fra", 4), missing=["/../../secret"])
    assert [record.code for record in corpus.languages()] == ["eng"]


def test_an_empty_or_damaged_index(make, tmp_path):
    with pytest.raises(CorpusError, match=r"index\.xml: no version with a file"):
        make()
    (tmp_path / "index.xml").write_text("<udhrs>")
    with pytest.raises(CorpusError, match=r"index\.xml: no element found"):
        UdhrCorpus(tmp_path)


def test_a_package_that_is_missing(monkeypatch):
    def find_nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", find_nothing)
    with pytest.raises(CorpusError, match=r'notofonttools: not found; .*pip install "protoglot\[udhr\]"'):
        UdhrCorpus()


def test_a_package_without_the_text(monkeypatch, tmp_path):
    empty = type("Distribution", (), {"locate_file": lambda self, name: tmp_path / name})
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: empty())
    with pytest.raises(CorpusError, match=r"no third_party/udhr/index\.xml"):
        UdhrCorpus()


def test_the_installed_versions_are_all_complete():
    corpus = UdhrCorpus()
    counts = {record.code: sum(1 for _ in corpus.sentences(record.code)) for record in corpus.languages()}
    assert len(counts) == 446
    assert min(counts.values()) >= 60  # 30 articles with their titles
    by_code = {record.code: record for record in corpus.languages()}
    assert by_code["eng"].name == "English"
    assert by_code["roh-puter"].iso639_3 == "roh"
    assert {record.licence for record in by_code.values()} == {LICENCE}


def test_the_package_is_not_imported():
    code = (
        "import sys; from protoglot.corpus.udhr import UdhrCorpus; next(UdhrCorpus().sentences('eng'));"
        "sys.exit(any(name.startswith(('nototools', 'third_party')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
