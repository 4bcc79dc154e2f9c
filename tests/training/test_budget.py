import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.errors import ConfigError
from protoglot.training.budget import Budget, BudgetKind

amounts = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)
budgets = st.builds(Budget, st.sampled_from(BudgetKind), amounts)


@given(budgets)
def test_what_is_written_is_read(budget):
    """In ``run.json`` a budget is a string; a run is resumed from it."""
    assert Budget.parse(str(budget)) == budget


@given(st.decimals(min_value="0.001", max_value=10**6, places=3), st.sampled_from(["s", "sec", "min", "h"]))
def test_times(number, unit):
    seconds = {"s": 1, "sec": 1, "min": 60, "h": 3600}[unit]
    assert Budget.parse(f"{number}{unit}") == Budget(BudgetKind.SECONDS, float(number) * seconds)


@pytest.mark.parametrize(
    ("text", "budget", "written"),
    [
        ("20min", Budget(BudgetKind.SECONDS, 1200), "1200 seconds"),
        ("90s", Budget(BudgetKind.SECONDS, 90), "90 seconds"),
        ("1.5h", Budget(BudgetKind.SECONDS, 5400), "5400 seconds"),
        ("1 second", Budget(BudgetKind.SECONDS, 1), "1 seconds"),
        ("30M-characters", Budget(BudgetKind.CHARACTERS, 30e6), "30000000 characters"),
        ("10G-characters", Budget(BudgetKind.CHARACTERS, 1e10), "10000000000 characters"),
        ("500k characters", Budget(BudgetKind.CHARACTERS, 5e5), "500000 characters"),
        ("1character", Budget(BudgetKind.CHARACTERS, 1), "1 characters"),
        (" 6epochs\n", Budget(BudgetKind.EPOCHS, 6), "6 epochs"),
        ("1-epoch", Budget(BudgetKind.EPOCHS, 1), "1 epochs"),
        ("0.1epochs", Budget(BudgetKind.EPOCHS, 0.1), "0.1 epochs"),
        ("0.00001epochs", Budget(BudgetKind.EPOCHS, 1e-5), "0.00001 epochs"),
    ],
)
def test_what_the_user_may_write(text, budget, written):
    assert Budget.parse(text) == budget
    assert str(budget) == written


@pytest.mark.parametrize(
    "text",
    [
        *("", "20", "min", "20 m", "20Min", "-5min", "5 min 3s", "2kmin", "3Mepochs", "1e3s", "nan s", "inf h"),
        *("3k", "3 k-characters", "3mcharacters", "1,000s", ".5h", "5.h", "6--epochs", "٣ epochs x", "6epochs!"),
    ],
)
def test_other_forms_are_refused(text):
    with pytest.raises(ConfigError, match=r"^budget .*; wanted a form like 20min, 2h, 30M-characters or 6epochs$"):
        Budget.parse(text)


@pytest.mark.parametrize("text", ["0s", "0.0epochs", "0k-characters", f"{'9' * 400}h"])
def test_amounts_that_make_no_run_are_refused(text):
    with pytest.raises(ConfigError, match=r"^budget: .*; wanted more than 0 and not without end$"):
        Budget.parse(text)


@given(budgets, st.floats(0, 1e9), st.integers(0, 10**12), st.integers(1, 10**9))
def test_the_share_used_grows_from_nought_to_one(budget, seconds, num_characters, per_epoch):
    share = budget.share_used(seconds=seconds, num_characters=num_characters, characters_per_epoch=per_epoch)
    assert 0 <= share <= 1
    more = budget.share_used(
        seconds=seconds + 1, num_characters=num_characters + 1, characters_per_epoch=per_epoch
    )
    assert more >= share
    assert budget.share_used(seconds=0, num_characters=0, characters_per_epoch=per_epoch) == 0


def test_each_kind_counts_its_own():
    spent = {"seconds": 30.0, "num_characters": 500, "characters_per_epoch": 1000}
    assert Budget.parse("1min").share_used(**spent) == 0.5
    assert Budget.parse("2k-characters").share_used(**spent) == 0.25
    assert Budget.parse("5epochs").share_used(**spent) == 0.1


@pytest.mark.parametrize("epochs", [1, 2, 3, 6, 7, 25])
@pytest.mark.parametrize("per_epoch", [7, 1001, 123_457])
def test_whole_epochs_are_used_up_exactly(epochs, per_epoch):
    budget = Budget(BudgetKind.EPOCHS, epochs)

    def share(num_characters):
        return budget.share_used(seconds=0, num_characters=num_characters, characters_per_epoch=per_epoch)

    assert share(epochs * per_epoch) == 1
    assert share(epochs * per_epoch - 1) < 1
