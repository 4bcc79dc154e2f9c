import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from protoglot.cli.main import run
from protoglot.errors import ConfigError
from protoglot.exporting.onnx import difference_from_network, to_onnx
from tiny import tiny_adapted


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
@pytest.mark.parametrize("residual", [True, False])
def test_a_runtime_computes_what_the_network_computes(conditioning, residual):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    model = tiny_adapted(conditioning)
    model.network.config = replace(model.network.config, residual=residual)
    content = to_onnx(model)
    assert difference_from_network(content, model) < 1e-5
    with torch.no_grad():
        model.network.layers["bias_1"][0] += 0.1
    assert difference_from_network(content, model) > 1e-4


def test_texts_side_by_side_and_metadata():
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = tiny_adapted("oest")
    content = to_onnx(model)
    properties = {entry.key: entry.value for entry in onnx.load_from_string(content).metadata_props}
    assert [chr(point) for point in json.loads(properties["characters"])] == list(model.vocabulary.characters)
    assert properties["language"] == "wol"
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    ids = torch.randint(3, len(model.vocabulary), (9, 2))
    vectors, state = model.network.hidden_states(ids, model.features_tensor(), model.network.initial_state(2))
    zeros = np.zeros((2, 2, 12), dtype=np.float32)
    found = session.run(None, {"ids": ids.numpy(), "hidden": zeros, "cell": zeros})
    wanted = [torch.log_softmax(model.network.logits(vectors), dim=-1), *state]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), atol=1e-5)


def test_the_command_says_how_well_the_runtime_agrees(tmp_path, capsys):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    tiny_adapted("plat").save(tmp_path / "model")
    out = tmp_path / "model.onnx"
    assert run(["export", str(tmp_path / "model"), "--format", "onnx", "--out", str(out)]) == 0
    assert "onnxruntime agrees" in capsys.readouterr().out
    assert out.stat().st_size > 1000


def test_without_the_package_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ConfigError, match=r"pip install 'protoglot\[onnx\]'"):
        to_onnx(tiny_adapted())
