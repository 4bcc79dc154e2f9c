"""Models for the characters of a new language."""

from dataclasses import replace

import torch
from torch import Tensor

from protoglot.model.network import LanguageModel
from protoglot.relatives import find_relative
from protoglot.vocabulary import NUM_SYMBOLS, Vocabulary

_LIKENESS = 0.97
"""Share of a relative in the embedding of a new character; the rest is noise that tells relatives apart.

Of 0, 0.7, 0.9 and 0.97 the best for Russian, Greek and Arabic sentences of eld.
"""


@torch.no_grad()
def extended_model(model: LanguageModel, vocabulary: Vocabulary, *, dropout: float) -> LanguageModel:
    """A copy of a model for a vocabulary that extends its own, with other dropout.

    New characters start as rare as the rarest that is known. Their embeddings are drawn from a Gaussian with the mean
    and the spread of the known ones: were they all alike, the network would have to learn first that they are not.
    One that is like a known character (see :mod:`protoglot.relatives`) starts near that one instead.
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
            weight[:known], weight[known:] = old[name], _new_embeddings(old[name], vocabulary)
        elif name == "output_bias":
            weight[:known], weight[known:] = old[name], old[name].min()
        else:
            weight.copy_(old[name])
    return made


def _new_embeddings(embedding: Tensor, vocabulary: Vocabulary) -> Tensor:
    """Embeddings of the characters of a vocabulary that are behind the known ones, (new, E)."""
    known = len(embedding)
    shape = (len(vocabulary) - known, embedding.shape[1])
    mean, spread = embedding.mean(dim=0), embedding.std(dim=0)
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(embedding) * spread
    ids = {
        character: number
        for number, character in enumerate(vocabulary.characters[: known - NUM_SYMBOLS], start=NUM_SYMBOLS)
    }
    rows = []
    for character, own in zip(vocabulary.characters[known - NUM_SYMBOLS :], noise, strict=True):
        relative = find_relative(character, ids)
        if relative is None:
            rows.append(mean + own)
        else:
            rest = (1 - _LIKENESS**2) ** 0.5
            rows.append(mean + _LIKENESS * (embedding[ids[relative]] - mean) + rest * own)
    return torch.stack(rows) if rows else noise


def without_dropout(model: LanguageModel) -> LanguageModel:
    """The model with all dropout rates at zero, as it is used."""
    model.config = replace(
        model.config, embedding_dropout=0.0, hidden_dropout=0.0, output_dropout=0.0, recurrent_dropconnect=0.0
    )
    return model
