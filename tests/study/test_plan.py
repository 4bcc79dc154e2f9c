from dataclasses import replace as replace_record

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import ConfigError
from protoglot.folds import fold_for
from protoglot.study.config import (
    Adaptation,
    AdaptationSettings,
    FewShot,
    Joint,
    StudyConfig,
    TrainingBudget,
    TuningBudget,
    ZeroShot,
    parse_config,
)
from protoglot.study.costs import estimate, expected_seconds
from protoglot.study.plan import UnitKind, make_plan, with_keys
from study.fake import CONFIG

CODES = ("eus", "fra", "tur", "wol", "zul")
RECORDS = [LanguageRecord(code=code, iso639_3=code, name=code.title()) for code in CODES]
GUEST = LanguageRecord(code="xho", iso639_3="xho", name="Xhosa")
BASE = StudyConfig(
    name="test",
    partitions=2,
    held_out=(1, 2),
    training=TrainingBudget(budget="1000 characters", joint_budget="2000 characters", num_validation=1),
)


def keys_of(config, records=RECORDS, **changed_text):
    digests = {record.code: f"text of {record.code}" for record in records} | changed_text
    return {unit.name: unit.key for unit in with_keys(make_plan(config, records), digests)}


subsets = st.sets(st.sampled_from(CODES)).map(lambda codes: tuple(sorted(codes)) or "all")
conditionings = st.sets(st.sampled_from(["bare", "oest", "plat"]), min_size=1).map(
    lambda found: tuple(sorted(found))
)
few_shots = st.builds(
    FewShot,
    conditionings=conditionings,
    methods=st.sets(st.sampled_from(["ninf", "fitu", "univ", "n-gram"]), min_size=1).map(tuple),
    sentences=st.sets(st.sampled_from([10, 30, 100]), min_size=1).map(tuple),
    samples=st.integers(1, 3),
    languages=subsets,
)
zero_shots = st.builds(
    ZeroShot,
    conditionings=conditionings,
    methods=st.sets(st.sampled_from(["ninf", "univ"]), min_size=1).map(tuple),
    languages=subsets,
)
joints = st.builds(Joint, conditionings=conditionings, languages=subsets)
studies = st.builds(
    replace,
    st.just(BASE),
    few_shot=st.lists(few_shots, max_size=2).map(tuple),
    zero_shot=st.lists(zero_shots, max_size=2).map(tuple),
    joint=st.lists(joints, max_size=2).map(tuple),
)


@given(studies)
def test_every_unit_stands_after_those_it_needs_under_a_key_of_its_own(config):
    seen = set()
    for unit in make_plan(config, RECORDS):
        assert set(unit.needs.values()) <= seen
        assert estimate(unit) > 0
        seen.add(unit.name)
    keys = keys_of(config)
    assert set(keys) == seen
    assert len(set(keys.values())) == len(keys)


@settings(max_examples=40)
@given(studies, few_shots)
def test_a_study_that_is_extended_keeps_all_its_units(config, more):
    before = keys_of(config)
    for larger in (
        replace(config, few_shot=(*config.few_shot, more)),
        replace(config, seeds=(0, 1)),
        replace(config, joint=(*config.joint, Joint(conditionings=("bare",)))),
    ):
        after = keys_of(larger)
        assert {name: after[name] for name in before} == before


@given(studies)
def test_a_guest_only_adds_units(config):
    before = keys_of(config)
    after = keys_of(replace(config, guests=("xho",)), [*RECORDS, GUEST])
    assert {name: after[name] for name in before} == before
    added = set(after) - set(before)
    assert all("xho" in name for name in added)
    assert "unigram xho" in added


def test_one_more_language_in_a_grid_adds_its_units_and_no_others():
    def config(*languages):
        grid = FewShot(conditionings=("bare",), methods=("fitu", "n-gram"), sentences=(10,), languages=languages)
        return replace(BASE, few_shot=(grid,))

    before, after = keys_of(config("eus")), keys_of(config("eus", "tur"))
    assert {name: after[name] for name in before} == before
    assert len(set(after) - set(before)) == 2
    assert all("tur" in name for name in set(after) - set(before))


def test_a_changed_text_changes_the_keys_of_what_reads_it_and_of_what_comes_after():
    config = replace(BASE, few_shot=(FewShot(conditionings=("bare",), methods=("fitu",), sentences=(10,)),))
    config = replace(config, training=replace(config.training, inventory="training"))
    plan = make_plan(config, RECORDS)
    before, after = keys_of(config), keys_of(config, fra="another text")
    changed = {name for name in before if before[name] != after[name]}
    for unit in plan:
        reads = "fra" in unit.texts or any(name in changed for name in unit.needs.values())
        assert (unit.name in changed) == reads
    assert 0 < len(changed) < len(plan)


def test_held_out_languages_are_scored_by_models_that_did_not_read_them():
    config = parse_config(CONFIG, name="x")
    plan = {unit.name: unit for unit in make_plan(config, RECORDS)}
    seen = set()
    for unit in plan.values():
        if unit.kind in (UnitKind.ZERO_SHOT, UnitKind.FEW_SHOT):
            train = plan[plan[unit.needs["prior"]].needs["model"]]
            fold = fold_for(CODES, train.settings["hold_out"], num_validation=1, seed=0)
            assert unit.settings["language"] in fold.held_out
            seen.add(unit.settings["language"])
    assert seen == set(CODES)


def test_a_joint_model_reads_every_language():
    """No language is held out of it, nor set aside for validation."""
    plan = {unit.name: unit for unit in make_plan(parse_config(CONFIG, name="x"), RECORDS)}
    joint = [unit for unit in plan.values() if unit.kind is UnitKind.JOINT]
    assert {unit.settings["language"] for unit in joint} == set(CODES)
    for unit in joint:
        train = plan[unit.needs["model"]].settings
        assert (train["hold_out"], train["num_validation"]) == ("none", 0)


def test_grids_that_overlap_make_each_unit_once():
    grid = FewShot(conditionings=("bare",), methods=("fitu",), sentences=(10,))
    config = parse_config(CONFIG, name="x")
    config = replace(config, few_shot=(grid, replace(grid, languages=("eus",))))
    units = [unit for unit in make_plan(config, RECORDS) if unit.kind is UnitKind.FEW_SHOT]
    assert len(units) == len(CODES)


@pytest.mark.parametrize("where", ["guests", "languages"])
def test_an_unknown_language_is_refused_with_a_near_one(where):
    with pytest.raises(
        ConfigError, match=r"'turk' not among the 5 languages of the corpus; wanted one such as tur"
    ):
        make_plan(replace(BASE, **{where: ("turk",)}), RECORDS)


def test_time_left_is_put_right_by_units_of_the_same_kind():
    plan = make_plan(parse_config(CONFIG, name="x"), RECORDS)
    first, *others = [unit for unit in plan if unit.kind is UnitKind.FEW_SHOT]
    expected = expected_seconds(plan, {first.name: 7 * estimate(first)})
    for unit in others:
        assert expected[unit.name] == pytest.approx(7 * estimate(unit))
    train = next(unit for unit in plan if unit.kind is UnitKind.TRAIN)
    assert expected[train.name] == estimate(train)


def test_settings_that_are_given_are_where_tuning_starts_or_what_is_used():
    given_settings = AdaptationSettings(batch_size=2, num_epochs=3)
    grid = FewShot(conditionings=("bare",), methods=("fitu",), sentences=(10,))
    untuned = replace(BASE, few_shot=(grid,), adaptation=Adaptation(fitu=given_settings))
    tuned = replace(untuned, tuning=TuningBudget(trials=2, languages=1, trial_languages=1))
    wanted = {"batch_size": 2, "num_epochs": 3}

    def settings_of(config, kind):
        return [unit.settings["adaptation"] for unit in make_plan(config, RECORDS) if unit.kind is kind]

    assert settings_of(untuned, UnitKind.FEW_SHOT) == [wanted] * len(CODES)
    assert settings_of(tuned, UnitKind.FEW_SHOT) == [{}] * len(CODES)
    assert settings_of(tuned, UnitKind.TUNE) == [{"fitu": wanted}] * 2


def test_settings_are_chosen_on_validation_languages_alone():
    grid = FewShot(conditionings=("bare",), methods=("fitu", "univ"), sentences=(10,))
    tuning = TuningBudget(trials=2, languages=1, trial_languages=1)
    plan = {unit.name: unit for unit in make_plan(replace(BASE, few_shot=(grid,), tuning=tuning), RECORDS)}
    tunes = [unit for unit in plan.values() if unit.kind is UnitKind.TUNE]
    assert len(tunes) == 2
    for unit in tunes:
        train = plan[plan[unit.needs["prior"]].needs["model"]]
        fold = fold_for(CODES, train.settings["hold_out"], num_validation=1, seed=0)
        assert set(unit.settings["languages"]) == set(unit.texts) == set(fold.validation)


def test_a_language_is_held_out_by_one_partition_whatever_the_seed():
    grid = ZeroShot(conditionings=("bare",), methods=("univ",))
    config = replace(BASE, zero_shot=(grid,), seeds=(0, 1, 2))
    units = [unit for unit in make_plan(config, RECORDS) if unit.kind is UnitKind.ZERO_SHOT]
    found = {(unit.settings["language"], unit.settings["partition"]) for unit in units}
    assert len(units) == len(CODES) * 3
    assert len(found) == len(CODES)


def test_texts_of_one_language_are_planned_for_as_they_are_trained_on():
    twice = [replace_record(record, iso639_3="eus") if record.code == "fra" else record for record in RECORDS]
    codes = {record.code: record.iso639_3 for record in twice}
    grid = ZeroShot(conditionings=("bare",), methods=("univ",))
    config = replace(BASE, zero_shot=(grid,))
    for seed in range(4):
        plan = {unit.name: unit for unit in make_plan(replace(config, seeds=(seed,)), twice)}
        for unit in plan.values():
            if unit.kind is UnitKind.ZERO_SHOT:
                train = plan[plan[unit.needs["prior"]].needs["model"]].settings
                fold = fold_for(
                    CODES,
                    train["hold_out"],
                    num_validation=train["num_validation"],
                    seed=train["seed"],
                    iso639_3=codes,
                )
                assert unit.settings["language"] in fold.held_out
                assert plan[unit.needs["prior"]].settings["num_languages"] == len(fold.training)
    train_keys = [
        {key for name, key in keys_of(config, records).items() if name.startswith("train")}
        for records in (RECORDS, twice)
    ]
    assert not train_keys[0] & train_keys[1]
