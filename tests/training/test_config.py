import json
import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.batching import BatchingConfig
from protoglot.errors import ConfigError
from protoglot.training.budget import Budget
from protoglot.training.config import COMPACT, PAPER, PLAIN, PRESETS, TINY, Schedule, TrainingConfig

positive = st.floats(1e-6, 1e6)
shares = st.floats(0, 1, exclude_max=True)
configs = st.builds(
    TrainingConfig,
    learning_rate=positive,
    schedule=st.sampled_from(Schedule),
    warm_up=shares,
    second_moment_decay=shares,
    prior_variance=positive,
    max_gradient_norm=positive,
    max_language_factor=positive | st.just(math.inf),
    patience=st.none() | st.integers(1, 100),
    num_evaluations=st.integers(1, 100),
    validation_characters=st.integers(1, 10**6),
    default_budget=st.sampled_from(["20min", "6epochs"]),
    batching=st.builds(
        BatchingConfig,
        batch_size=st.integers(1, 1000),
        mixed=st.booleans(),
        mean_length=st.floats(1, 1000),
        length_deviation=st.floats(0, 100),
    ),
)


@given(configs)
def test_json_and_back_is_the_identity(config):
    text = json.dumps(config.to_json(), allow_nan=False)
    again = TrainingConfig.from_json(json.loads(text), name="file")
    assert again == config
    assert again.schedule is config.schedule


def test_the_paper_s_settings():
    assert PAPER.learning_rate == 1e-4
    assert PAPER.schedule is Schedule.THIRDS
    assert PAPER.patience is not None
    assert PAPER.default_budget == "6epochs"
    assert PAPER.max_language_factor == math.inf
    assert (PAPER.batching.batch_size, PAPER.batching.mixed) == (128, False)
    assert (PAPER.batching.mean_length, PAPER.batching.length_deviation) == (125, 5)


def test_presets_for_two_cores_differ_in_their_rates_alone():
    assert (COMPACT.learning_rate, PLAIN.learning_rate) == (4e-3, 5e-3)
    assert replace(PLAIN, learning_rate=4e-3) == COMPACT
    assert (COMPACT.batching.batch_size, COMPACT.batching.mixed) == (16, True)


@pytest.mark.parametrize("preset", PRESETS.values())
def test_default_budgets_can_be_read(preset):
    assert Budget.parse(preset.default_budget).amount > 0


@given(shares | st.just(1.0))
def test_thirds_divide_the_rate_by_ten_each(share):
    config = replace(TINY, schedule=Schedule.THIRDS, learning_rate=0.5)
    thirds_done = (share >= 1 / 3) + (share >= 2 / 3)
    assert config.rate_at(share) == pytest.approx(0.5 / 10**thirds_done)


@pytest.mark.parametrize(("share", "divisor"), [(0, 1), (1 / 3, 10), (2 / 3, 100), (1, 100)])
def test_a_third_is_over_at_its_end(share, divisor):
    assert replace(PAPER, learning_rate=1.0).rate_at(share) == pytest.approx(1 / divisor)


@given(st.floats(0, 0.9), st.floats(0, 1))
def test_warm_up_rises_and_decay_falls_linearly(warm_up, share):
    config = replace(TINY, learning_rate=2.0, warm_up=warm_up)
    rate = config.rate_at(share)
    assert 0.02 * (1 - 1e-12) <= rate <= 2.0
    if share < warm_up:
        assert rate == pytest.approx(max(2 * share / warm_up, 0.02))
    else:
        assert rate == pytest.approx(max(2 * (1 - share) / (1 - warm_up), 0.02))
    assert config.rate_at(warm_up) == pytest.approx(2.0)
    assert config.rate_at(1.0) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        *(
            (name, [0, -1.0, math.nan, "1", None, True], "a number above 0")
            for name in ("learning_rate", "prior_variance", "max_gradient_norm", "max_language_factor")
        ),
        *(
            (name, [1, -0.1, math.nan, "0.1", None, False], "a share from 0 to below 1")
            for name in ("warm_up", "second_moment_decay")
        ),
        *(
            (name, [0, -3, 1.5, "10", None, True], "a whole number from 1")
            for name in ("num_evaluations", "validation_characters")
        ),
        ("patience", [0, -1, 1.5, "3", True], "a whole number from 1, or none"),
        ("schedule", ["thirds", None], "one of thirds, warm-up-and-decay"),
        ("batching", [None, {}], "batching settings"),
    ],
)
def test_wrong_values_are_named(name, values, wanted):
    for value in values:
        with pytest.raises(ConfigError, match=rf"^training\.{name}: .*; wanted {wanted}$"):
            replace(TINY, **{name: value})


@pytest.mark.parametrize("name", ["learning_rate", "prior_variance", "max_gradient_norm"])
def test_numbers_without_end_are_refused_where_json_could_not_write_them(name):
    with pytest.raises(ConfigError, match=rf"^training\.{name}: inf; wanted a number above 0$"):
        replace(TINY, **{name: math.inf})


@pytest.mark.parametrize(
    "value", [None, [], {}, 3, {**TINY.to_json(), "surplus": 1}, {**TINY.to_json(), "batching": None}]
)
def test_foreign_json_is_refused(value):
    with pytest.raises(ConfigError, match=r"^file: not settings of training; wanted the fields batching, "):
        TrainingConfig.from_json(value, name="file")


@pytest.mark.parametrize("missing", [field.name for field in fields(TrainingConfig)])
def test_a_missing_field_is_refused(missing):
    value = TINY.to_json()
    del value[missing]
    with pytest.raises(ConfigError, match=r"^file: not settings of training"):
        TrainingConfig.from_json(value, name="file")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"schedule": "cosine"}, "schedule"),
        ({"schedule": ["thirds"]}, "schedule"),
        ({"learning_rate": "0.1"}, "learning_rate"),
        ({"num_evaluations": 0}, "num_evaluations"),
        ({"patience": 1.5}, "patience"),
        ({"batching": {}}, "batching"),
        ({"batching": {"batch_size": 1, "surplus": 2}}, "batching"),
        ({"batching": {**TINY.to_json()["batching"], "batch_size": "8"}}, "batch_size"),
        ({"batching": {**TINY.to_json()["batching"], "batch_size": 1.5}}, "batch_size"),
        ({"batching": {**TINY.to_json()["batching"], "mixed": 1}}, "mixed"),
        ({"batching": {**TINY.to_json()["batching"], "mean_length": None}}, "mean_length"),
    ],
)
def test_a_wrong_value_in_a_file_is_named_with_the_file(changes, named):
    with pytest.raises(ConfigError, match=rf"^file: .*{named}"):
        TrainingConfig.from_json({**TINY.to_json(), **changes}, name="file")
