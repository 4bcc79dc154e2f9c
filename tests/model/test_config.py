import json
import re
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.errors import ConfigError
from protoglot.model.config import COMPACT, PAPER, PLAIN, PRESETS, TINY, Conditioning, ModelConfig

sizes = st.integers(1, 3000)
rates = st.floats(0, 1, exclude_max=True)
configs = st.builds(
    ModelConfig,
    conditioning=st.sampled_from(Conditioning),
    num_layers=sizes,
    hidden_size=sizes,
    embedding_size=sizes,
    oest_size=sizes,
    plat_size=sizes,
    residual=st.booleans(),
    embedding_dropout=rates,
    hidden_dropout=rates,
    output_dropout=rates,
    recurrent_dropconnect=rates,
)


@given(configs)
def test_json_and_back_is_the_identity(config):
    value = json.loads(json.dumps(config.to_json()))
    again = ModelConfig.from_json(value, name="file")
    assert again == config
    assert again.conditioning is config.conditioning


def test_the_paper_s_settings():
    assert (PAPER.num_layers, PAPER.hidden_size, PAPER.embedding_size) == (3, 1840, 400)
    assert (PAPER.oest_size, PAPER.plat_size, PAPER.residual) == (115, 4, False)
    assert (PAPER.embedding_dropout, PAPER.hidden_dropout, PAPER.output_dropout) == (0.1, 0.1, 0.4)
    assert PAPER.recurrent_dropconnect == 0.2


def test_presets_for_two_cores_differ_in_their_widths_alone():
    assert (COMPACT.num_layers, COMPACT.hidden_size, COMPACT.embedding_size) == (2, 384, 128)
    assert (PLAIN.num_layers, PLAIN.hidden_size, PLAIN.embedding_size) == (2, 320, 160)
    assert (COMPACT.oest_size, PLAIN.oest_size) == (16, 32)
    assert replace(PLAIN, hidden_size=384, embedding_size=128, oest_size=16) == COMPACT
    assert (COMPACT.plat_size, COMPACT.residual) == (4, True)
    assert not any((COMPACT.embedding_dropout, COMPACT.hidden_dropout, COMPACT.output_dropout))
    assert not COMPACT.recurrent_dropconnect


@pytest.mark.parametrize("preset", PRESETS.values())
def test_the_size_of_encoded_typology(preset):
    assert preset.conditioning is Conditioning.BARE
    assert preset.conditioning_size == 0
    assert replace(preset, conditioning=Conditioning.OEST).conditioning_size == preset.oest_size
    assert replace(preset, conditioning=Conditioning.PLAT).conditioning_size == preset.plat_size


@pytest.mark.parametrize("name", ["num_layers", "hidden_size", "embedding_size", "oest_size", "plat_size"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", None, True])
def test_wrong_sizes_are_named(name, value):
    with pytest.raises(ConfigError, match=rf"^model\.{name}: {value!r}; wanted a whole number from 1$"):
        replace(TINY, **{name: value})


@pytest.mark.parametrize(
    "name", ["embedding_dropout", "hidden_dropout", "output_dropout", "recurrent_dropconnect"]
)
@pytest.mark.parametrize("value", [1, 1.0, -0.1, float("nan"), "0.1", None, True])
def test_wrong_rates_are_named(name, value):
    with pytest.raises(ConfigError, match=rf"^model\.{name}: {value!r}; wanted a share from 0 to below 1$"):
        replace(TINY, **{name: value})


def test_other_wrong_values_are_named():
    with pytest.raises(ConfigError, match=r"^model\.residual: 1; wanted true or false$"):
        replace(TINY, residual=1)
    # A plain string would be equal to its member and yet not be it.
    with pytest.raises(ConfigError, match=r"^model\.conditioning: 'oest'; wanted"):
        replace(TINY, conditioning="oest")


@pytest.mark.parametrize("value", [None, [], "x", {}, {**TINY.to_json(), "surplus": 1}])
def test_foreign_json_is_refused(value):
    with pytest.raises(ConfigError, match=r"^file: not a model configuration; wanted the fields conditioning, "):
        ModelConfig.from_json(value, name="file")


@pytest.mark.parametrize("missing", [field.name for field in fields(ModelConfig)])
def test_a_missing_field_is_refused(missing):
    value = TINY.to_json()
    del value[missing]
    with pytest.raises(ConfigError, match=r"^file: not a model configuration"):
        ModelConfig.from_json(value, name="file")


def test_an_empty_list_of_contexts_is_left_out():
    """Models that were stored when networks could have tables of contexts, and that had none."""
    assert "contexts" not in TINY.to_json()
    value = {**TINY.to_json(), "contexts": []}
    assert ModelConfig.from_json(value, name="file") == TINY
    assert value["contexts"] == []  # what was given is left as it was


@pytest.mark.parametrize("value", [[{"length": 2, "rows": 8, "size": 3}], [{}], [3], {}, None, 0, False, "x"])
def test_tables_of_contexts_are_refused(value):
    wanted = "an empty list: models with tables of contexts can no longer be read"
    with pytest.raises(ConfigError, match=rf"^file: contexts {re.escape(repr(value))}; wanted {wanted}$"):
        ModelConfig.from_json({**TINY.to_json(), "contexts": value}, name="file")


@pytest.mark.parametrize("kind", ["gru", 3, None, ["bare"], {}])
def test_an_unknown_conditioning_is_named(kind):
    with pytest.raises(ConfigError, match=r"^file: conditioning .*; wanted one of bare, oest, plat$"):
        ModelConfig.from_json({**TINY.to_json(), "conditioning": kind}, name="file")


def test_a_wrong_value_in_a_file_is_named_with_the_file():
    with pytest.raises(ConfigError, match=r"^file: model\.num_layers: 0; wanted a whole number from 1$"):
        ModelConfig.from_json({**TINY.to_json(), "num_layers": 0}, name="file")
