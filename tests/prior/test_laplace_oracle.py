"""The Fisher of our own making against that of laplace-torch, which knows nothing of ours.

It is not among the packages for tests, since it brings along many others: ``pip install "protoglot[oracle]"``.
"""

import warnings

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from protoglot.model.config import Conditioning
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.prior.fisher import sum_squared_gradients
from tiny import NO_DROPOUT, random_features, random_ids, tiny_model

try:
    with warnings.catch_warnings(action="ignore"):  # of what its packages use of PyTorch's past
        from laplace import DiagLaplace
        from laplace.curvature.curvlinops import CurvlinopsEF
except ModuleNotFoundError:
    pytest.skip("laplace-torch is not installed (extra protoglot[oracle])", allow_module_level=True)
except RuntimeError as error:  # torchvision, which it brings along and we do not need, may be for another PyTorch
    pytest.skip(f"laplace-torch cannot be imported ({error}): pip uninstall torchvision", allow_module_level=True)

NUM_SEQUENCES = 7


class Classifier(nn.Module):
    """A language model as laplace-torch sees it: a classifier whose classes stand in the second dimension."""

    def __init__(self, model: LanguageModel, features: Tensor | None) -> None:
        super().__init__()
        self.model, self.features = model, features

    def forward(self, ids: Tensor) -> Tensor:
        read = ids.t()  # (T, B)
        # laplace-torch takes the batch apart by torch.func.vmap, where the LSTM's kernel wants a state that came
        # from the batch too.
        state = State(*(zeros + 0 * read.sum() for zeros in self.model.initial_state(read.shape[1])))
        vectors, _ = self.model.hidden_states(read, self.features, state)
        return self.model.logits(vectors).permute(1, 2, 0)  # (B, V - 1, T)


def fisher_of_laplace_torch(
    model: LanguageModel, ids: Tensor, features: Tensor | None, *, batch_size: int
) -> Tensor:
    """The diagonal of its empirical Fisher, summed over sequences; all weights in one vector."""
    sequences = TensorDataset(ids[:-1].t(), ids[1:].t() - NUM_UNPREDICTED)
    fitted = DiagLaplace(Classifier(model, features), "classification", backend=CurvlinopsEF)
    fitted.fit(DataLoader(sequences, batch_size=batch_size))
    return fitted.H


@pytest.mark.parametrize("batch_size", [3, NUM_SEQUENCES])
@pytest.mark.parametrize("conditioning", Conditioning)
def test_the_fisher_is_that_of_laplace_torch(conditioning, batch_size):
    model = tiny_model(conditioning, **NO_DROPOUT)
    ids = random_ids(10, NUM_SEQUENCES)
    ids[0, 0] = 0  # a sequence at the very beginning of a text
    features = None if conditioning is Conditioning.BARE else random_features(model.num_features)
    found = sum_squared_gradients(model, ids, features, sequences_at_once=4)
    assert list(found) == [name for name, _ in model.named_parameters()]  # the order of the other's vector
    in_one_vector = torch.cat([values.flatten() for values in found.values()])
    wanted = fisher_of_laplace_torch(model, ids, features, batch_size=batch_size)
    assert wanted.count_nonzero() > 0.8 * wanted.numel()  # the rest are dead units of f(t)
    torch.testing.assert_close(in_one_vector, wanted, rtol=1e-9, atol=1e-15)
