import pytest

from protoglot.corpus import open_corpus
from protoglot.corpus.christos import ChristosCorpus
from protoglot.corpus.ebible import EbibleCorpus
from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.udhr import UdhrCorpus
from protoglot.errors import CorpusError

FILES = {
    "folder": ["eng.txt", "manifest.csv"],
    "christos": ["A.xml", "metadata.csv"],
    "ebible": ["corpus/eng-x.txt", "metadata/vref.txt"],
}
READERS = {"folder": FolderCorpus, "christos": ChristosCorpus, "ebible": EbibleCorpus}
CONTENTS = {
    ".txt": "x\n",
    ".xml": '<a><language iso639="eng"/><seg>x</seg></a>',
    ".csv": "code,Filename,ISO_639-3\neng,A.xml,eng\n",
}


@pytest.fixture
def write(tmp_path):
    def write_files(names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(CONTENTS[path.suffix])
        return tmp_path

    return write_files


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        *((names, kind) for kind, names in FILES.items()),
        (["eng.txt"], "folder"),
        (["A.xml"], "christos"),
        (["bibles/A.xml"], "christos"),
        (["vref.txt", "eng-x.txt"], "ebible"),
    ],
)
def test_kinds_are_recognised_and_can_be_named(write, names, kind):
    path = write(names)
    for name in (str(path), f"{kind}:{path}"):
        corpus = open_corpus(name)
        assert isinstance(corpus, READERS[kind])
        assert list(corpus.sentences("eng")) == ["x"]


def test_the_kind_named_wins(write):
    path = write(["vref.txt", "eng.txt"])
    assert [record.code for record in open_corpus(f"folder:{path}").languages()] == ["eng", "vref"]


def test_installed_corpora_have_names():
    assert isinstance(open_corpus("eld"), EldCorpus)
    assert isinstance(open_corpus("udhr"), UdhrCorpus)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-such-corpus", "neither a path nor a known name; wanted eld, udhr"),
        ("", "no .txt file"),
        ("folder:", "no .txt file"),
        ("christos:/no/such/place", "/no/such/place: not a directory"),
        ("folder:file.txt", "file.txt: not a directory"),
        ("file.txt", "file.txt: not a directory"),
    ],
)
def test_what_is_no_corpus_is_refused_in_one_line(name, reason, tmp_path, monkeypatch):
    (tmp_path / "file.txt").write_text("x\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty" if reason.startswith("no ") else tmp_path)
    with pytest.raises(CorpusError) as caught:
        open_corpus(name)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("folder", "kind"), [("bible77", "folder"), ("formats/christos-c", "christos"), ("formats/ebible", "ebible")]
)
def test_the_research_corpora_are_recognised(corpora, folder, kind):
    assert isinstance(open_corpus(str(corpora / folder)), READERS[kind])
