import copy

import pytest
import torch

from protoglot.errors import ConfigError
from protoglot.prior.laplace import training_streams
from protoglot.prior.spread import SpreadConfig, measure_spread
from tiny import babble_corpus, tiny_trained

QUICK = SpreadConfig(num_characters=150, num_epochs=1)


def streams_of(trained):
    return training_streams(babble_corpus(), trained)


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
def test_weights_that_matter_move_and_the_model_stays_as_it_was(conditioning):
    trained = tiny_trained(conditioning)
    before = copy.deepcopy(dict(trained.model.named_parameters()))
    spread = measure_spread(trained, streams_of(trained), QUICK)
    for name, weight in trained.model.named_parameters():
        assert torch.equal(weight, before[name])
        assert spread[name].shape == weight.shape
        assert (spread[name] > 0).all()
    assert float(spread["projection"].mean()) > 1e-9


def test_characters_share_one_variance():
    trained = tiny_trained()
    spread = measure_spread(trained, streams_of(trained), QUICK)
    assert len(spread["output_bias"].unique()) == 1
    assert (spread["embedding"] == spread["embedding"][0]).all()


def test_longer_settling_moves_further():
    trained = tiny_trained()
    short, long = (
        measure_spread(trained, streams_of(trained), SpreadConfig(num_characters=150, num_epochs=number))
        for number in (1, 4)
    )
    assert long["projection"].mean() > short["projection"].mean()


def test_an_interrupted_measurement_goes_on_to_the_same_end(tmp_path):
    trained = tiny_trained()
    streams = streams_of(trained)
    whole = measure_spread(trained, streams, QUICK)
    asked = iter([False, True])
    unfinished = tmp_path / "unfinished"
    first = measure_spread(trained, streams, QUICK, unfinished=unfinished, stop_asked=lambda: next(asked))
    assert first is None
    done = []
    second = measure_spread(trained, streams, QUICK, unfinished=unfinished, on_languages=done.append)
    assert sum(done) == len(streams)
    for name, values in whole.items():
        assert torch.equal(second[name], values)


def test_settings_out_of_range_are_named():
    with pytest.raises(ConfigError, match="num_epochs"):
        SpreadConfig(num_epochs=0)
