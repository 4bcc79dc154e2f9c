r"""The network: embeddings, a stack of LSTM layers, a softmax over the vocabulary.

Shapes are time first, (T, B, ...), because that is the order in which the LSTM kernel walks memory. The letters:
B sequences, T characters, V ids, E embedding, H hidden, r encoded typology, K typological features.

The typological features of a language do not change from character to character. OEST concatenates
:math:`f(t)` to the hidden state, :math:`h_t = (o_t \odot \tanh c_t) \oplus f(t)`, so in each layer
:math:`U h_{t-1} = U_h (o_{t-1} \odot \tanh c_{t-1}) + U_f f(t)`: the second term is a bias that depends on the
language. It is computed once per batch, and a conditioned model is as fast as a bare one.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from protoglot.errors import ConfigError
from protoglot.model.config import Conditioning, ModelConfig
from protoglot.model.dropout import drop, dropconnect, variational_mask
from protoglot.vocabulary import BEGIN

NUM_UNPREDICTED = BEGIN + 1
"""Ids below this are never predicted: the softmax is over all others."""

_POSITIONS_AT_ONCE = 1024
"""Characters whose logits are computed together, where there are many; changes no score."""


class LayerWeights(NamedTuple):
    """What one LSTM layer computes with; gates in the order i, f, g, o."""

    input: Tensor  # (4H, E or H), and r more columns where ``beside`` is given
    recurrent: Tensor  # (4H, H)
    bias: Tensor  # (4H,)
    beside: Tensor | None = None  # (B, r): f(t) of each sequence, to be read beside the input at every step


class State(NamedTuple):
    """What a network remembers of B texts: hidden state and memory cell of every layer."""

    hidden: Tensor  # (L, B, H)
    cell: Tensor  # (L, B, H)

    def rows(self, rows: slice) -> "State":
        """The state of some of the texts."""
        return State(*(part[:, rows].contiguous() for part in self))

    def one_by_one(self) -> "Iterator[State]":
        """The state of each text; they share memory."""
        return map(State, *(torch.split(part, 1, dim=1) for part in self))

    @classmethod
    def side_by_side(cls, states: "Sequence[State]") -> "State":
        """The state of the texts of several states."""
        return cls(*(torch.cat(parts, dim=1) for parts in zip(*states, strict=True)))


class LanguageModel(nn.Module):
    """Eq. (nextcharprob) and (lstm), with the conditioning of §4.

    A batch holds sequences of *one* language, whose features are given once, (K,); BARE and OEST also take
    a row of features per sequence, (B, K).

    Args:
        config: sizes and regularisation.
        vocabulary_size: V, symbols included.
        num_features: K, length of a typological vector.
        seed: initial weights.
    """

    def __init__(self, config: ModelConfig, *, vocabulary_size: int, num_features: int, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.num_features = num_features
        hidden, size = config.hidden_size, config.embedding_size
        encoded = config.conditioning_size
        beside = encoded if config.conditioning is Conditioning.OEST else 0  # what each hidden state has beside it
        self.embedding = nn.Parameter(torch.empty(vocabulary_size, size))  # (V, E)
        self.output_bias = nn.Parameter(torch.zeros(vocabulary_size))  # (V,)
        self.projection = nn.Parameter(torch.empty(size, hidden + beside))  # (E, H + r)
        if encoded:
            self.encoder_weight = nn.Parameter(torch.empty(encoded, num_features))  # (r, K)
            self.encoder_bias = nn.Parameter(torch.zeros(encoded))  # (r,)
        self._shapes = self._layer_shapes(beside)
        per_weight = (encoded,) if config.conditioning is Conditioning.PLAT else ()
        self.layers = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(*shape, *per_weight)) for name, shape in self._shapes.items()}
        )
        if not self.embedding.is_meta:  # shapes alone are wanted where weights are about to be loaded
            self._initialise(torch.Generator().manual_seed(seed))

    def _layer_shapes(self, beside: int) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the LSTM's weights; with PLAT each gets one more dimension, r."""
        hidden = self.config.hidden_size
        shapes: dict[str, tuple[int, ...]] = {}
        for layer in range(self.config.num_layers):
            below = self.config.embedding_size if layer == 0 else hidden + beside
            shapes[f"input_{layer}"] = (4 * hidden, below)
            shapes[f"recurrent_{layer}"] = (4 * hidden, hidden + beside)
            shapes[f"bias_{layer}"] = (4 * hidden,)
        return shapes

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        """Orthogonal recurrent weights, forget gates open, embeddings of unit length.

        Departs: the paper says nothing of initialisation. Signals and gradients keep their size from the first
        step on, which PyTorch's defaults do not give a stack with tied embeddings.
        """
        config = self.config
        self.embedding.normal_(0, config.embedding_size**-0.5, generator=generator)
        self.projection.normal_(0, self.projection.shape[1] ** -0.5, generator=generator)
        if config.conditioning_size:
            self.encoder_weight.normal_(0, 0.1 * self.num_features**-0.5, generator=generator)
            # Positive, so that every unit of f(t) starts alive for every language.
            self.encoder_bias.fill_(1.0 if config.conditioning is Conditioning.PLAT else 0.1)
        for name, shape in self._shapes.items():
            start = _initial_layer_weight(name, shape, config.hidden_size, generator)
            if config.conditioning is Conditioning.PLAT:
                # f(t) starts near one, so the weights start near this sum over the last dimension.
                noise = torch.empty(*shape, config.plat_size).normal_(0, 1, generator=generator)
                noise *= 0.1 * float(start.std()) if start.dim() > 1 else 0.0
                self.layers[name].copy_(start.unsqueeze(-1) / config.plat_size + noise)
            else:
                self.layers[name].copy_(start)

    def encode_features(self, features: Tensor) -> Tensor:
        """Eq. f(t) = ReLU(W t + b): (K,) -> (r,), or (B, K) -> (B, r)."""
        return F.relu(F.linear(features, self.encoder_weight, self.encoder_bias))

    def layer_weights(
        self, features: Tensor | None, generator: torch.Generator | None = None
    ) -> tuple[list[LayerWeights], Tensor | None]:
        """Weights of the stack for one language, or a row of them, and what its features add to the output.

        Args:
            features: typological vector (K,), or one per sequence (B, K); not needed for BARE.
            generator: source of DropConnect's mask; ``None`` switches it off.

        Returns:
            One entry per layer, and what f(t) adds to the projected hidden state: (E,), (B, E) or ``None``.
        """
        config = self.config
        stack = [
            LayerWeights(
                self.layers[f"input_{layer}"], self.layers[f"recurrent_{layer}"], self.layers[f"bias_{layer}"]
            )
            for layer in range(config.num_layers)
        ]
        encoded = self._encode_or_complain(features)
        if config.conditioning is Conditioning.PLAT:
            assert encoded is not None
            stack = [
                LayerWeights(weights.input @ encoded, weights.recurrent @ encoded, weights.bias @ encoded)
                for weights in stack
            ]
        first = stack[0]
        stack[0] = first._replace(recurrent=dropconnect(first.recurrent, config.recurrent_dropconnect, generator))
        if config.conditioning is not Conditioning.OEST:
            return stack, None
        assert encoded is not None
        stack = [self._condition(weights, encoded, layer) for layer, weights in enumerate(stack)]
        return stack, F.linear(encoded, self.projection[:, config.hidden_size :])

    def _encode_or_complain(self, features: Tensor | None) -> Tensor | None:
        conditioning = self.config.conditioning
        if conditioning is Conditioning.BARE:
            return None
        if features is None:
            raise ConfigError(f"a {conditioning} model reads a typological vector; found none")
        if conditioning is Conditioning.PLAT and features.dim() != 1:
            raise ConfigError("a plat model has weights of its own for each language; wanted one language a batch")
        return self.encode_features(features)

    def _condition(self, weights: LayerWeights, encoded: Tensor, layer: int) -> LayerWeights:
        """Turn the columns of OEST's weights that meet f(t) into a bias, or into input where languages differ."""
        hidden = self.config.hidden_size
        below, columns = weights.input, weights.recurrent[:, hidden:]  # (4H, r)
        if layer > 0:
            below, columns = below[:, :hidden].contiguous(), columns + below[:, hidden:]
        # cuDNN takes no slices of columns.
        recurrent = weights.recurrent[:, :hidden].contiguous()
        if encoded.dim() == 1:
            return LayerWeights(below, recurrent, weights.bias + columns @ encoded)
        return LayerWeights(torch.cat([below, columns], dim=1), recurrent, weights.bias, encoded)

    def initial_state(self, num_sequences: int) -> State:
        """Zeros."""
        zeros = self.projection.new_zeros(self.config.num_layers, num_sequences, self.config.hidden_size)
        return State(zeros, zeros.clone())

    def hidden_states(
        self,
        ids: Tensor,
        features: Tensor | None,
        state: State,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, State]:
        """Embed characters and run the stack.

        Args:
            ids: characters read, (T, B).
            features: typological vector of their language, (K,) or (B, K), or ``None`` for BARE.
            state: of all layers before the first character.
            generator: source of dropout masks; ``None`` switches dropout off.

        Returns:
            Vectors in the space of the embeddings, (T, B, E), and the state after the last character.
        """
        config = self.config
        num_sequences = ids.shape[1]
        stack, beside = self.layer_weights(features, generator)

        def mask(size: int, rate: float) -> Tensor | None:
            return variational_mask(num_sequences, size, rate, like=self.projection, generator=generator)

        # Embeddings have unit length so that they can serve as output weights; as input, units of variance one
        # are wanted.
        flow = F.embedding(ids, self.embedding) * math.sqrt(config.embedding_size)  # (T, B, E)
        flow = drop(flow, mask(config.embedding_size, config.embedding_dropout))
        hiddens, cells = [], []
        for layer, weights in enumerate(stack):
            if layer > 0:
                flow = drop(flow, mask(config.hidden_size, config.hidden_dropout))
            out, hidden, cell = run_lstm_layer(flow, weights, state.hidden[layer], state.cell[layer])  # (T, B, H)
            flow = out + flow if config.residual and layer > 0 else out
            hiddens.append(hidden)
            cells.append(cell)
        flow = drop(flow, mask(config.hidden_size, config.output_dropout))
        vectors = F.linear(flow, self.projection[:, : config.hidden_size])  # (T, B, E)
        if beside is not None:
            vectors = vectors + beside
        return vectors, State(torch.stack(hiddens), torch.stack(cells))

    def logits(self, vectors: Tensor) -> Tensor:
        """Scores of every id that can be predicted: (..., E) -> (..., V - 1), id v at position v - 1."""
        return F.linear(vectors, self.embedding[NUM_UNPREDICTED:], self.output_bias[NUM_UNPREDICTED:])

    def nats(
        self,
        ids: Tensor,
        targets: Tensor,
        features: Tensor | None,
        state: State | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, State]:
        """Negative log-probability of each character given those before it.

        Args:
            ids: characters read, (T, B).
            targets: characters to predict, (T, B): the ones after them.
            features: typological vector of their language, (K,) or (B, K), or ``None`` for BARE.
            state: carried over from the characters before; zeros if ``None``.
            generator: source of dropout masks; ``None`` switches dropout off.

        Returns:
            Nats, (T, B), and the state to carry on.
        """
        if state is None:
            state = self.initial_state(ids.shape[1])
        vectors, state = self.hidden_states(ids, features, state, generator)
        return self._costs(vectors, targets), state

    def _costs(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """Nats of targets, (T, B), from vectors in the space of the embeddings, (T, B, E)."""
        flat, wanted = vectors.flatten(0, 1), targets.flatten() - NUM_UNPREDICTED
        # The logits of a few positions are used up while they are in the cache.
        step = len(flat) if len(flat) < 2 * _POSITIONS_AT_ONCE else _POSITIONS_AT_ONCE
        pieces = [
            F.cross_entropy(self.logits(some), ids, reduction="none")
            for some, ids in zip(torch.split(flat, step), torch.split(wanted, step), strict=True)
        ]
        return torch.cat(pieces).view_as(targets)


def run_lstm_layer(
    values: Tensor, weights: LayerWeights, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One LSTM layer over a whole sequence.

    Args:
        values: (T, B, D).
        weights: of the layer, for this language.
        hidden: hidden state before the first step, (B, H).
        cell: memory cell before the first step, (B, H).

    Returns:
        All hidden states (T, B, H), the last hidden state (B, H) and the last cell (B, H).
    """
    if weights.beside is not None:
        values = torch.cat([values, weights.beside.expand(len(values), -1, -1)], dim=2)  # (T, B, D + r)
    if len(values) == 1 and not torch.is_grad_enabled():
        # The kernel rearranges all weights at every call, which takes several times as long as one step.
        hidden, cell = _one_step(values[0], weights, hidden, cell)
        return hidden.unsqueeze(0), hidden, cell
    parameters = (
        weights.input,
        weights.recurrent,
        weights.bias,
        torch.zeros_like(weights.bias),  # the kernel wants two biases and adds them
    )
    # The kernel behind torch.nn.LSTM, called with weights that need not be parameters.
    out, last_hidden, last_cell = torch.lstm(
        values,
        (hidden.unsqueeze(0), cell.unsqueeze(0)),
        parameters,
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=torch.is_grad_enabled(),  # what a backward pass needs is kept only where there can be one
        bidirectional=False,
        batch_first=False,
    )
    return out, last_hidden.squeeze(0), last_cell.squeeze(0)


def _one_step(values: Tensor, weights: LayerWeights, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden state and cell, (B, H), after one step; Eq. (lstm) as it stands."""
    gates = F.linear(values, weights.input, weights.bias) + F.linear(hidden, weights.recurrent)  # (B, 4H)
    enter, forget, new, leave = gates.chunk(4, dim=1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(cell), cell


def _initial_layer_weight(name: str, shape: tuple[int, ...], hidden: int, generator: torch.Generator) -> Tensor:
    """Start of one of the LSTM's weights; the four gates are initialised apart."""
    weight = torch.empty(*shape)
    if name.startswith("bias"):
        weight.zero_()
        weight[hidden : 2 * hidden] = 1  # forget gate
    elif name.startswith("recurrent"):
        weight.normal_(0, 0.1 * hidden**-0.5, generator=generator)  # columns of f(t), if any
        for gate in range(4):
            block = torch.empty(hidden, hidden).normal_(generator=generator)
            weight[gate * hidden : (gate + 1) * hidden, :hidden] = torch.linalg.qr(block).Q
    else:
        weight.normal_(0, shape[1] ** -0.5, generator=generator)
    return weight
