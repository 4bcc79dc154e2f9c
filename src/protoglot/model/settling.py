r"""A conditioned network that has settled on one language: its typology worked into its weights, once and for all.

For one language f(t) is a constant, so a network of any conditioning equals a BARE one. PLAT's weights are what the
hyper-network makes of f(t). OEST's columns that meet f(t) become part of each layer's bias; at the output,
:math:`E (W h + W_f f(t)) + b = E W h + (b + E W_f f(t))`, a part of the output's bias.
"""

from dataclasses import replace

import torch
from torch import Tensor

from protoglot.model.config import Conditioning
from protoglot.model.network import LanguageModel


@torch.no_grad()
def settle_on_language(model: LanguageModel, features: Tensor | None) -> LanguageModel:
    """A BARE model that predicts what a model predicts for one language.

    Args:
        model: left as it was; one that is BARE already is returned itself.
        features: typological vector of the language, (K,).

    Raises:
        ConfigError: if the model reads a typological vector, and there is none.
    """
    if model.config.conditioning is Conditioning.BARE:
        return model
    stack, beside = model.layer_weights(features)
    config = replace(model.config, conditioning=Conditioning.BARE)
    with torch.device("meta"):  # every weight is set below
        made = LanguageModel(config, vocabulary_size=model.vocabulary_size, num_features=0)
    made = made.to_empty(device=model.embedding.device).to(model.embedding.dtype)
    made.embedding.copy_(model.embedding)
    made.projection.copy_(model.projection[:, : config.hidden_size])
    made.output_bias.copy_(model.output_bias if beside is None else model.output_bias + model.embedding @ beside)
    for layer, weights in enumerate(stack):
        made.layers[f"input_{layer}"].copy_(weights.input)
        made.layers[f"recurrent_{layer}"].copy_(weights.recurrent)
        made.layers[f"bias_{layer}"].copy_(weights.bias)
    return made
