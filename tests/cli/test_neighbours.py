from protoglot.adaptation import learn_language
from protoglot.prior.universal import UniversalPrior
from tiny import babble

from .test_teach import make_prior


def test_n_grams_of_the_training_languages_become_part_of_a_prior_and_of_models(tmp_path, protoglot):
    corpus = make_prior(tmp_path, protoglot)
    arguments = ["neighbours", tmp_path / "prior", "--corpus", corpus, "--out", tmp_path / "counted"]
    status, output, messages = protoglot(*arguments)
    assert status == 0, messages
    prior = UniversalPrior.load(tmp_path / "counted")
    assert set(prior.library.ngrams) == set(prior.mean.fold.training)
    assert f"n-grams of {len(prior.mean.fold.training)} languages" in output
    assert "to be tuned next" in output
    status, _, messages = protoglot(*arguments)
    assert (status, "exists already" in messages) == (2, True)

    # They become part of models once the mixers know of them, and not before.
    near = prior.mean.fold.training[0]
    letters = {"eus": "aeiktz", "fra": "aeioulé", "tur": "aıuürkl", "zul": "aeunkwz", "wol": "abdëgñ"}[near]
    sentences = babble(letters, 12, seed=0)
    assert learn_language(prior, sentences).neighbours is None
    tuning = ["tune", tmp_path / "counted", "--corpus", corpus, "--methods", "fitu", "--trials", 1, "--threads", 1]
    status, _, messages = protoglot(*tuning)
    assert status == 0, messages
    model = learn_language(UniversalPrior.load(tmp_path / "counted"), sentences)
    assert near in model.neighbours.shares()
    model.save(tmp_path / "model")
    status, output, _ = protoglot("info", tmp_path / "model")
    assert status == 0
    assert "neighbours.languages" in output
    status, output, _ = protoglot("info", tmp_path / "counted")
    assert "neighbours.languages" in output
