"""How long to train."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from protoglot.errors import ConfigError


class BudgetKind(StrEnum):
    """What a budget counts."""

    SECONDS = "seconds"
    """Time spent training, summed over interruptions. Two such runs differ: computers do not keep time exactly."""

    CHARACTERS = "characters"
    """Characters predicted."""

    EPOCHS = "epochs"
    """Times that every sequence is drawn."""


_TIME_UNITS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0, "h": 3600.0}
_FORM = re.compile(r"(\d+(?:\.\d+)?)(k|M|G)?[ -]?(s|sec|seconds?|min|h|characters?|epochs?)")
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of training.

    >>> Budget.parse("20min")
    Budget(kind=<BudgetKind.SECONDS: 'seconds'>, amount=1200.0)
    >>> str(Budget.parse("30M-characters"))
    '30000000 characters'
    """

    kind: BudgetKind
    amount: float

    def __post_init__(self) -> None:
        if not 0 < self.amount < math.inf:
            raise ConfigError(f"budget: {self.amount:g} {self.kind}; wanted more than 0 and not without end")

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Read ``20min``, ``90s``, ``2h``, ``30M-characters``, ``6epochs``, or what ``str(budget)`` gave.

        Raises:
            ConfigError: for anything else.
        """
        match = _FORM.fullmatch(text.strip())
        if match is None or (match[2] and not match[3].startswith("character")):
            raise ConfigError(f"budget {text!r}; wanted a form like 20min, 2h, 30M-characters or 6epochs")
        number, scale, unit = float(match[1]), match[2] or "", match[3]
        if unit in _TIME_UNITS:
            return cls(BudgetKind.SECONDS, number * _TIME_UNITS[unit])
        kind = BudgetKind.CHARACTERS if unit.startswith("character") else BudgetKind.EPOCHS
        return cls(kind, number * _SCALES[scale])

    def share_used(self, *, seconds: float, num_characters: int, characters_per_epoch: int) -> float:
        """Progress from 0 to 1."""
        used = {
            BudgetKind.SECONDS: seconds,
            BudgetKind.CHARACTERS: num_characters,
            BudgetKind.EPOCHS: num_characters / characters_per_epoch,
        }
        return min(used[self.kind] / self.amount, 1.0)

    def __str__(self) -> str:
        # All digits and no exponent: a run is resumed from what is written here.
        return f"{Decimal(repr(float(self.amount))).normalize():f} {self.kind}"
