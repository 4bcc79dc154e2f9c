"""Models for the characters of a new language."""

from dataclasses import replace

import torch

from protoglot.model.network import LanguageModel
from protoglot.vocabulary import Vocabulary


@torch.no_grad()
def extended_model(model: LanguageModel, vocabulary: Vocabulary, *, dropout: float) -> LanguageModel:
    """A copy of a model for a vocabulary that extends its own, with other dropout.

    New characters start as rare as the rarest that is known, with embeddings drawn from a Gaussian with the mean and
    the spread of the known ones: were they all alike, the network would have to learn first that they are not.
    """
    config = replace(
        model.config,
        embedding_dropout=dropout,
        hidden_dropout=dropout,
        output_dropout=dropout,
        recurrent_dropconnect=0.0,
    )
    made = LanguageModel(config, vocabulary_size=len(vocabulary), num_features=model.num_features)
    made = made.to(model.embedding)
    known = model.vocabulary_size
    old = dict(model.named_parameters())
    for name, weight in made.named_parameters():
        if name == "embedding":
            weight[:known] = old[name]
            noise = torch.randn(weight[known:].shape, generator=torch.Generator().manual_seed(0)).to(weight)
            weight[known:] = old[name].mean(dim=0) + noise * old[name].std(dim=0)
        elif name == "output_bias":
            weight[:known], weight[known:] = old[name], old[name].min()
        else:
            weight.copy_(old[name])
    return made


def without_dropout(model: LanguageModel) -> LanguageModel:
    """The model with all dropout rates at zero, as it is used."""
    model.config = replace(
        model.config, embedding_dropout=0.0, hidden_dropout=0.0, output_dropout=0.0, recurrent_dropconnect=0.0
    )
    return model
