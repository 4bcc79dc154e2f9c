"""Starting and resuming: one directory holds one run, of one plan, over one text."""

import json
from dataclasses import replace

import pytest

from protoglot.errors import ConfigError, ProtoglotError, SplitError, StorageError, TrainingError
from protoglot.model.config import Conditioning
from protoglot.trained import CHECKPOINTS, LATEST, load_trained, load_with_state, newest_checkpoint
from protoglot.training.budget import Budget
from protoglot.training.checkpoints import LOCK
from protoglot.training.data import Inventory, read_training_data
from protoglot.training.loop import Ending
from protoglot.training.monitor import METRICS, Silence, read_metrics
from protoglot.training.runs import RUN, RunPlan
from tiny import TextCorpus, tiny_config

from .conftest import CORPUS, VARIANTS, hash_of, make_plan, outcome, run_plan

SHORT = make_plan(budget="500 characters")


@pytest.fixture
def stopped(tmp_path):
    """The directory of a run that was stopped after three steps."""
    run_plan(SHORT, tmp_path / "run", stop_after=3)
    return tmp_path / "run"


@pytest.mark.parametrize("budget", ["20min", "2h", "10G-characters", "0.1epochs", "6epochs"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_plan_is_read_as_it_was_written(variant, budget, tmp_path):
    plan = replace(VARIANTS[variant], budget=Budget.parse(budget))
    (tmp_path / RUN).write_text(json.dumps(plan.to_json()))
    assert RunPlan.load(tmp_path) == plan


def test_a_directory_with_a_run_is_refused_without_resume(stopped):
    before = hash_of(stopped)
    with pytest.raises(TrainingError, match="run: holds a run already; wanted a new directory, or --resume"):
        run_plan(SHORT, stopped)
    assert hash_of(stopped) == before


def test_resuming_where_nothing_is_begins(tmp_path):
    _, ending, _ = run_plan(SHORT, tmp_path / "new" / "run", resume=True)
    assert ending is Ending.FINISHED


def test_a_run_that_never_saved_is_begun_again(tmp_path):
    """Killed before its first checkpoint, it has a plan and nothing else."""
    run_plan(SHORT, tmp_path / "whole")
    run = tmp_path / "run"
    run.mkdir()
    (run / RUN).write_text(json.dumps(SHORT.to_json()))
    (run / METRICS).write_text('{"step": 10, "bits_per_character": 1.0}\n')
    run_plan(SHORT, run, resume=True)
    assert outcome(run) == outcome(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda plan: replace(plan, seed=9), "seed"),
        (lambda plan: replace(plan, hold_out="none"), "hold_out"),
        (lambda plan: replace(plan, num_validation=0), "num_validation"),
        (lambda plan: replace(plan, inventory=Inventory.TRAINING), "inventory"),
        (lambda plan: replace(plan, languages=plan.languages[1:]), "languages"),
        (lambda plan: replace(plan, model=tiny_config("oest")), "model.conditioning"),
        (lambda plan: replace(plan, model=replace(plan.model, hidden_size=13)), "model.hidden_size"),
        (lambda plan: replace(plan, training=replace(plan.training, learning_rate=0.5)), "training.learning_rate"),
        (
            lambda plan: replace(
                plan, seed=9, training=replace(plan.training, batching=replace(plan.training.batching, mixed=True))
            ),
            "seed, training.batching.mixed",
        ),
    ],
)
def test_settings_that_differ_are_named(stopped, change, named):
    before = hash_of(stopped)
    with pytest.raises(
        TrainingError, match=f"run: {named} differ from the run to resume; wanted the same settings"
    ):
        run_plan(change(SHORT), stopped, resume=True)
    assert hash_of(stopped) == before


def test_a_corpus_may_have_moved(stopped):
    _, ending, _ = run_plan(replace(SHORT, corpus="elsewhere"), stopped, resume=True)
    assert ending is Ending.FINISHED


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda texts: {**texts, "fra": ["ŵ", *texts["fra"]]}, id="a new character"),
        pytest.param(lambda texts: {**texts, "fra": texts["fra"][::-1]}, id="another order"),
        pytest.param(lambda texts: {**texts, "tur": texts["tur"][:-1]}, id="less text"),
        pytest.param(lambda texts: {**texts, "zul": [*texts["zul"], "aka"]}, id="more text"),
        pytest.param(
            lambda texts: {code: [f"{s[1:]}{s[0]}".strip() for s in text] for code, text in texts.items()},
            id="the same characters in other places",
        ),
    ],
)
def test_a_corpus_that_changed_is_refused(stopped, change):
    before = hash_of(stopped)
    with pytest.raises(
        TrainingError, match="run: the corpus has changed since; wanted the text of the run to resume"
    ):
        run_plan(SHORT, stopped, resume=True, corpus=TextCorpus(change(CORPUS.texts)))
    assert hash_of(stopped) == before


def test_text_that_no_run_reads_may_change(stopped):
    """The test part of a language, and all of a held-out language but its characters."""
    texts = dict(CORPUS.texts)
    texts["fra"] = [*texts["fra"][:-1], "aaa"]
    texts["wol"] = [*texts["wol"][:-1], "aaa"]
    _, ending, _ = run_plan(SHORT, stopped, resume=True, corpus=TextCorpus(texts))
    assert ending is Ending.FINISHED


def test_a_budget_may_be_extended(tmp_path):
    run = tmp_path / "run"
    _, ending, first = run_plan(make_plan(budget="500 characters"), run)
    assert ending is Ending.FINISHED
    longer = make_plan(budget="1200 characters")
    _, ending, second = run_plan(longer, run, resume=True)
    assert ending is Ending.FINISHED
    assert second["characters"] >= 1200 > first["characters"] >= 500
    assert RunPlan.load(run).budget == longer.budget
    assert load_with_state(run)[1]["step"] == second["step"]
    assert load_trained(run).provenance["budget"] == "1200 characters"


def test_a_finished_run_resumed_is_finished(stopped):
    run_plan(SHORT, stopped, resume=True)
    before = outcome(stopped)
    _, ending, _ = run_plan(SHORT, stopped, resume=True)
    assert ending is Ending.FINISHED
    assert outcome(stopped) == before


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (replace(SHORT, hold_out="partition:9/4"), SplitError),
        (replace(SHORT, hold_out="xyz"), SplitError),
        (replace(SHORT, num_validation=4), SplitError),
        (replace(SHORT, model=tiny_config("plat"), training=make_plan(mixed=True).training), ConfigError),
    ],
)
def test_a_run_that_cannot_begin_leaves_the_directory_free(tmp_path, plan, error):
    """A mistyped setting must not keep the directory from the run that was meant."""
    with pytest.raises(error):
        run_plan(plan, tmp_path / "run")
    _, ending, _ = run_plan(SHORT, tmp_path / "run", stop_after=1)
    assert ending is Ending.INTERRUPTED


def test_a_corpus_without_text_to_train_on(tmp_path):
    with pytest.raises(TrainingError, match="babble: no training text in 3 training languages"):
        run_plan(SHORT, tmp_path / "run", corpus=TextCorpus(dict.fromkeys(CORPUS.texts, ())))


def test_a_run_leaves_what_it_says_and_nothing_else(stopped):
    assert {path.name for path in stopped.iterdir()} >= {RUN, LATEST, CHECKPOINTS}
    assert {path.name for path in stopped.iterdir()} <= {RUN, LATEST, CHECKPOINTS, METRICS, LOCK}
    assert [path.name for path in (stopped / CHECKPOINTS).iterdir()] == ["step-00000003"]


def test_a_model_knows_where_it_comes_from(stopped):
    provenance = load_trained(stopped).provenance
    for key, value in SHORT.to_json().items():
        assert provenance[key] == value
    for key in ("protoglot", "torch", "python", "machine"):
        assert provenance[key]
    trained = load_trained(stopped)
    assert trained.fold.held_out == ("wol",)
    assert set(trained.languages) == set(CORPUS.texts)


def test_the_lock_is_released_even_after_an_error(tmp_path):
    class Crash(Silence):
        def message(self, text):
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError) as caught:
        run_plan(SHORT, tmp_path / "run", monitor=Crash())
    run_plan(SHORT, tmp_path / "run", resume=True)
    assert str(caught.value) == "crash"  # and its frames, with the lock in them, have lived until here


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"format": "protoglot-run", "version": 1}',
        json.dumps({**SHORT.to_json(), "version": 2}),
        json.dumps({**SHORT.to_json(), "budget": "soon"}),
        json.dumps({**SHORT.to_json(), "budget": 20}),
        json.dumps({**SHORT.to_json(), "inventory": "mine"}),
        json.dumps({**SHORT.to_json(), "model": {}}),
        json.dumps({**SHORT.to_json(), "training": {**SHORT.training.to_json(), "schedule": "x"}}),
        json.dumps({**SHORT.to_json(), "languages": 3}),
        "[" * 100_000,
    ],
)
def test_a_damaged_plan_is_named(stopped, text):
    (stopped / RUN).write_text(text)
    with pytest.raises(StorageError, match=rf"^{stopped / RUN}: ") as caught:
        run_plan(SHORT, stopped, resume=True)
    assert "\n" not in str(caught.value)


def test_a_plan_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"no run\.json in it; wanted the directory of an earlier run"):
        RunPlan.load(tmp_path)


def test_a_damaged_checkpoint_is_refused_and_left_alone(stopped):
    weights = newest_checkpoint(stopped) / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    before = hash_of(stopped)
    with pytest.raises(StorageError, match=r"weights\.safetensors: damaged"):
        run_plan(SHORT, stopped, resume=True)
    assert hash_of(stopped) == before


def test_a_file_in_the_way_of_a_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ProtoglotError, match="file: cannot be written"):
        run_plan(SHORT, tmp_path / "file")


def test_progress_and_messages_reach_the_monitor(tmp_path):
    class Ears(Silence):
        def __init__(self):
            self.shares, self.messages = [], []

        def progress(self, share, metrics):
            self.shares.append((share, metrics["step"], metrics["seconds_left"]))

        def message(self, text):
            self.messages.append(text)

    ears = Ears()
    run_plan(VARIANTS["bare"], tmp_path / "run", monitor=ears)
    assert [step for _, step, _ in ears.shares] == [
        line["step"] for line in read_metrics(tmp_path / "run" / METRICS) if "learning_rate" in line
    ]
    assert all(0 < share <= 1 and left >= 0 for share, _, left in ears.shares)
    assert len([text for text in ears.messages if text.startswith("validation languages, unseen: ")]) == 5


def test_typology_is_read_for_all_languages(tmp_path):
    run_plan(replace(make_plan("oest", budget="300 characters")), tmp_path / "run")
    trained = load_trained(tmp_path / "run")
    assert set(trained.features) == set(CORPUS.texts)
    assert {vector.shape for vector in trained.features.values()} == {(245,)}
    assert trained.model.num_features == 245


@pytest.mark.parametrize("inventory", Inventory)
def test_a_vocabulary_too_large_is_refused_wherever_it_grows(inventory):
    texts = {"eus": ["a"], "fra": ["b"], "wol": ["".join(map(chr, range(0x10000, 0x10000 + 66_000)))]}
    from protoglot.folds import fold_for

    fold = fold_for(texts, "wol", num_validation=0)

    def read():
        return read_training_data(
            TextCorpus(texts), fold, inventory=inventory, with_features=False, validation_characters=10
        )

    if inventory is Inventory.TRAINING:
        assert len(read().vocabulary) == 5
    else:
        with pytest.raises(ConfigError, match=r"vocabulary of 66,005 ids; wanted at most 65,536"):
            read()


def test_kinds_of_conditioning_are_all_tried_here():
    assert {plan.model.conditioning for plan in VARIANTS.values()} == set(Conditioning)
