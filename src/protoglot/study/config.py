"""What a study does, as data: a TOML file, read strictly."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta, Struct, field

from protoglot.complaints import FINITE, make_struct
from protoglot.errors import ConfigError
from protoglot.prior.methods import MAX_TRIALS
from protoglot.training.budget import Budget

Conditioning = Literal["bare", "oest", "plat"]
NetworkMethod = Literal["ninf", "fitu", "univ", "l2-sp", "hier"]
NETWORK_METHODS: tuple[str, ...] = get_args(NetworkMethod)
"""Ways of learning a language with a network (see :class:`protoglot.prior.methods.Method`)."""
CALIBRATED: Final = "calibrated"
"""The mean of the universal prior, less sure of itself (see :mod:`protoglot.prior.calibration`)."""
NGRAM: Final = "n-gram"

Text = Annotated[str, Meta(pattern=r"\S")]
Texts = tuple[Text, ...]
Languages = Annotated[Texts, Meta(min_length=1)] | Literal["all"]
FromZero = Annotated[int, Meta(ge=0)]
FromOne = Annotated[int, Meta(ge=1)]
NumSentences = Annotated[int, Meta(ge=1, le=10_000)]
NotNegative = Annotated[float, Meta(ge=0, lt=FINITE)]
Positive = Annotated[float, Meta(gt=0, lt=FINITE)]
Conditionings = Annotated[tuple[Conditioning, ...], Meta(min_length=1)]


class _Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: keys that are not fields are refused, and lists that name something twice."""

    def __post_init__(self) -> None:
        for key in self.__struct_fields__:
            value = getattr(self, key)
            is_list = isinstance(value, tuple) and not any(isinstance(each, Struct) for each in value)
            if is_list and len(set(value)) < len(value):
                numbers = any(isinstance(each, int) for each in value)
                wanted = "a list of different numbers" if numbers else "a list with nothing twice"
                raise ValueError(f"{key}: {list(value)!r}; wanted {wanted}")


class TrainingBudget(_Section, frozen=True, kw_only=True):
    """How models are trained on many languages."""

    budget: Text
    """Of each model with languages held out, as ``protoglot train --budget`` takes it."""

    joint_budget: Text = ""
    """Of each model that sees all languages; if empty, the same."""

    num_validation: FromZero = 5
    """Languages watched and not learned, for tuning too; a joint model has none."""

    inventory: Literal["corpus", "training"] = "corpus"
    """Whose characters get ids (see :class:`protoglot.training.data.Inventory`)."""

    characters_per_language: FromOne | None = None
    """Training text of each language, about; ``None`` for all."""

    batch_size: FromOne | None = None
    """Sequences in a mini-batch; ``None`` for the preset's."""

    learning_rate: Positive | None = None
    """Of Adam; ``None`` for the preset's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("budget", "joint_budget"):
            try:
                written = str(Budget.parse(getattr(self, key) or self.budget))
            except ConfigError as error:
                raise ValueError(f"{key}: {error}") from error
            # One form for all spellings: a unit is known by it.
            msgspec.structs.force_setattr(self, key, written)


class PriorBudget(_Section, frozen=True, kw_only=True):
    """How much the universal prior is inferred from."""

    sequences: FromOne = 200
    """Of each training language, for the Fisher information."""

    spread: tuple[Conditioning, ...] = ()
    """Conditionings for which to measure how far weights move from language to language, which hier needs."""


class TuningBudget(_Section, frozen=True, kw_only=True):
    """How much is tried on validation languages to choose settings; nothing with no trials."""

    trials: Annotated[int, Meta(ge=0, le=MAX_TRIALS)] = 0
    """Settings tried for each method and prior."""

    trial_languages: FromOne = 2
    """Validation languages that each trial is scored on."""

    languages: FromOne = 3
    """Validation languages on which the best settings meet."""

    sentences: NumSentences = 100
    """To learn each of them from."""

    characters: FromOne = 5_000
    """Development text of each that is scored, about."""


class ScoringBudget(_Section, frozen=True, kw_only=True):
    """What is scored."""

    characters: FromOne = 20_000
    """Test text of each language, about: whole sentences from its beginning."""

    ngram_orders: Annotated[tuple[Annotated[int, Meta(ge=1, le=12)], ...], Meta(min_length=1)] = (2, 3, 4, 5, 6)
    """Orders of the n-gram to choose from, by cross-validation within the sample."""

    generated_characters: FromZero = 100
    """Length of the text generated for each language and model; 0 for none."""

    temperature: NotNegative = 1.0
    """At which it is generated."""


class AdaptationSettings(_Section, frozen=True, kw_only=True):
    """Settings of one method: those it has, or with tuning those that the search starts from.

    ``None`` is the default of adaptation, or of the search.
    """

    strength: NotNegative | None = None
    learning_rate: Positive | None = None
    num_epochs: FromZero | None = None
    dropout: Annotated[float, Meta(ge=0, lt=1)] | None = None
    batch_size: FromOne | None = None

    def given(self) -> dict[str, float]:
        """Those that are set."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class Adaptation(_Section, frozen=True, kw_only=True, omit_defaults=True):
    """Settings by method."""

    ninf: AdaptationSettings = AdaptationSettings()
    fitu: AdaptationSettings = AdaptationSettings()
    univ: AdaptationSettings = AdaptationSettings()
    l2_sp: AdaptationSettings = field(default=AdaptationSettings(), name="l2-sp")
    hier: AdaptationSettings = AdaptationSettings()

    def given(self, method: str) -> dict[str, float]:
        """Settings of a method that are set."""
        settings: AdaptationSettings = getattr(self, method.replace("-", "_"))
        return settings.given()

    def all_given(self) -> dict[str, dict[str, float]]:
        """Those of all methods that have some."""
        return {method: self.given(method) for method in sorted(NETWORK_METHODS) if self.given(method)}


class ZeroShot(_Section, frozen=True, kw_only=True):
    """Languages scored without a sentence of them."""

    conditionings: Conditionings
    methods: Annotated[tuple[Literal["ninf", "univ", "calibrated"], ...], Meta(min_length=1)]
    languages: Languages = "all"
    """Held-out languages to score."""


class FewShot(_Section, frozen=True, kw_only=True):
    """Languages learned from a few sentences, and scored."""

    conditionings: tuple[Conditioning, ...] = ()
    """May be left out where no method has a network."""

    methods: Annotated[tuple[Literal[NetworkMethod, "n-gram"], ...], Meta(min_length=1)]
    sentences: Annotated[tuple[NumSentences, ...], Meta(min_length=1)]
    samples: FromOne = 1
    """How many draws of the sentences."""

    languages: Languages = "all"
    """Held-out languages."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.conditionings and any(method != NGRAM for method in self.methods):
            raise ValueError(f"conditionings: none; wanted some of {', '.join(get_args(Conditioning))}")


class Joint(_Section, frozen=True, kw_only=True):
    """Models that are trained on all languages, each scored on all of them."""

    conditionings: Conditionings
    languages: Languages = "all"
    """Languages to score."""


class StudyConfig(_Section, frozen=True, kw_only=True):
    """A whole study."""

    name: Text
    preset: Literal["paper", "compact", "plain", "tiny"] = "compact"
    """Size and settings of the models."""

    corpus: Text | None = None
    """Where the text is, if the command line does not say."""

    script: Text | None = None
    """Only languages in this script."""

    languages: Languages = "all"
    """Languages of the corpus to train on and to hold out in turn."""

    guests: Texts = ()
    """Languages that no model trains on, scored like held-out ones with the priors of the first partition."""

    partitions: Annotated[int, Meta(ge=2)] | Literal["paper"] = "paper"
    """How many groups of languages are dealt, the same for all seeds, or the paper's four."""

    held_out: Annotated[tuple[FromOne, ...], Meta(min_length=1)] = ()
    """Which of them are held out, each by models of its own; if not given, each."""

    seeds: Annotated[tuple[FromZero, ...], Meta(min_length=1)] = (0,)
    """Of all else that is drawn: validation languages, batches, weights, samples."""

    training: TrainingBudget
    prior: PriorBudget = PriorBudget()
    tuning: TuningBudget = TuningBudget()
    scoring: ScoringBudget = ScoringBudget()
    adaptation: Adaptation = Adaptation()

    zero_shot: tuple[ZeroShot, ...] = ()
    few_shot: tuple[FewShot, ...] = ()
    joint: tuple[Joint, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        highest = 4 if self.partitions == "paper" else self.partitions
        if not self.held_out:
            msgspec.structs.force_setattr(self, "held_out", tuple(range(1, highest + 1)))
        if max(self.held_out) > highest:
            wanted = f"a list of different numbers, each a whole number from 1 to {highest}"
            raise ValueError(f"held_out: {max(self.held_out)}; wanted {wanted}")

    def to_json(self) -> dict[str, Any]:
        """The study as JSON values."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


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
        values = msgspec.toml.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{name}: not TOML ({str(error).splitlines()[0]})") from error
    config = make_struct(values, StudyConfig, name=name)
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
    if config.languages != "all" and config.script is not None:
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
    if shared := sorted(set(config.guests) & set(config.languages)) if config.languages != "all" else []:
        raise ConfigError(f"{name}: guests: {shared[0]!r} is among languages too; wanted one or the other")
