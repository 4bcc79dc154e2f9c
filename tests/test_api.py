import pytest

import protoglot
from protoglot.api import Model, Prior, sentences_of
from protoglot.checking import check, check_folds
from protoglot.errors import TextError
from test_language_learning import SENTENCES, UNSEEN, tuned_prior


@pytest.fixture(scope="module", params=["bare", "oest"])
def prior(request, tmp_path_factory) -> Prior:
    path = tmp_path_factory.mktemp("prior") / "p"
    tuned_prior(request.param).save(path)
    return protoglot.load_prior(path)


@pytest.fixture(scope="module")
def model(prior) -> Model:
    return prior.adapt("\n".join(SENTENCES), language="wol")


def test_a_model_scores_and_its_surprisal_adds_up(model):
    text = [sentence for sentence in UNSEEN if sentence]
    score = model.score(text)
    lines = model.surprisal("\n".join(text))
    assert [line.text for line in lines] == text
    total = sum((line.score for line in lines[1:]), lines[0].score)
    assert total.num_characters == score.num_characters
    assert total.nats == pytest.approx(score.nats, rel=1e-9)


def test_a_model_writes_and_completes(model):
    texts = model.generate(number=3, length=20, seed=1)
    assert texts == model.generate(number=3, length=20, seed=1)
    assert all(len(text) <= 20 and "\n" not in text for text in texts)
    words = model.complete("ab", number=3)
    assert len(words) == 3
    assert [word.probability for word in words] == sorted((word.probability for word in words), reverse=True)


def test_a_model_is_the_same_after_saving(model, tmp_path):
    model.save(tmp_path / "m")
    assert protoglot.load_model(str(tmp_path / "m")).score(UNSEEN) == model.score(UNSEEN)


def test_a_checked_model_has_the_trust_that_held_out_sentences_ask_for(prior):
    folds = check_folds(SENTENCES)
    wanted = check(lambda chosen: prior.adapt(chosen, language="wol", check=False).adapted, folds).trust
    assert wanted < 1
    assert prior.adapt(SENTENCES, language="wol").adapted.trust == wanted
    assert prior.adapt(SENTENCES, language="wol", check=False).adapted.trust == 1


def test_where_few_of_many_sentences_are_held_out_the_checked_model_is_kept(prior, monkeypatch):
    [(learned, scored)] = check_folds(SENTENCES)
    monkeypatch.setattr("protoglot.checking._FEW", len(learned) // len(scored))
    kept = prior.adapt(SENTENCES, language="wol").adapted
    of_most = prior.adapt(learned, language="wol", check=False).adapted
    assert kept.num_characters == of_most.num_characters
    assert kept.network_score(UNSEEN) == of_most.network_score(UNSEEN)
    assert kept.trust < 1
    monkeypatch.setattr("protoglot.checking._FEW", len(learned) // len(scored) + 1)
    assert prior.adapt(SENTENCES, language="wol").adapted.num_characters > kept.num_characters


def test_methods_and_seeds_are_the_users_choice(prior):
    by_name = prior.adapt(SENTENCES, method="univ", mixture=False, language="wol").score(UNSEEN)
    assert by_name == prior.adapt(SENTENCES, method="univ", mixture=False, language="wol").score(UNSEEN)
    assert by_name != prior.adapt(SENTENCES, method="univ", mixture=False, language="wol", seed=1).score(UNSEEN)
    epochs = []
    prior.adapt(SENTENCES, language="wol", check=False, on_epoch=lambda *facts: epochs.append(facts[:2]))
    assert epochs == [(number, epochs[-1][1]) for number in range(1, epochs[-1][1] + 1)]


def test_no_sentence_is_zero_shot(prior):
    assert prior.adapt([]).score(UNSEEN).num_characters == sum(
        len(sentence) + 1 for sentence in UNSEEN if sentence
    )


def test_sentences_are_normalised_and_must_be_text():
    assert sentences_of(" a  b \r\n\n c") == ["a b", "c"]
    assert sentences_of("a\rb\nc") == ["a", "b", "c"]
    assert len(sentences_of("ab\u2028cd\x0bef\x85gh")) == 1  # as in a file
    with pytest.raises(TextError, match="not a string"):
        sentences_of([b"abc"])


def test_the_package_names_what_it_has():
    assert {"load_prior", "load_model"} <= set(dir(protoglot)) | set(protoglot.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = protoglot.nothing
