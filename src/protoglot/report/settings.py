"""What was tried: a regime, a method, a conditioning and a number of sentences."""

from dataclasses import dataclass, fields, replace

from protoglot.report.rows import CONDITIONINGS, METHODS, REGIMES, ScoreRow

FEW_SHOT_SENTENCES = 100
"""Sentences of a held-out language in the paper's few-shot regime (§5)."""

NETWORKS = ("ninf", "fitu", "univ", "l2-sp", "hier")
"""Methods that adapt a network, without an n-gram."""

METHOD_LABELS = {
    "ninf": (
        "NINF",
        "prior without information, N(0, I): weights drawn from it, or learned from scratch from sentences",
    ),
    "fitu": ("FITU", "fine-tuning: starts at the multilingual weights, with no prior"),
    "univ": ("UNIV", "universal prior: starts at its mean and is drawn towards it, weight by weight"),
    "l2-sp": ("L2-SP", "drawn towards the multilingual weights, all weights alike"),
    "hier": ("HIER", "prior with the variance of weights across languages"),
    "joint": ("JOINT", "one network trained on all languages, the held-out ones too"),
    "n-gram": ("n-gram", "interpolated character n-gram of the same sentences alone"),
    "mixture": ("n-gram +", "gated log-linear mixture of the network and the n-gram"),
    "linear-mixture": ("n-gram + (linear)", "linear mixture of the network and the n-gram, the control"),
    "calibrated": ("UNIV calibrated", "mean of the universal prior, calibrated on validation languages"),
}
"""What each method is called, and what it is, for a reader who has not read the paper."""

CONDITIONING_SENTENCES = {
    "bare": "without typology",
    "oest": "typological features beside every hidden state",
    "plat": "weights generated from typological features",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One column of a table: all scores that differ in language, sample and seed alone."""

    regime: str
    method: str
    conditioning: str | None = None
    network: str | None = None
    sentences: int | None = None

    @property
    def label(self) -> str:
        """Heading of a column, without the regime.

        >>> few_shot("mixture", "oest", network="univ").label
        'n-gram + UNIV OEST'
        """
        parts = [] if self.method == "joint" and self.conditioning else [METHOD_LABELS[self.method][0]]
        if self.network is not None:
            parts.append(METHOD_LABELS[self.network][0])
        if self.conditioning is not None:
            parts.append(self.conditioning.upper())
        return " ".join(parts)

    @property
    def full_label(self) -> str:
        """The label with its regime and the number of sentences.

        >>> few_shot("univ", "oest", sentences=30).full_label
        'few-shot (30) UNIV OEST'
        """
        number = f" ({self.sentences})" if self.regime == "few-shot" else ""
        return f"{self.regime}{number} {self.label}"

    @property
    def order(self) -> tuple[int, int, int, int, int]:
        """Sorts settings as tables show them."""
        return (
            REGIMES.index(self.regime),
            -1 if self.sentences is None else self.sentences,
            METHODS.index(self.method),
            -1 if self.network is None else METHODS.index(self.network),
            -1 if self.conditioning is None else CONDITIONINGS.index(self.conditioning),
        )

    def with_sentences(self, sentences: int | None) -> "Setting":
        """The same with another number of sentences."""
        return replace(self, sentences=sentences)

    @property
    def as_in_paper(self) -> "Setting":
        """The setting whose figures in the paper stand beside this one's: few-shot means 100 sentences there."""
        return self.with_sentences(FEW_SHOT_SENTENCES) if self.regime == "few-shot" else self

    def mixed(self) -> "Setting":
        """The mixture of this network with the n-gram of the same sentences."""
        return replace(self, method="mixture", network=self.method)

    def at_zero(self) -> "Setting | None":
        """Where this method starts with no sentences at all, or ``None`` where it has no such start.

        Whatever starts at the multilingual weights is at zero sentences the mean of the universal prior.
        """
        if self.method not in NETWORKS or self.conditioning is None:
            return None
        return zero_shot("ninf" if self.method == "ninf" else "univ", self.conditioning)


def setting_of(row: ScoreRow) -> Setting:
    """The setting of a row."""
    return Setting(**{field.name: getattr(row, field.name) for field in fields(Setting)})


def zero_shot(method: str, conditioning: str | None) -> Setting:
    """A setting without any sentence of the language."""
    return Setting(regime="zero-shot", method=method, conditioning=conditioning, sentences=0)


def few_shot(
    method: str,
    conditioning: str | None = None,
    *,
    network: str | None = None,
    sentences: int = FEW_SHOT_SENTENCES,
) -> Setting:
    """A setting with a few sentences of the language."""
    return Setting(
        regime="few-shot", method=method, conditioning=conditioning, network=network, sentences=sentences
    )


def joint(conditioning: str | None, method: str = "joint") -> Setting:
    """A setting with all of the language's training text."""
    return Setting(regime="joint", method=method, conditioning=conditioning)
