from dataclasses import replace

import numpy as np
import pytest

from protoglot.errors import TypologyError
from protoglot.prior.features import features_for
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.typology import Typology, feature_names
from tiny import babble_corpus, tiny_trained


def make_prior(conditioning):
    made = tiny_trained(conditioning, num_features=len(feature_names()))
    trained = replace(made, provenance={**made.provenance, "training": {"prior_variance": 1.0}})
    return infer_prior(
        trained, training_streams(babble_corpus(), trained), FisherConfig(max_sequences=1, length=20)
    )


@pytest.fixture(scope="module")
def prior():
    return make_prior("oest")


def test_a_language_is_looked_up_by_its_own_code_and_not_by_that_of_the_priors_corpus(prior):
    # As in the paper's corpus, where Swahili stands under the code of Swati.
    code = prior.mean.fold.training[0]
    records = {**prior.mean.languages, "ssw": replace(prior.mean.languages[code], code="ssw", iso639_3="swh")}
    marked = np.full_like(prior.mean.features[code], 0.5)
    confused = replace(
        prior, mean=replace(prior.mean, languages=records, features={**prior.mean.features, "ssw": marked})
    )
    uriel = Typology.installed()
    swati, swahili = features_for(confused, "ssw"), features_for(confused, "swh")
    np.testing.assert_array_equal(swati.vector, uriel.vector("ssw"))
    assert swati.source == "typology of Swati (ssw)"
    np.testing.assert_array_equal(swahili.vector, marked)
    np.testing.assert_array_equal(features_for(confused, "yoruba").vector, uriel.vector("yor"))
    assert features_for(confused, "yoruba").language == "yor"


def test_without_a_language_it_is_the_mean_of_the_training_languages(prior):
    vectors = [prior.mean.features[code] for code in prior.mean.fold.training]
    np.testing.assert_allclose(features_for(prior, None).vector, np.mean(vectors, axis=0), rtol=1e-6)


def test_features_that_the_user_wrote_down(prior, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("S_SOV,1\nP_TONE,0.25\n")
    found = features_for(prior, str(file))
    assert found.language == "mine.csv"
    assert "2 of 245 features given" in found.source
    assert np.count_nonzero(found.vector != Typology.installed().mean()) == 2
    file.write_text("S_SOV,7\n")
    with pytest.raises(TypologyError, match=r"mine\.csv"):
        features_for(prior, str(file))


def test_an_unknown_language_is_refused_with_the_ways_out(prior):
    with pytest.raises(TypologyError, match=r"xyz.*no language: the mean.*\.csv"):
        features_for(prior, "xyz")


def test_a_prior_without_typology_needs_none_but_remembers_the_language():
    found = features_for(make_prior("bare"), "xyz")
    assert (found.vector, found.language) == (None, "xyz")
