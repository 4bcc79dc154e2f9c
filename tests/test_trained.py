"""A model on disk is the model that was saved, with everything that belongs to it, or an error."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from protoglot.artefacts import HEADER, save_artefact
from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import ConfigError, StorageError
from protoglot.trained import (
    CHECKPOINTS,
    LATEST,
    load_trained,
    load_with_state,
    newest_checkpoint,
    save_trained,
)
from test_artefacts import pickles, register, rewrite
from tiny import tiny_trained

KINDS = ["bare", "oest", "plat"]
WEIGHTS = "weights.safetensors"


@pytest.fixture
def saved(tmp_path):
    save_trained(tmp_path / "model", tiny_trained("oest"), state={"step": 3})
    return tmp_path / "model"


def change_content(path, **changes):
    header = json.loads((path / HEADER).read_bytes())
    rewrite(path, content={**header["content"], **changes})


def change_tensors(path, file, change):
    """Rewrite a file of tensors, and let the header vouch for it."""
    arrays = load_file(path / file)
    change(arrays)
    save_file(arrays, path / file)
    register(path, file)


@pytest.mark.parametrize("kind", KINDS)
def test_save_then_load_is_the_identity(kind, tmp_path):
    trained = tiny_trained(kind)
    with torch.no_grad():
        trained.model.embedding[3] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-42, *[1 / 3] * 4])
    save_trained(tmp_path / "model", trained)
    loaded = load_trained(tmp_path / "model")
    weights = dict(loaded.model.named_parameters())
    assert list(weights) == [name for name, _ in trained.model.named_parameters()]
    for name, weight in trained.model.named_parameters():
        assert weight.detach().numpy().tobytes() == weights[name].detach().numpy().tobytes()
        assert weights[name].requires_grad
    assert loaded.model.config == trained.model.config
    assert loaded.model.num_features == trained.model.num_features
    assert loaded.vocabulary == trained.vocabulary
    assert loaded.languages == trained.languages
    assert list(loaded.languages) == list(trained.languages)
    assert loaded.fold == trained.fold
    assert loaded.provenance == trained.provenance
    assert loaded.features.keys() == trained.features.keys()
    for code, vector in trained.features.items():
        assert loaded.features[code].tobytes() == vector.tobytes()
        assert loaded.features[code].dtype == np.float32


def test_the_state_of_training_is_kept_or_empty(tmp_path):
    trained = tiny_trained("plat")
    state = {"step": 3, "seconds": 1 / 3, "best": None}
    optimizer = {"step.a": np.asarray(np.float32(3)), "exp_avg.a": np.arange(6, dtype=np.float32).reshape(2, 3)}
    save_trained(tmp_path / "with", trained, state=state, optimizer=optimizer)
    save_trained(tmp_path / "without", trained)
    _, found, arrays = load_with_state(tmp_path / "with")
    assert found == state
    assert arrays.keys() == optimizer.keys()
    for name, array in optimizer.items():
        assert arrays[name].shape == array.shape
        assert np.array_equal(arrays[name], array)
    assert load_with_state(tmp_path / "without")[1:] == ({}, {})


def test_language_records_are_kept_whole(tmp_path):
    record = LanguageRecord(
        code="jak", iso639_3="jac", name="Jakaltek", family="Mayan", source="a file", licence="CC0"
    )
    trained = replace(tiny_trained(), languages={"jak": record})
    save_trained(tmp_path / "model", trained)
    assert load_trained(tmp_path / "model").languages == {"jak": record}


def test_a_saved_model_replaces_the_one_before(tmp_path):
    save_trained(tmp_path / "model", tiny_trained(seed=1))
    save_trained(tmp_path / "model", tiny_trained(seed=2))
    assert load_trained(tmp_path / "model").provenance["seed"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("kind", ["oest", "plat"])
def test_features_of_a_language(kind, tmp_path):
    trained = tiny_trained(kind)
    save_trained(tmp_path / "model", trained)
    loaded = load_trained(tmp_path / "model")
    vector = loaded.features_of("eus")
    assert vector.dtype == loaded.model.embedding.dtype
    assert torch.equal(vector, torch.from_numpy(trained.features["eus"]))
    with pytest.raises(ConfigError, match="xyz: no typological vector in the model"):
        loaded.features_of("xyz")
    assert tiny_trained("bare").features_of("xyz") is None


# Damage. What the artefact itself refuses is tested with it; here, what a header vouches for and is wrong.


@pytest.mark.parametrize("name", [HEADER, WEIGHTS, "typology.safetensors"])
def test_no_changed_byte_goes_unnoticed(saved, name):
    whole = (saved / name).read_bytes()
    generator = np.random.default_rng(1)
    for position in generator.integers(0, len(whole), size=70):
        data = bytearray(whole)
        data[position] ^= 1 << generator.integers(8)  # one bit: no blank becomes another kind of blank
        (saved / name).write_bytes(data)
        with pytest.raises(StorageError, match=str(saved / name)):
            load_trained(saved)


@pytest.mark.parametrize("name", [HEADER, WEIGHTS, "typology.safetensors"])
def test_missing_files_are_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(StorageError, match=name):
        load_trained(saved)


def add_a_tensor(arrays):
    arrays["surplus"] = np.zeros(3, dtype=np.float32)


def drop_a_tensor(arrays):
    del arrays["output_bias"]


def rename_a_tensor(arrays):
    arrays["Projection"] = arrays.pop("projection")


def cut_a_tensor(arrays):
    arrays["projection"] = arrays["projection"][:, :-1].copy()


def transpose_a_tensor(arrays):
    arrays["embedding"] = arrays["embedding"].T.copy()


def add_a_dimension(arrays):
    arrays["output_bias"] = arrays["output_bias"][None]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (add_a_tensor, "surplus"),
        (drop_a_tensor, "output_bias"),
        (rename_a_tensor, "Projection, projection"),
        (cut_a_tensor, r"projection: torch.float32 \(8, 16\); wanted torch.float32 \(8, 17\)"),
        (transpose_a_tensor, "embedding: "),
        (add_a_dimension, "output_bias: "),
    ],
)
def test_weights_of_another_model_are_refused(saved, change, named):
    change_tensors(saved, WEIGHTS, change)
    with pytest.raises(StorageError, match=rf"{WEIGHTS}: .*{named}"):
        load_trained(saved)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.bool_, np.float16, np.float64])
def test_weights_of_another_type_are_refused(saved, dtype):
    def change(arrays):
        arrays["projection"] = arrays["projection"].astype(dtype)

    change_tensors(saved, WEIGHTS, change)
    with pytest.raises(StorageError, match=rf"{WEIGHTS}: projection: torch\.\w+ \(8, 17\); wanted torch.float32"):
        load_trained(saved)


@pytest.mark.parametrize(
    "features",
    [
        np.zeros((5, 6), dtype=np.float32),
        np.zeros((4, 7), dtype=np.float32),
        np.zeros(5, dtype=np.float32),
        np.asarray(np.float32(1)),
        np.zeros((5, 7), dtype=np.int32),
        None,
    ],
)
def test_features_that_are_not_those_of_the_languages_are_refused(saved, features):
    def change(arrays):
        del arrays["features"]
        arrays["features" if features is not None else "surplus"] = np.zeros(1) if features is None else features

    change_tensors(saved, "typology.safetensors", change)
    with pytest.raises(StorageError, match=str(saved)):
        load_trained(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": None},
        {"model": {"num_layers": 2}},
        {"vocabulary": None},
        {"vocabulary": {"format": "protoglot-vocabulary", "version": 1, "characters": ["a"]}},
        {"languages": None},
        {"languages": [{"code": "eus"}]},
        {"languages": [3]},
        {"languages_with_features": None},
        {"languages_with_features": ["eus"]},
        {"languages_with_features": 3},
        {"fold": None},
        {"fold": {"name": "x"}},
        {"num_features": "7"},
        {"num_features": -1},
        {"num_features": None},
        {"num_features": 10**15},
        {"state": 3},
        {"provenance": None},
    ],
)
def test_a_header_that_is_not_of_a_model_is_refused(saved, changes):
    change_content(saved, **changes)
    with pytest.raises(StorageError, match=rf"^{saved / HEADER}: ") as caught:
        load_trained(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sizes", [{"hidden_size": 10**9}, {"num_layers": 0}, {"embedding_size": 10**6}])
def test_sizes_that_the_weights_do_not_have_are_refused(saved, sizes):
    header = json.loads((saved / HEADER).read_bytes())
    change_content(saved, model={**header["content"]["model"], **sizes})
    with pytest.raises(StorageError, match=str(saved)):
        load_trained(saved)


def test_a_model_with_an_empty_list_of_contexts_is_read(saved):
    """Networks could have tables of contexts once; the headers of those without them have an empty list."""
    before = load_trained(saved)
    header = json.loads((saved / HEADER).read_bytes())
    change_content(saved, model={**header["content"]["model"], "contexts": []})
    after = load_trained(saved)
    assert after.model.config == before.model.config
    for name, weight in before.model.named_parameters():
        assert torch.equal(after.model.get_parameter(name), weight)


def test_a_model_with_tables_of_contexts_is_refused(saved):
    header = json.loads((saved / HEADER).read_bytes())
    tables = [{"length": 2, "rows": 16, "size": 3}]
    change_content(saved, model={**header["content"]["model"], "contexts": tables})
    with pytest.raises(StorageError, match=rf"^{saved / HEADER}: contexts .* can no longer be read$"):
        load_trained(saved)


def test_a_prior_is_not_a_model(tmp_path):
    save_artefact(tmp_path / "prior", kind="prior", content={}, tensors={})
    with pytest.raises(StorageError, match="a prior; wanted a model"):
        load_trained(tmp_path / "prior")


@pytest.mark.parametrize("form", ["pickle", "torch.save"])
def test_nothing_is_executed(saved, tmp_path, form):
    marker = tmp_path / "executed"
    data = pickles(marker)[form]
    (tmp_path / "model.pt").write_bytes(data)
    (saved / WEIGHTS).write_bytes(data)
    register(saved, WEIGHTS)
    for path in (tmp_path / "model.pt", saved):
        with pytest.raises(StorageError):
            load_trained(path)
    assert not marker.exists()


# The directory of a run.


def test_a_run_is_read_through_its_pointer(tmp_path):
    for step in (10, 20):
        save_trained(tmp_path / CHECKPOINTS / f"step-{step}", tiny_trained(seed=step))
    assert newest_checkpoint(tmp_path) is None
    with pytest.raises(StorageError, match=r"no header\.json"):
        load_trained(tmp_path)
    (tmp_path / LATEST).write_text('{"checkpoint": "step-10"}')
    assert load_trained(tmp_path).provenance["seed"] == 10


@pytest.mark.parametrize(
    "name", ["../x", "..", ".", "", "/etc", "a/b", "step-10/", "step-10/.", None, 3, ["step-10"], "a\0b"]
)
def test_a_pointer_elsewhere_is_refused(tmp_path, name):
    save_trained(tmp_path / "run" / CHECKPOINTS / "step-10", tiny_trained())
    save_trained(tmp_path / "run" / "x", tiny_trained())
    (tmp_path / "run" / LATEST).write_text(json.dumps({"checkpoint": name}))
    with pytest.raises(StorageError, match=rf"{LATEST}: checkpoint .*; wanted a name in {CHECKPOINTS}/"):
        load_trained(tmp_path / "run")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", "[" * 100_000, "\xff"])
def test_a_damaged_pointer_is_named(tmp_path, text):
    (tmp_path / LATEST).write_text(text, encoding="latin-1")
    with pytest.raises(StorageError, match=rf"{LATEST}: damaged"):
        load_trained(tmp_path)


def test_a_pointer_to_nothing_is_named(tmp_path):
    (tmp_path / LATEST).write_text('{"checkpoint": "step-10"}')
    with pytest.raises(StorageError, match=r"step-10: no such directory"):
        load_trained(tmp_path)
