import pytest
import torch

from protoglot.errors import ConfigError
from protoglot.model.config import Conditioning
from protoglot.model.settling import settle_on_language
from tiny import NO_DROPOUT, random_features, random_ids, tiny_model


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("conditioning", Conditioning)
def test_a_settled_model_predicts_the_same(conditioning, residual):
    model = tiny_model(conditioning, residual=residual, **NO_DROPOUT)
    features, ids = random_features(7), random_ids(11, 3)
    settled = settle_on_language(model, features)
    assert settled.config.conditioning is Conditioning.BARE
    wanted, state = model.nats(ids[:-1], ids[1:], features)
    found, settled_state = settled.nats(ids[:-1], ids[1:], None)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(tuple(settled_state), tuple(state))


def test_a_model_that_reads_typology_wants_some():
    with pytest.raises(ConfigError, match="typological"):
        settle_on_language(tiny_model("oest"), None)
