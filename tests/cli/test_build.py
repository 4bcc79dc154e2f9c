import json

import pytest

import protoglot as library
from protoglot.cli.main import run
from protoglot.errors import StorageError
from protoglot.prior.methods import Method
from protoglot.prior.universal import UniversalPrior
from protoglot.reading.scorer import Scorer
from tiny import babble, babble_corpus


def write_folders(path):
    """Five free languages, two of them in two corpora; two that are not free; one that has little text."""
    texts = {
        "free": {**babble_corpus(60).texts, "gyr": ["ab ba", "ba ab"]},
        "more": {code: [f"ñ {sentence}" for sentence in babble("aeikt", 40, seed=1)] for code in ("eus", "fra")},
        "other": {"cym": babble("wyдlcf", 60, seed=2), "zul": babble("ʘunkwz", 60, seed=3)},
    }
    for name, languages in texts.items():
        (path / name).mkdir()
        for code, sentences in languages.items():
            (path / name / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    (path / "free" / "manifest.csv").write_text("code,licence\neus,CC0\nfra,CC BY\n")
    (path / "more" / "manifest.csv").write_text("code,licence\neus,public domain\n")
    return path


def arguments_for(path):
    found = ["build", "--free", path / "free", "--free", path / "more", "--other", path / "other", "--tiny"]
    found += ["--leave-out", "wol", "--budget", "1k-characters", "--validation-languages", 1]
    return [*map(str, [*found, "--conditioning", "bare", "--threads", 1, "--out", path / "bundle"])]


@pytest.fixture
def arguments(tmp_path):
    return arguments_for(write_folders(tmp_path))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle that was made although it was stopped again and again."""
    path = write_folders(tmp_path_factory.mktemp("build"))
    out, made = path / "bundle", {}

    def stop(*_, **__):
        raise KeyboardInterrupt

    def files():
        return {file: file.stat().st_mtime_ns for file in out.rglob("*.safetensors")}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("protoglot.study.environment.find_commit", lambda: "abc")
        for number, place in enumerate(PLACES):
            with pytest.MonkeyPatch.context() as stopped:
                stopped.setattr(place, stop)
                assert run(arguments_for(path)) == 130
            if not number:  # meta-training is done, and must not be done again
                patch.setattr("protoglot.reading.meta_training.MetaTrainer._step", stop)
            assert bool(files()) == (number > 0)
            assert {file: files()[file] for file in made} == made
            made = files()
        assert run(arguments_for(path)) == 0
    assert {file: files()[file] for file in made} == made
    return out


PLACES = [
    "protoglot.reading.meta_training.MetaTrainer.scorer",
    "protoglot.cli.train.train_network",
    "protoglot.cli.prior.measure_prior",
    "protoglot.cli.tune.tune_prior",
]


def test_a_bundle_has_a_scorer_and_a_prior(bundle):
    assert sorted(path.name for path in bundle.iterdir()) == ["prior", "scorer"]
    assert not bundle.with_name("bundle.unfinished").exists()
    scorer, prior = Scorer.load(bundle / "scorer"), UniversalPrior.load(bundle / "prior")
    assert not set("дʘ") & set(scorer.characters)
    assert not set("дʘfy") & set(prior.mean.vocabulary.characters)
    assert "ñ" in prior.mean.vocabulary.characters  # of the second folder
    assert "ë" not in prior.mean.vocabulary.characters  # of the language that was left out
    fold = prior.mean.fold
    assert sorted((*fold.training, *fold.validation)) == ["eus", "fra", "tur", "zul"]
    assert prior.mean.languages["eus"].licence == "CC0; public domain"
    assert set(prior.tuned.methods) == {Method.FITU, Method.UNIV}
    assert prior.tuned.calibration is not None


def test_provenance_has_every_text_and_the_commit(bundle):
    facts = {
        name: json.loads((bundle / name / "header.json").read_text())["content"]["provenance"]
        for name in ("scorer", "prior")
    }
    assert {found["commit"] for found in facts.values()} == {"abc"}
    texts = [(text["corpus"], text["code"], text["free"]) for text in facts["scorer"]["texts"]]
    free = [("free", code, True) for code in ("eus", "fra", "gyr", "tur", "zul")]
    free += [("more", code, True) for code in ("eus", "fra")]
    assert texts == [*free, ("other", "cym", False), ("other", "zul", False)]
    assert all(len(text["sha256"]) == 64 for text in facts["scorer"]["texts"])
    assert facts["prior"]["texts"] == [text for text in facts["scorer"]["texts"] if text["free"]]
    assert str(bundle.parent) not in json.dumps(facts)


def test_a_bundle_is_used_from_python(bundle, tmp_path):
    prior = library.load_prior(bundle)
    sentences = babble("abdëgñ", 10, seed=0)
    reader, network = prior.adapt(sentences), prior.adapt(sentences, method="univ")
    assert reader.reader.scorer.identity == Scorer.load(bundle / "scorer").identity
    assert network.score(sentences).num_characters == reader.score(sentences).num_characters
    reader.save(tmp_path / "reader")
    again = library.load_model(tmp_path / "reader", prior=prior)
    assert again.score(sentences) == reader.score(sentences)
    with pytest.raises(StorageError, match="made with scorer"):
        library.load_model(tmp_path / "reader")
    alone = library.load_prior(bundle / "prior")
    assert (alone.path, alone.scorer_path) == (prior.path, None)


def test_a_bundle_that_is_there_is_not_replaced(bundle, protoglot):
    status, _, messages = protoglot(*arguments_for(bundle.parent))
    assert (status, "exists already" in messages) == (2, True)


def test_a_stop_that_was_asked_for_says_how_to_go_on(arguments, protoglot, monkeypatch):
    monkeypatch.setattr("protoglot.cli.meta_train.make_scorer", lambda *_, **__: False)
    status, output, messages = protoglot(*arguments)
    assert (status, "bundle.unfinished: what is done so far. Go on" in output) == (130, True)
    assert "not for the network: gyr (fewer than 10 sentences)" in messages


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (["--budget", "2k-characters"], "budget"),
        (["--leave-out", "fra"], "network, texts"),
        (["--seed", "1"], "network"),
        (["--network-budget", "2epochs"], "network_budget, network"),
    ],
)
def test_what_was_begun_with_other_settings_is_not_used(arguments, protoglot, monkeypatch, change, name):
    monkeypatch.setattr("protoglot.cli.meta_train.make_scorer", lambda *_, **__: False)
    assert protoglot(*arguments)[0] == 130
    status, _, messages = protoglot(*arguments, *change)
    assert (status, f"begun with other {name}; wanted the same, or another --out" in messages) == (2, True)
    assert protoglot(*arguments)[0] == 130


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--validation-languages", "9"], "9 validation languages"),
        (["--budget", "2epochs"], "wanted time or characters"),
        (["--network-budget", "much"], "budget 'much'"),
        (["--other", "nowhere"], "nowhere"),
        (["--leave-out", "eus,fra,tur,zul,wol"], "no language with text"),
    ],
)
def test_mistakes_are_found_before_anything_is_done(arguments, protoglot, tmp_path, change, message):
    status, _, messages = protoglot(*arguments, *change)
    assert (status, message in messages) == (2, True), messages
    assert not (tmp_path / "bundle.unfinished").exists()


def test_languages_without_typology_are_not_for_a_network_that_reads_it(
    arguments, protoglot, tmp_path, monkeypatch
):
    (tmp_path / "free" / "qqx.txt").write_text("\n".join(babble("abdeg", 30, seed=0)), encoding="utf-8")
    monkeypatch.setattr("protoglot.cli.meta_train.make_scorer", lambda *_, **__: False)
    _, _, messages = protoglot(*arguments, "--conditioning", "oest")
    assert "not for the network: qqx (no typology)" in messages
