import pytest

from protoglot.corpus import open_corpus
from protoglot.corpus.christos import ChristosCorpus
from protoglot.corpus.ebible import EbibleCorpus
from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.opening import recognise
from protoglot.corpus.udhr import UdhrCorpus
from protoglot.errors import CorpusError

CES = '<a><language iso639="eng"/><seg>x</seg></a>'


@pytest.fixture
def tree(tmp_path):
    def make_tree(**files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        return tmp_path

    return make_tree


@pytest.mark.parametrize(
    ("files", "kind", "reader"),
    [
        ({"eng_dot_txt": "x\n"}, "folder", FolderCorpus),
        ({"eng_dot_txt": "x\n", "manifest_dot_csv": "code\neng\n"}, "folder", FolderCorpus),
        ({"A_dot_xml": CES}, "christos", ChristosCorpus),
        ({"bibles__A_dot_xml": CES}, "christos", ChristosCorpus),
        ({"A_dot_xml": CES, "metadata_dot_csv": "Filename,ISO_639-3\n"}, "christos", ChristosCorpus),
        ({"vref_dot_txt": "GEN 1:1\n", "eng-x_dot_txt": "x\n"}, "ebible", EbibleCorpus),
        ({"metadata__vref_dot_txt": "GEN 1:1\n", "corpus__eng-x_dot_txt": "x\n"}, "ebible", EbibleCorpus),
    ],
)
def test_kinds_are_recognised_and_can_be_named(tree, files, kind, reader):
    path = tree(**files)
    assert recognise(path) == kind
    for name in (str(path), f"{kind}:{path}"):
        corpus = open_corpus(name)
        assert isinstance(corpus, reader)
        assert list(corpus.sentences("eng")) == ["x"]


def test_the_kind_named_wins(tree):
    path = tree(**{"vref_dot_txt": "GEN 1:1\n", "eng_dot_txt": "x\n"})
    assert [record.code for record in open_corpus(f"folder:{path}").languages()] == ["eng", "vref"]


def test_installed_corpora_have_names():
    assert isinstance(open_corpus("eld"), EldCorpus)
    assert isinstance(open_corpus("udhr"), UdhrCorpus)


@pytest.mark.parametrize(
    "name", ["no-such-corpus", "", "folder:", "christos:/no/such/place", "ebible:/no/such/place"]
)
def test_what_is_no_corpus_is_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError) as caught:
        open_corpus(name)
    assert "wanted" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_no_corpus(tmp_path):
    file = tmp_path / "eng.txt"
    file.write_text("x\n")
    with pytest.raises(CorpusError, match="not a directory"):
        open_corpus(str(file))


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("folder", "kind"), [("bible77", "folder"), ("formats/christos-c", "christos"), ("formats/ebible", "ebible")]
)
def test_the_research_corpora_are_recognised(corpora, folder, kind):
    assert recognise(corpora / folder) == kind
    assert open_corpus(str(corpora / folder)).languages()
