r"""The diagonal of the observed Fisher information, exactly and in batches.

Eq. (hes_loglik):
:math:`\mathbf{f} = \sum_{\ell} \sum_{x \in D_\ell} \frac{1}{|T| |D_\ell|} [\nabla \log p(x \mid w)]^2`:
the square is of the gradient of *one sequence*. Automatic differentiation of a batch gives the sum of its
gradients, whose square is another thing. But the sequences of a batch do not interact: one backward pass gives for
every layer and step, the gradient :math:`d_t` with respect to the gates of each sequence, and the gradient of a
sequence with respect to a weight matrix is the product over time of its :math:`d_t` and the layer's input. These
products together are the arithmetic of the ordinary weight gradient.

So the pass is written out here by hand. Letters as in :mod:`protoglot.model.network`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from protoglot.model.config import Conditioning
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, LayerWeights

Squares = dict[str, Tensor]
"""By the name of a weight: a sum of squared gradients of its shape."""


@dataclass(slots=True)
class _LayerTrace:
    """What one layer's forward pass leaves for its backward pass."""

    below: Tensor  # (T, B, D) input
    gates: Tensor  # (T, B, 4H) after their non-linearities: i, f, g, o
    cells: Tensor  # (T + 1, B, H)
    squashed: Tensor  # (T, B, H) tanh of the cells
    hiddens: Tensor  # (T + 1, B, H)


@torch.no_grad()
def sum_squared_gradients(
    model: LanguageModel, ids: Tensor, features: Tensor | None, *, sequences_at_once: int = 64
) -> Squares:
    """Sum over sequences of the squared gradient of each one's log-likelihood; dropout is off.

    Args:
        model: left as it was.
        ids: sequences of one language with the character before each, (T + 1, B).
        features: typological vector of the language, (K,), or ``None`` for BARE.
        sequences_at_once: bounds memory: of so many the states of all layers, and gradients of embeddings, are held.

    Returns:
        One sum for every weight of the model.
    """
    total = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
    for first in range(0, ids.shape[1], sequences_at_once):
        _Pass(model, features, total).add(ids[:, first : first + sequences_at_once])
    return total


class _Pass:
    """One forward and backward pass over a few sequences, adding to the sums."""

    def __init__(self, model: LanguageModel, features: Tensor | None, total: Squares) -> None:
        self.model, self.total = model, total
        self.hidden = model.config.hidden_size
        self.stack, self.beside = model.layer_weights(features)
        self.features = features
        self.encoded = (
            None if features is None or not model.config.conditioning_size else model.encode_features(features)
        )

    def add(self, ids: Tensor) -> None:
        model, config = self.model, self.model.config
        inputs, targets = ids[:-1], ids[1:]  # (T, B)
        scale = math.sqrt(config.embedding_size)
        flow = F.embedding(inputs, model.embedding) * scale  # (T, B, E)
        traces = []
        for layer, weights in enumerate(self.stack):
            trace = _run_forward(flow, weights)
            traces.append(trace)
            out = trace.hiddens[1:]
            flow = out + flow if config.residual and layer > 0 else out
        vectors = F.linear(flow, model.projection[:, : self.hidden])  # (T, B, E)
        if self.beside is not None:
            vectors = vectors + self.beside
        outgoing = model.logits(vectors).softmax(dim=-1)  # (T, B, V - 1)
        outgoing.scatter_add_(
            2, (targets - NUM_UNPREDICTED).unsqueeze(2), -torch.ones_like(outgoing[:, :, :1])
        )  # gradient of the nats with respect to the logits

        self.total["output_bias"][NUM_UNPREDICTED:] += outgoing.sum(0).square().sum(0)
        per_sequence = _products(outgoing, vectors)  # (B, V - 1, E): through the softmax
        to_vectors = outgoing @ model.embedding[NUM_UNPREDICTED:]  # (T, B, E)
        _add_squared_products(self.total["projection"][:, : self.hidden], to_vectors, flow)
        to_encoded = self._add_projection_of_features(to_vectors)

        gradient = to_vectors @ model.projection[:, : self.hidden]  # (T, B, H)
        for layer in reversed(range(config.num_layers)):
            to_gates = _run_backward(gradient, traces[layer], self.stack[layer].recurrent)  # (T, B, 4H)
            to_encoded = _add(to_encoded, self._add_layer(layer, to_gates, traces[layer]))
            below = _Packed(self.stack[layer].input.t()).product(to_gates)
            gradient = below + gradient if config.residual and layer > 0 else below
        if to_encoded is not None:
            self._add_encoder(to_encoded)

        # The embedding is read and predicted with: its gradient has two parts, to be added before squaring.
        embedding = F.pad(per_sequence, (0, 0, NUM_UNPREDICTED, 0))  # (B, V, E)
        rows = inputs.t() + model.vocabulary_size * torch.arange(ids.shape[1], device=ids.device).unsqueeze(1)
        embedding.view(-1, config.embedding_size).index_add_(
            0, rows.flatten(), (gradient * scale).transpose(0, 1).flatten(0, 1)
        )
        self.total["embedding"] += embedding.square_().sum(0)

    def _add_projection_of_features(self, to_vectors: Tensor) -> Tensor | None:
        """OEST: the columns of the projection that meet f(t); returns the gradient of f(t), (B, r)."""
        if self.model.config.conditioning is not Conditioning.OEST:
            return None
        assert self.encoded is not None
        summed = to_vectors.sum(0)  # (B, E)
        self.total["projection"][:, self.hidden :] += torch.outer(summed.square().sum(0), self.encoded.square())
        return summed @ self.model.projection[:, self.hidden :]

    def _add_layer(self, layer: int, to_gates: Tensor, trace: _LayerTrace) -> Tensor | None:
        """Add a layer's weights; returns its part of the gradient of f(t), (B, r), if there is conditioning."""
        hidden, total = self.hidden, self.total
        names = {part: f"layers.{part}_{layer}" for part in ("input", "recurrent", "bias")}
        summed = to_gates.sum(0)  # (B, 4H)
        if self.model.config.conditioning is Conditioning.PLAT:
            return self._add_generated(layer, names, to_gates, trace)
        width = trace.below.shape[2]
        total[names["bias"]] += summed.square().sum(0)
        _add_squared_products(total[names["input"]][:, :width], to_gates, trace.below)
        _add_squared_products(total[names["recurrent"]][:, :hidden], to_gates, trace.hiddens[:-1])
        if self.model.config.conditioning is Conditioning.BARE:
            return None
        assert self.encoded is not None
        outer = torch.outer(summed.square().sum(0), self.encoded.square())  # (4H, r)
        columns = self.model.layers[f"recurrent_{layer}"][:, hidden:]
        total[names["recurrent"]][:, hidden:] += outer
        if layer > 0:
            total[names["input"]][:, hidden:] += outer
            columns = columns + self.model.layers[f"input_{layer}"][:, hidden:]
        to_encoded: Tensor = summed @ columns
        return to_encoded

    def _add_generated(self, layer: int, names: dict[str, str], to_gates: Tensor, trace: _LayerTrace) -> Tensor:
        """PLAT: the gradient of W in w = W f(t) is that of w times f(t)."""
        assert self.encoded is not None
        to_encoded = to_gates.new_zeros(to_gates.shape[1], len(self.encoded))
        gradients = {
            "input": _each_product(to_gates, trace.below),
            "recurrent": _each_product(to_gates, trace.hiddens[:-1]),
            "bias": iter(to_gates.sum(0)),
        }
        for part, each in gradients.items():
            weight = self.model.layers[f"{part}_{layer}"]  # (4H, D, r), or (4H, r)
            squares = weight.new_zeros(weight.shape[:-1])
            for sequence, gradient in enumerate(each):
                to_encoded[sequence] += gradient.flatten() @ weight.flatten(0, -2)
                squares.addcmul_(gradient, gradient)
            self.total[names[part]] += squares.unsqueeze(-1) * self.encoded.square()
        return to_encoded

    def _add_encoder(self, to_encoded: Tensor) -> None:
        """The encoder W t + b under its ReLU."""
        assert self.encoded is not None
        assert self.features is not None
        through = (to_encoded * (self.encoded > 0)).square().sum(0)  # (r,)
        self.total["encoder_bias"] += through
        self.total["encoder_weight"] += torch.outer(through, self.features.square())


def _products(left: Tensor, right: Tensor) -> Tensor:
    """For each sequence the product over time: (T, B, M), (T, B, N) -> (B, M, N)."""
    return torch.bmm(left.permute(1, 2, 0), right.transpose(0, 1))


def _add_squared_products(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add the square of each sequence's product over time: (T, B, M), (T, B, N) -> (M, N).

    One sequence after the other: its product is squared and added while it is in the cache; a batched product would
    go to memory and back.
    """
    for product in _each_product(left, right):
        total.addcmul_(product, product)


def _each_product(left: Tensor, right: Tensor) -> Iterator[Tensor]:
    """For each sequence the product over time, (M, N), which the next one overwrites."""
    product = left.new_empty(left.shape[2], right.shape[2])
    for sequence in range(left.shape[1]):
        yield torch.mm(left[:, sequence].t(), right[:, sequence], out=product)


def _add(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return second if first is None else first if second is None else first + second


class _Packed:
    """A matrix W that many others are multiplied with, for the faster of PyTorch's two libraries.

    In float32 on a CPU that is oneDNN, which makes use of more kinds of processors than the other.
    """

    def __init__(self, weight: Tensor) -> None:
        known = weight.dtype == torch.float32 and weight.device.type == "cpu"
        fits = known and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        self._weight = weight.contiguous().to_mkldnn() if fits else weight

    def product(self, values: Tensor) -> Tensor:
        """The products with W: (..., N) -> (..., M), for W (M, N)."""
        if not self._weight.is_mkldnn:
            return F.linear(values, self._weight)
        flat = F.linear(values.flatten(0, -2).to_mkldnn(), self._weight).to_dense()
        return flat.view(*values.shape[:-1], -1)


def _run_forward(below: Tensor, weights: LayerWeights) -> _LayerTrace:
    """The layer step by step from a zero state, keeping what the backward pass needs."""
    num_steps, num_sequences, _ = below.shape
    hidden = weights.recurrent.shape[1]
    gates = _Packed(weights.input).product(below).add_(weights.bias)  # (T, B, 4H), turned into gates in place
    cells = gates.new_zeros(num_steps + 1, num_sequences, hidden)
    hiddens = gates.new_zeros(num_steps + 1, num_sequences, hidden)
    squashed = gates.new_empty(num_steps, num_sequences, hidden)
    recurrent = _Packed(weights.recurrent)
    for step in range(num_steps):
        gate = gates[step]
        gate.add_(recurrent.product(hiddens[step]))
        gate[:, : 2 * hidden].sigmoid_()
        gate[:, 2 * hidden : 3 * hidden].tanh_()
        gate[:, 3 * hidden :].sigmoid_()
        take, keep, new, out = gate.chunk(4, dim=1)
        torch.mul(keep, cells[step], out=cells[step + 1]).addcmul_(take, new)
        torch.tanh(cells[step + 1], out=squashed[step])
        torch.mul(out, squashed[step], out=hiddens[step + 1])
    return _LayerTrace(below, gates, cells, squashed, hiddens)


def _run_backward(gradient: Tensor, trace: _LayerTrace, recurrent: Tensor) -> Tensor:
    """From the gradient with respect to the outputs, (T, B, H), to that with respect to the gates, (T, B, 4H)."""
    hidden = recurrent.shape[1]
    take, keep, new, out = trace.gates.chunk(4, dim=2)
    # What multiplies the cell's gradient (i, f, g) or the output's (o), for all steps at once.
    factors = torch.empty_like(trace.gates)
    taken, kept, shown = take * new, keep * trace.cells[:-1], out * trace.squashed
    torch.addcmul(taken, taken, take, value=-1, out=factors[..., :hidden])  # i (1 - i) g
    torch.addcmul(kept, kept, keep, value=-1, out=factors[..., hidden : 2 * hidden])  # f (1 - f) c
    torch.addcmul(take, taken, new, value=-1, out=factors[..., 2 * hidden : 3 * hidden])  # i (1 - g^2)
    torch.addcmul(shown, shown, out, value=-1, out=factors[..., 3 * hidden :])  # o (1 - o) tanh c
    to_cell = torch.addcmul(out, shown, trace.squashed, value=-1)  # o (1 - tanh^2 c)
    transposed = _Packed(recurrent.t())
    later_hidden = torch.zeros_like(trace.cells[0])
    later_cell = torch.zeros_like(trace.cells[0])
    for step in reversed(range(len(gradient))):
        at_hidden = later_hidden.add_(gradient[step])
        at_cell = later_cell.addcmul_(at_hidden, to_cell[step])
        gate = factors[step]
        gate[:, : 3 * hidden].view(-1, 3, hidden).mul_(at_cell.unsqueeze(1))
        gate[:, 3 * hidden :].mul_(at_hidden)
        later_hidden = transposed.product(gate)
        later_cell = at_cell.mul_(keep[step])
    return factors
