"""From a study to its units of work, and which of them need which others."""

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import ConfigError
from protoglot.folds import Fold, fold_for
from protoglot.study.config import CALIBRATED, NGRAM, FewShot, StudyConfig, ZeroShot


class UnitKind(StrEnum):
    """What a unit of work does."""

    UNIGRAM = "unigram"
    """Counts the characters of a language's training text."""

    TRAIN = "train"
    """Trains a model on many languages. The one kind that may take hours; it goes on where it was stopped."""

    PRIOR = "prior"
    """Infers the universal prior from a trained model."""

    ZERO_SHOT = "zero-shot"
    """Scores a language without a sentence of it."""

    TUNE = "tune"
    """Chooses on validation languages the settings of all methods, and fits the calibration."""

    NGRAM = "n-gram"
    """Counts a few sentences of a language, and scores it."""

    FEW_SHOT = "few-shot"
    """Adapts a network to a few sentences of a language by one method, and scores it."""

    JOINT = "joint"
    """Scores a language with a model that was trained on it."""


VERSIONS: dict[UnitKind, int] = {
    **dict.fromkeys(UnitKind, 1),
    UnitKind.TRAIN: 2,
    UnitKind.TUNE: 4,
    UnitKind.FEW_SHOT: 3,
}
"""Part of the identity of a unit: raised when a change of the code changes what units of a kind give."""

_PARTITION_SEED = 0  # a language is held out by one partition, whatever the seed of training


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A piece of work that is done whole or not at all."""

    name: str
    """One line for people, unique within a plan."""

    kind: UnitKind
    settings: Mapping[str, object]
    """All that decides the outcome but other units and text; JSON values."""

    needs: Mapping[str, str] = field(default_factory=dict)
    """What for -> name of the unit that must be done before."""

    texts: tuple[str, ...] = ()
    """Codes of the languages whose text it reads."""

    key: str = ""
    """SHA-256 of all that decides its outcome; empty as long as the text is not known."""

    keys_of_needs: Mapping[str, str] = field(default_factory=dict)
    """What for -> key of the unit that must be done before."""


def make_plan(config: StudyConfig, records: Sequence[LanguageRecord]) -> tuple[Unit, ...]:
    """The units of a study, each after those it needs.

    Args:
        config: the study.
        records: languages of the corpus, the study's and its guests.

    Raises:
        ConfigError: for a language that the corpus does not have.
        SplitError: for partitions that cannot be made.
    """
    return tuple(_Planner(config, records).units())


def with_keys(plan: Sequence[Unit], digests: Mapping[str, str]) -> tuple[Unit, ...]:
    """The units of a plan with their keys.

    A key is the SHA-256 of a unit's kind and the version of the code for it, its settings, the keys of the units it
    needs, and the text it reads.

    Args:
        plan: units, each after those it needs.
        digests: of the text of each language, by code.
    """
    found: dict[str, Unit] = {}
    for unit in plan:
        keys_of_needs = {purpose: found[name].key for purpose, name in unit.needs.items()}
        identity = {
            "kind": str(unit.kind),
            "version": VERSIONS[unit.kind],
            "settings": unit.settings,
            "needs": keys_of_needs,
            "texts": {code: digests[code] for code in unit.texts},
        }
        key = hashlib.sha256(canonical(identity).encode()).hexdigest()
        found[unit.name] = replace(unit, key=key, keys_of_needs=keys_of_needs)
    return tuple(found.values())


class _Planner:
    def __init__(self, config: StudyConfig, records: Sequence[LanguageRecord]) -> None:
        self._config = config
        self._records = {record.code: record for record in records}
        self._check_known(config.guests, "guests")
        listed = tuple(self._records) if isinstance(config.languages, str) else config.languages
        self._check_known(listed, "languages")
        self._languages = sorted(set(listed) - set(config.guests))
        if not self._languages:
            raise ConfigError(f"study {config.name}: no languages; wanted some besides its guests")
        self._planned: dict[str, Unit] = {}

    def units(self) -> Iterator[Unit]:
        """All units, once each, in the order in which they are best done."""
        for seed in self._config.seeds:
            folds = {number: self._fold(number, seed) for number in self._config.held_out}
            partition_of = {code: number for number, fold in folds.items() for code in fold.held_out}
            for code in self._config.guests:
                partition_of[code] = self._config.held_out[0]
            self._plan_counts(seed, partition_of)
            for number, fold in folds.items():
                held_out = [code for code in sorted(partition_of) if partition_of[code] == number]
                for conditioning in self._conditionings():
                    self._plan_prior(seed, number, fold, conditioning, held_out)
            for conditioning in dict.fromkeys(each for grid in self._config.joint for each in grid.conditionings):
                self._plan_joint(seed, conditioning)
        yield from self._planned.values()

    def _add(
        self,
        kind: UnitKind,
        name: str,
        settings: Mapping[str, object],
        *,
        needs: Mapping[str, str] | None = None,
        texts: Iterable[str] = (),
    ) -> str:
        unit = Unit(
            name=f"{kind} {name}", kind=kind, settings=dict(settings), needs=dict(needs or {}), texts=tuple(texts)
        )
        if self._planned.setdefault(unit.name, unit) != unit:
            raise AssertionError(f"two units are called {unit.name}")
        return unit.name

    def _plan_counts(self, seed: int, partition_of: Mapping[str, int]) -> None:
        """What needs no network: counts of characters, and the n-gram."""
        for code in sorted({*self._languages, *self._config.guests}):
            record = self._records[code]
            self._add(
                UnitKind.UNIGRAM,
                code,
                {"language": code, "language_name": record.name, "family": record.family},
                texts=[code],
            )
        wanted = sorted(
            {
                (code, sentences, sample)
                for grid in self._config.few_shot
                if NGRAM in grid.methods
                for code in self._chosen(grid.languages, partition_of)
                for sentences in grid.sentences
                for sample in range(grid.samples)
            }
        )
        for code, sentences, sample in wanted:
            self._add(
                UnitKind.NGRAM,
                f"{code}, {sentences} sentences, sample {sample}, seed {seed}",
                {
                    "language": code,
                    "partition": partition_of[code],
                    "sentences": sentences,
                    "sample": sample,
                    "seed": seed,
                    "orders": list(self._config.scoring.ngram_orders),
                    "characters": self._config.scoring.characters,
                },
                texts=[code],
            )

    def _plan_prior(self, seed: int, number: int, fold: Fold, conditioning: str, held_out: Sequence[str]) -> None:
        """A model with one partition held out, its prior, and all that is scored with it."""
        where = f"{conditioning}, partition {number}, seed {seed}"
        training = self._config.training
        train = self._train(
            where,
            conditioning,
            self._hold_out(number),
            fold,
            training.budget,
            seed,
            num_validation=training.num_validation,
        )
        prior = self._add(
            UnitKind.PRIOR,
            where,
            {
                "partition": number,
                "conditioning": conditioning,
                "sequences": self._config.prior.sequences,
                "spread": conditioning in self._config.prior.spread,
                "num_languages": len(fold.training),
                "characters_per_language": self._config.training.characters_per_language,
                "seed": seed,
            },
            needs={"model": train},
        )
        few_shot = self._few_shot_wanted(conditioning, held_out)
        methods = list(dict.fromkeys(method for _, method, _, _ in few_shot))
        zero_shot = self._zero_shot_wanted(conditioning, held_out)
        tuned = prior
        if self._config.tuning.trials and (methods or any(method == CALIBRATED for _, method in zero_shot)):
            tuned = self._tune(methods, where, conditioning, fold, prior, seed)
        for code, method in zero_shot:
            self._add(
                UnitKind.ZERO_SHOT,
                f"{code}, {method} {where}",
                {**self._scored(code, conditioning, seed), "partition": number, "method": method},
                needs={"prior": tuned if method == CALIBRATED else prior},
                texts=[code],
            )
        for code, method, sentences, sample in few_shot:
            given = {} if tuned != prior else self._config.adaptation.given(method)
            self._add(
                UnitKind.FEW_SHOT,
                f"{code}, {method} {where}, {sentences} sentences, sample {sample}",
                {
                    **self._scored(code, conditioning, seed, with_text=sample == 0),
                    "method": method,
                    "adaptation": given,
                    "partition": number,
                    "sentences": sentences,
                    "sample": sample,
                },
                needs={"prior": tuned},
                texts=[code],
            )

    def _plan_joint(self, seed: int, conditioning: str) -> None:
        """A model of all languages, scored on each."""
        fold = fold_for(self._languages, "none", num_validation=0, seed=seed)
        where = f"{conditioning}, all languages, seed {seed}"
        budget = self._config.training.joint_budget
        train = self._train(where, conditioning, "none", fold, budget, seed, num_validation=0)
        for grid in self._config.joint:
            if conditioning in grid.conditionings:
                for code in self._chosen(grid.languages, dict.fromkeys(self._languages, 0)):
                    self._add(
                        UnitKind.JOINT,
                        f"{code}, {where}",
                        self._scored(code, conditioning, seed),
                        needs={"model": train},
                        texts=[code],
                    )

    def _train(
        self,
        where: str,
        conditioning: str,
        hold_out: str,
        fold: Fold,
        budget: str,
        seed: int,
        *,
        num_validation: int,
    ) -> str:
        training = self._config.training
        reads_all = training.inventory == "corpus"
        return self._add(
            UnitKind.TRAIN,
            where,
            {
                "conditioning": conditioning,
                "preset": self._config.preset,
                "budget": budget,
                "hold_out": hold_out,
                "num_validation": num_validation,
                "inventory": training.inventory,
                "characters_per_language": training.characters_per_language,
                "batch_size": training.batch_size,
                "learning_rate": training.learning_rate,
                "languages": self._languages,
                "iso639_3": self._typology(conditioning, *self._languages),
                **self._texts_of_one_language(),
                "seed": seed,
            },
            texts=self._languages if reads_all else sorted((*fold.training, *fold.validation)),
        )

    def _tune(
        self, methods: Sequence[str], where: str, conditioning: str, fold: Fold, prior: str, seed: int
    ) -> str:
        tuning = self._config.tuning
        languages = fold.validation[: tuning.languages]
        return self._add(
            UnitKind.TUNE,
            where,
            {
                "methods": sorted(methods),
                "adaptation": self._config.adaptation.all_given(),
                "conditioning": conditioning,
                "languages": list(languages),
                "trials": tuning.trials,
                "trial_languages": tuning.trial_languages,
                "sentences": tuning.sentences,
                "characters": tuning.characters,
                "seed": seed,
            },
            needs={"prior": prior},
            texts=languages,
        )

    def _scored(self, code: str, conditioning: str, seed: int, *, with_text: bool = True) -> dict[str, object]:
        """What units that score a language with a network have in common."""
        scoring = self._config.scoring
        return {
            "language": code,
            "conditioning": conditioning,
            "iso639_3": self._typology(conditioning, code),
            "seed": seed,
            "characters": scoring.characters,
            "generated_characters": scoring.generated_characters if with_text else 0,
            "temperature": scoring.temperature,
        }

    def _typology(self, conditioning: str, *codes: str) -> dict[str, str]:
        """Under which codes typology knows languages; nothing where it is not looked at."""
        return {} if conditioning == "bare" else {code: self._records[code].iso639_3 for code in sorted(codes)}

    def _texts_of_one_language(self) -> dict[str, object]:
        """Codes that have one role because they are one language; nothing where each is its own."""
        texts: dict[str, list[str]] = {}
        for code in self._languages:
            texts.setdefault(self._records[code].iso639_3, []).append(code)
        shared = sorted(codes for codes in texts.values() if len(codes) > 1)
        return {"texts_of_one_language": shared} if shared else {}

    def _conditionings(self) -> list[str]:
        grids: list[ZeroShot | FewShot] = [*self._config.zero_shot, *self._config.few_shot]
        return list(
            dict.fromkeys(
                each
                for grid in grids
                if any(method != NGRAM for method in grid.methods)
                for each in grid.conditionings
            )
        )

    def _zero_shot_wanted(self, conditioning: str, held_out: Sequence[str]) -> list[tuple[str, str]]:
        return list(
            dict.fromkeys(
                (code, method)
                for grid in self._config.zero_shot
                if conditioning in grid.conditionings
                for code in self._chosen(grid.languages, held_out)
                for method in grid.methods
            )
        )

    def _few_shot_wanted(self, conditioning: str, held_out: Sequence[str]) -> list[tuple[str, str, int, int]]:
        """Language, method, sentences and sample, each once: grids may overlap."""
        return list(
            dict.fromkeys(
                cell
                for grid in self._config.few_shot
                if conditioning in grid.conditionings
                for cell in self._cells(grid, held_out)
            )
        )

    def _cells(self, grid: FewShot, held_out: Sequence[str]) -> Iterator[tuple[str, str, int, int]]:
        for code in self._chosen(grid.languages, held_out):
            for sentences in grid.sentences:
                for sample in range(grid.samples):
                    for method in grid.methods:
                        if method != NGRAM:
                            yield code, method, sentences, sample

    def _chosen(self, languages: Sequence[str], held_out: Iterable[str]) -> list[str]:
        """Those of the languages of a grid that are held out."""
        if isinstance(languages, str):  # all of them
            return list(held_out)
        self._check_known(languages, "languages of a grid")
        return [code for code in held_out if code in languages]

    def _check_known(self, codes: Iterable[str], where: str) -> None:
        for code in codes:
            if code not in self._records:
                near = difflib.get_close_matches(code, list(self._records), n=1, cutoff=0.0)
                wanted = f"such as {near[0]}" if near else "of its corpus"
                raise ConfigError(
                    f"study {self._config.name}: {where}: {code!r} not among the {len(self._records)} languages "
                    f"of the corpus; wanted one {wanted}"
                )

    def _hold_out(self, number: int) -> str:
        """The partition to hold out; one that is made here is the same for all seeds of the study."""
        partitions = self._config.partitions
        if partitions == "paper":
            return f"partition:{number}"
        fold = fold_for(
            self._languages,
            f"partition:{number}/{partitions}",
            num_validation=0,
            seed=_PARTITION_SEED,
            iso639_3=self._iso639_3,
        )
        return ",".join(fold.held_out)

    def _fold(self, number: int, seed: int) -> Fold:
        return fold_for(
            self._languages,
            self._hold_out(number),
            num_validation=self._config.training.num_validation,
            seed=seed,
            iso639_3=self._iso639_3,
        )

    @property
    def _iso639_3(self) -> dict[str, str]:
        return {code: record.iso639_3 for code, record in self._records.items()}


def canonical(value: object) -> str:
    """JSON that does not depend on spacing or the order of keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
