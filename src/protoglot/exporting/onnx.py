"""The network of an adapted model in ONNX, which many programs and devices run.

Inputs:
    ``ids``, int64 (T, B): the next T ids of each of B texts; BEGIN, which is 0, at the very start.
    ``hidden``, ``cell``, float32 (L, B, H): state before them; zeros at the very start.

Outputs:
    ``log_probabilities``, float32 (T, B, V - 1): natural logarithms, after each id, of every id that can come next;
    id v is at position v - 1.
    ``new_hidden``, ``new_cell``, float32 (L, B, H): state after the last id.

The metadata hold the vocabulary (``characters``: code points as JSON, the first of which has the id 3, after the ids of
BEGIN, END and OTHER) and the language. What typology says of the language has become part of the weights. The n-gram
and the calibration of a model are not part of the file.
"""

import json
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from protoglot import __version__
from protoglot.adapted import AdaptedModel
from protoglot.errors import ConfigError
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel
from protoglot.model.settling import settle_on_language
from protoglot.vocabulary import BEGIN

TOLERANCE = 1e-3
"""Most nats by which a runtime may differ from the network: it adds up in another order."""

_OPSET = 17
_IR_VERSION = 8  # of that opset, so that runtimes of the last years read the file
_GATES = (0, 3, 1, 2)  # ours are i, f, g, o; those of ONNX are i, o, f, c (our g)

Weights = NDArray[np.float32]


def to_onnx(model: AdaptedModel) -> bytes:
    """The network of a model as the content of an ONNX file.

    Raises:
        ConfigError: if the package ``onnx`` is not installed.
    """
    onnx = _import("onnx")
    network = settle_on_language(model.network, model.features_tensor())
    graph = _Graph(network, onnx.helper).make()
    made = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="protoglot",
        producer_version=__version__,
    )
    onnx.helper.set_model_props(
        made,
        {
            "language": model.language,
            "characters": json.dumps([ord(character) for character in model.vocabulary.characters]),
        },
    )
    onnx.checker.check_model(made, full_check=True)
    content: bytes = made.SerializeToString()
    return content


@torch.no_grad()
def difference_from_network(content: bytes, model: AdaptedModel, *, length: int = 64, seed: int = 0) -> float:
    """Largest difference in nats between the network of a model and a runtime, along random ids read in two pieces.

    Raises:
        ConfigError: if the package ``onnxruntime`` is not installed.
    """
    runtime = _import("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    network = model.network
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(NUM_UNPREDICTED, network.vocabulary_size, (length, 1), generator=generator)
    ids[0] = BEGIN
    state = network.initial_state(1)
    vectors, _ = network.hidden_states(ids.to(network.embedding.device), model.features_tensor(), state)
    wanted = torch.log_softmax(network.logits(vectors), dim=-1).cpu().numpy()
    hidden, cell = (part.cpu().float().numpy() for part in state)
    pieces = []
    for piece in (ids[: length // 2], ids[length // 2 :]):
        found, hidden, cell = session.run(None, {"ids": piece.numpy(), "hidden": hidden, "cell": cell})
        pieces.append(found)
    return float(np.abs(np.concatenate(pieces) - wanted).max())


class _Graph:
    """A BARE network, node by node.

    Args:
        network: whose weights become constants.
        helper: ``onnx.helper``.
    """

    def __init__(self, network: LanguageModel, helper: Any) -> None:  # noqa: ANN401 a module of an optional package
        self._network = network
        self._helper = helper
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def make(self) -> Any:  # noqa: ANN401 a message of an optional package
        """The graph."""
        helper, network, config = self._helper, self._network, self._network.config
        floats, whole = 1, 7  # types of tensors in ONNX
        size = network.vocabulary_size - NUM_UNPREDICTED
        state = [config.num_layers, "B", config.hidden_size]
        embedding = _array(network.embedding)
        flow = self._add(
            "Gather", self._constant("embedding", embedding * math.sqrt(config.embedding_size)), "ids"
        )
        hiddens, cells = [], []
        for layer in range(config.num_layers):
            out, hidden, cell = self._layer(layer, flow)
            flow = self._add("Add", out, flow) if config.residual and layer > 0 else out
            hiddens.append(hidden)
            cells.append(cell)
        projected = self._add("MatMul", flow, self._constant("projection", _array(network.projection).T))
        scores = self._add("MatMul", projected, self._constant("output", embedding[NUM_UNPREDICTED:].T))
        bias = self._constant("output_bias", _array(network.output_bias)[NUM_UNPREDICTED:])
        self._add("LogSoftmax", self._add("Add", scores, bias), output="log_probabilities", axis=-1)
        self._add("Concat", *hiddens, output="new_hidden", axis=0)
        self._add("Concat", *cells, output="new_cell", axis=0)
        return helper.make_graph(
            self._nodes,
            "protoglot",
            [
                helper.make_tensor_value_info("ids", whole, ["T", "B"]),
                helper.make_tensor_value_info("hidden", floats, state),
                helper.make_tensor_value_info("cell", floats, state),
            ],
            [
                helper.make_tensor_value_info("log_probabilities", floats, ["T", "B", size]),
                helper.make_tensor_value_info("new_hidden", floats, state),
                helper.make_tensor_value_info("new_cell", floats, state),
            ],
            initializer=self._constants,
        )

    def _layer(self, layer: int, flow: str) -> tuple[str, str, str]:
        """Names of the outputs of an LSTM layer, (T, B, H), and of its last state, (1, B, H) twice."""
        hidden = self._network.config.hidden_size
        weights = self._network.layers
        bias = _in_order(_array(weights[f"bias_{layer}"]), hidden)
        inputs = [
            flow,
            self._constant(f"input_{layer}", _in_order(_array(weights[f"input_{layer}"]), hidden)[None]),
            self._constant(f"recurrent_{layer}", _in_order(_array(weights[f"recurrent_{layer}"]), hidden)[None]),
            self._constant(f"bias_{layer}", np.concatenate([bias, np.zeros_like(bias)])[None]),
            "",  # all sequences are equally long
            self._slice("hidden", layer),
            self._slice("cell", layer),
        ]
        names = [f"{part}_of_{layer}" for part in ("all", "last_hidden", "last_cell")]
        self._nodes.append(self._helper.make_node("LSTM", inputs, names, hidden_size=hidden))
        # ONNX has a dimension for the direction after that for time.
        axis = self._constant(f"direction_{layer}", np.array([1], dtype=np.int64))
        return self._add("Squeeze", names[0], axis), names[1], names[2]

    def _slice(self, name: str, layer: int) -> str:
        """The state of one layer, (1, B, H)."""
        bounds = [
            self._constant(f"{name}_{layer}_{bound}", np.array([value], dtype=np.int64))
            for bound, value in (("from", layer), ("to", layer + 1), ("axis", 0))
        ]
        return self._add("Slice", name, *bounds)

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        type_ = 7 if values.dtype == np.int64 else 1
        data = np.ascontiguousarray(values).tobytes()
        self._constants.append(self._helper.make_tensor(name, type_, values.shape, data, raw=True))
        return name

    def _add(self, operator: str, *inputs: str, output: str | None = None, **attributes: int) -> str:
        name = output or f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, list(inputs), [name], **attributes))
        return name


def _in_order(weight: Weights, hidden: int) -> Weights:
    """The four gates of a weight in the order of ONNX."""
    return np.concatenate([weight[gate * hidden : (gate + 1) * hidden] for gate in _GATES])


def _array(weight: torch.Tensor) -> Weights:
    return weight.detach().cpu().float().numpy()


def _import(name: str) -> Any:  # noqa: ANN401 a module
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} is not installed; wanted pip install 'protoglot[onnx]'") from error
