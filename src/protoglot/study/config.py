"""What a study does, as data: a TOML file, read strictly."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from protoglot.errors import ConfigError
from protoglot.prior.methods import MAX_TRIALS
from protoglot.study.tables import Table
from protoglot.training.budget import Budget

CONDITIONINGS = ("bare", "oest", "plat")
PRESETS = ("paper", "compact", "plain", "tiny")
NETWORK_METHODS = ("ninf", "fitu", "univ", "l2-sp", "hier")
"""Ways of learning a language with a network (see :class:`protoglot.prior.methods.Method`)."""
CALIBRATED = "calibrated"
"""The mean of the universal prior, less sure of itself (see :mod:`protoglot.prior.calibration`)."""
ZERO_SHOT_METHODS = ("ninf", "univ", CALIBRATED)
NGRAM = "n-gram"
FEW_SHOT_METHODS = (*NETWORK_METHODS, NGRAM)
MAX_SENTENCES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingBudget:
    """How models are trained on many languages."""

    budget: str
    """Of each model with languages held out, as ``protoglot train --budget`` takes it."""

    joint_budget: str
    """Of each model that sees all languages."""

    num_validation: int = 5
    """Languages watched and not learned, for tuning too; a joint model has none."""

    inventory: str = "corpus"
    """Whose characters get ids (see :class:`protoglot.training.data.Inventory`)."""

    characters_per_language: int | None = None
    """Training text of each language, about; ``None`` for all."""

    batch_size: int | None = None
    """Sequences in a mini-batch; ``None`` for the preset's."""

    learning_rate: float | None = None
    """Of Adam; ``None`` for the preset's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorBudget:
    """How much the universal prior is inferred from."""

    sequences: int = 200
    """Of each training language, for the Fisher information."""

    spread: tuple[str, ...] = ()
    """Conditionings for which to measure how far weights move from language to language, which hier needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningBudget:
    """How much is tried on validation languages to choose settings; nothing with no trials."""

    trials: int = 0
    """Settings tried for each method and prior."""

    trial_languages: int = 2
    """Validation languages that each trial is scored on."""

    languages: int = 3
    """Validation languages on which the best settings meet."""

    sentences: int = 100
    """To learn each of them from."""

    characters: int = 5_000
    """Development text of each that is scored, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringBudget:
    """What is scored."""

    characters: int = 20_000
    """Test text of each language, about: whole sentences from its beginning."""

    ngram_orders: tuple[int, ...] = (2, 3, 4, 5, 6)
    """Orders of the n-gram to choose from, by cross-validation within the sample."""

    generated_characters: int = 100
    """Length of the text generated for each language and model; 0 for none."""

    temperature: float = 1.0
    """At which it is generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationSettings:
    """Settings of one method: those it has, or with tuning those that the search starts from.

    ``None`` is the default of adaptation, or of the search.
    """

    strength: float | None = None
    learning_rate: float | None = None
    num_epochs: int | None = None
    dropout: float | None = None
    batch_size: int | None = None

    def given(self) -> dict[str, float]:
        """Those that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroShot:
    """Languages scored without a sentence of them."""

    conditionings: tuple[str, ...]
    methods: tuple[str, ...]
    languages: tuple[str, ...] | None = None
    """Held-out languages to score; ``None`` for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShot:
    """Languages learned from a few sentences, and scored."""

    conditionings: tuple[str, ...]
    methods: tuple[str, ...]
    sentences: tuple[int, ...]
    samples: int = 1
    """How many draws of the sentences."""

    languages: tuple[str, ...] | None = None
    """Held-out languages; ``None`` for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """Models that are trained on all languages, each scored on all of them."""

    conditionings: tuple[str, ...]
    languages: tuple[str, ...] | None = None
    """Languages to score; ``None`` for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig:
    """A whole study."""

    name: str
    preset: str = "compact"
    """Size and settings of the models."""

    corpus: str | None = None
    """Where the text is, if the command line does not say."""

    script: str | None = None
    """Only languages in this script."""

    languages: tuple[str, ...] | None = None
    """Languages to train on and to hold out in turn; ``None`` for all of the corpus."""

    guests: tuple[str, ...] = ()
    """Languages that no model trains on, scored like held-out ones with the priors of the first partition."""

    partitions: int | Literal["paper"] = "paper"
    """How many groups of languages are dealt, the same for all seeds, or the paper's four."""

    held_out: tuple[int, ...] = (1, 2, 3, 4)
    """Which of them are held out, each by models of its own."""

    seeds: tuple[int, ...] = (0,)
    """Of all else that is drawn: validation languages, batches, weights, samples."""

    training: TrainingBudget
    prior: PriorBudget = field(default_factory=PriorBudget)
    tuning: TuningBudget = field(default_factory=TuningBudget)
    scoring: ScoringBudget = field(default_factory=ScoringBudget)
    adaptation: Mapping[str, AdaptationSettings] = field(default_factory=dict)
    """By method."""

    zero_shot: tuple[ZeroShot, ...] = ()
    few_shot: tuple[FewShot, ...] = ()
    joint: tuple[Joint, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The study as JSON values."""
        return asdict(self)


def read_config(path: Path) -> StudyConfig:
    """Read a study from a TOML file.

    Raises:
        ConfigError: at the first key that is unknown or whose value is not what is wanted.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{path}: cannot be read ({reason}); wanted a study in TOML") from error
    return parse_config(content, name=str(path))


def parse_config(content: str, *, name: str) -> StudyConfig:
    """Read a study from the text of a TOML file; ``name`` is for messages."""
    try:
        values: dict[str, Any] = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name}: not TOML ({str(error).splitlines()[0]})") from error
    table = Table(values, name=name)
    partitions = _partitions(table)
    highest = 4 if partitions == "paper" else partitions
    config = StudyConfig(
        name=table.string("name"),
        preset=table.choice("preset", PRESETS, default="compact"),
        corpus=table.optional_string("corpus"),
        script=table.optional_string("script"),
        languages=table.optional_strings("languages"),
        guests=table.strings("guests", default=()),
        partitions=partitions,
        held_out=table.integers("held_out", least=1, most=highest, default=tuple(range(1, highest + 1))),
        seeds=table.integers("seeds", least=0, default=(0,)),
        training=_training(table.table("training")),
        prior=_prior(table.table("prior")),
        tuning=_tuning(table.table("tuning")),
        scoring=_scoring(table.table("scoring")),
        adaptation=_adaptation(table.table("adaptation")),
        zero_shot=tuple(_zero_shot(each) for each in table.tables("zero_shot")),
        few_shot=tuple(_few_shot(each) for each in table.tables("few_shot")),
        joint=tuple(_joint(each) for each in table.tables("joint")),
    )
    table.finish()
    if not (config.zero_shot or config.few_shot or config.joint):
        raise ConfigError(f"{name}: nothing to score; wanted [[zero_shot]], [[few_shot]] or [[joint]]")
    _check_together(config, name)
    return config


def _check_together(config: StudyConfig, name: str) -> None:
    """Refuse settings that contradict each other."""
    tuning, few_shot = config.tuning, config.few_shot
    if tuning.trials and tuning.languages > config.training.num_validation:
        raise ConfigError(
            f"{name}: tuning.languages: {tuning.languages}; wanted at most training.num_validation, "
            f"{config.training.num_validation}"
        )
    if tuning.trials > MAX_TRIALS:
        raise ConfigError(f"{name}: tuning.trials: {tuning.trials}; wanted at most {MAX_TRIALS}")
    if config.languages is not None and config.script is not None:
        raise ConfigError(
            f"{name}: languages and script {config.script!r} are both given; wanted one of them to choose by"
        )
    if tuning.trial_languages > tuning.languages:
        raise ConfigError(
            f"{name}: tuning.trial_languages: {tuning.trial_languages}; wanted at most tuning.languages, "
            f"{tuning.languages}"
        )
    if any(CALIBRATED in grid.methods for grid in config.zero_shot) and not tuning.trials:
        raise ConfigError(
            f"{name}: zero_shot.methods: calibrated: learned by tuning, and tuning.trials is 0; wanted 1 or more"
        )
    for grid in few_shot:
        lacking = [each for each in grid.conditionings if each not in config.prior.spread]
        if "hier" in grid.methods and lacking:
            raise ConfigError(
                f"{name}: few_shot.methods: hier, and prior.spread lacks {lacking[0]}; wanted it there"
            )
    if shared := sorted(set(config.guests) & set(config.languages or ())):
        raise ConfigError(f"{name}: guests: {shared[0]!r} is among languages too; wanted one or the other")


def _partitions(table: Table) -> int | Literal["paper"]:
    if table.get("partitions") in (None, "paper"):
        table.choice("partitions", ("paper",), default="paper")
        return "paper"
    return table.integer("partitions", least=2, wanted='a whole number from 2, or "paper"')


def _training(table: Table) -> TrainingBudget:
    budget = _budget(table, "budget")
    made = TrainingBudget(
        budget=budget,
        joint_budget=_budget(table, "joint_budget", default=budget),
        num_validation=table.integer("num_validation", least=0, default=5),
        inventory=table.choice("inventory", ("corpus", "training"), default="corpus"),
        characters_per_language=table.optional_integer("characters_per_language", least=1),
        batch_size=table.optional_integer("batch_size", least=1),
        learning_rate=table.optional_number("learning_rate", above=0),
    )
    table.finish()
    return made


def _budget(table: Table, key: str, default: str | None = None) -> str:
    text = table.string(key) if default is None else table.string(key, default=default)
    try:
        return str(Budget.parse(text))  # one form for all spellings: a unit is known by it
    except ConfigError as error:
        raise ConfigError(f"{table.name_of(key)}: {error}") from error


def _prior(table: Table) -> PriorBudget:
    made = PriorBudget(
        sequences=table.integer("sequences", least=1, default=200),
        spread=table.choices("spread", CONDITIONINGS, default=()),
    )
    table.finish()
    return made


def _tuning(table: Table) -> TuningBudget:
    made = TuningBudget(
        trials=table.integer("trials", least=0, default=0),
        trial_languages=table.integer("trial_languages", least=1, default=2),
        languages=table.integer("languages", least=1, default=3),
        sentences=table.integer("sentences", least=1, most=MAX_SENTENCES, default=100),
        characters=table.integer("characters", least=1, default=5_000),
    )
    table.finish()
    return made


def _scoring(table: Table) -> ScoringBudget:
    made = ScoringBudget(
        characters=table.integer("characters", least=1, default=20_000),
        ngram_orders=table.integers("ngram_orders", least=1, most=12, default=(2, 3, 4, 5, 6)),
        generated_characters=table.integer("generated_characters", least=0, default=100),
        temperature=table.number("temperature", least=0, default=1.0),
    )
    table.finish()
    return made


def _adaptation(table: Table) -> dict[str, AdaptationSettings]:
    found = {}
    for method in NETWORK_METHODS:
        settings = table.table(method)
        found[method] = AdaptationSettings(
            strength=settings.optional_number("strength", least=0),
            learning_rate=settings.optional_number("learning_rate", above=0),
            num_epochs=settings.optional_integer("num_epochs", least=0),
            dropout=settings.optional_number("dropout", least=0, below=1),
            batch_size=settings.optional_integer("batch_size", least=1),
        )
        settings.finish()
    table.finish()
    return {method: settings for method, settings in found.items() if settings.given()}


def _zero_shot(table: Table) -> ZeroShot:
    made = ZeroShot(
        conditionings=table.choices("conditionings", CONDITIONINGS),
        methods=table.choices("methods", ZERO_SHOT_METHODS),
        languages=table.optional_strings("languages"),
    )
    table.finish()
    return made


def _few_shot(table: Table) -> FewShot:
    methods = table.choices("methods", FEW_SHOT_METHODS)
    networks = tuple(method for method in methods if method != NGRAM)
    made = FewShot(
        conditionings=table.choices("conditionings", CONDITIONINGS, default=() if not networks else None),
        methods=methods,
        sentences=table.integers("sentences", least=1, most=MAX_SENTENCES),
        samples=table.integer("samples", least=1, default=1),
        languages=table.optional_strings("languages"),
    )
    table.finish()
    return made


def _joint(table: Table) -> Joint:
    made = Joint(
        conditionings=table.choices("conditionings", CONDITIONINGS),
        languages=table.optional_strings("languages"),
    )
    table.finish()
    return made
