"""Doing one unit of a study: the only part of it that learns and scores."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.adaptation import adapt
from protoglot.adapted import AdaptedModel
from protoglot.corpus.interface import Corpus
from protoglot.corpus.opening import open_corpus
from protoglot.corpus.selection import select_languages
from protoglot.devices import prepare_cpu
from protoglot.errors import ConfigError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.generation import GenerationConfig
from protoglot.model.config import PRESETS, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.model.sampling import generate
from protoglot.ngram import NGram
from protoglot.prior.laplace import FisherConfig, infer_prior, training_streams
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.spread import SpreadConfig, measure_spread
from protoglot.prior.universal import UniversalPrior
from protoglot.report.rows import Method as RowMethod
from protoglot.report.rows import Regime, Row, ScoreRow, SignalToNoiseRow, TextRow, UnigramRow
from protoglot.scores import Score
from protoglot.splits import Split, few_shot_sample, first_characters, split_sentences
from protoglot.study.config import CALIBRATED
from protoglot.study.doing import Interrupted, Place, PlanFacts, Runner
from protoglot.study.ngram_choice import choose_ngram
from protoglot.study.plan import Unit, UnitKind
from protoglot.study.rows import KEY_DIGITS
from protoglot.study.store import Outcome
from protoglot.study.text import shortened, unchanged
from protoglot.trained import TrainedModel, load_trained, save_trained
from protoglot.training.budget import Budget
from protoglot.training.config import PRESETS as TRAINING_PRESETS
from protoglot.training.data import Inventory
from protoglot.training.loop import Ending
from protoglot.training.monitor import Silence
from protoglot.training.runs import RunPlan, train
from protoglot.tuning import START, Trials, Tuner, TuningConfig, tuning_identity
from protoglot.typology import Typology
from protoglot.vocabulary import Vocabulary

MODEL = "model"
PRIOR = "prior"
_SAMPLES_PER_SEED = 1_000
_SIGNAL_EDGES = np.linspace(-6.0, 4.0, 101)
"""Of the histogram of log10 |mean| / standard deviation; what lies outside counts at the ends."""


def make_runner(facts: PlanFacts) -> Runner:
    """What does the units of a study in this process.

    Raises:
        CorpusError: if the corpus is not there.
    """
    prepare_cpu(facts.num_threads)
    corpus = unchanged(open_corpus(facts.corpus), dict(facts.digests))
    return Desk(corpus, corpus_name=facts.corpus).run


@dataclass(frozen=True, slots=True)
class _Learned:
    """A model of one language, ready to be scored."""

    network: LanguageModel
    vocabulary: Vocabulary
    features: Tensor | None


class Desk:
    """Does units, and keeps at hand what the next is likely to need again.

    Args:
        corpus: text of all languages of the study.
        corpus_name: as the user named it, for the provenance of models.
    """

    def __init__(self, corpus: Corpus, *, corpus_name: str) -> None:
        self._corpus, self._corpus_name = corpus, corpus_name
        self._split = lru_cache(maxsize=8)(self._read_split)
        self._prior = lru_cache(maxsize=2)(UniversalPrior.load)
        self._model = lru_cache(maxsize=1)(load_trained)
        self._kinds: dict[UnitKind, Callable[[Unit, Place], Outcome]] = {
            UnitKind.UNIGRAM: self._count_characters,
            UnitKind.NGRAM: self._score_ngram,
            UnitKind.TRAIN: self._train,
            UnitKind.PRIOR: self._infer_prior,
            UnitKind.TUNE: self._tune,
            UnitKind.ZERO_SHOT: self._score_zero_shot,
            UnitKind.FEW_SHOT: self._score_few_shot,
            UnitKind.JOINT: self._score_jointly,
        }

    def run(self, unit: Unit, place: Place) -> Outcome:
        """Do a unit.

        Raises:
            Interrupted: if it was asked to stop before it was done.
        """
        return self._kinds[unit.kind](unit, place)

    def _count_characters(self, unit: Unit, place: Place) -> Outcome:
        settings: Any = unit.settings
        counts: Counter[str] = Counter()
        for sentence in self._split(settings["language"]).train:
            counts.update(sentence)
        row = UnigramRow(
            language=settings["language"],
            name=settings["language_name"] or "",
            family=settings["family"] or "",
            counts=dict(sorted(counts.items())),
            unit=unit.key[:KEY_DIGITS],
        )
        return Outcome([row])

    def _score_ngram(self, unit: Unit, place: Place) -> Outcome:
        started = time.monotonic()
        settings: Any = unit.settings
        sample = self._sample(settings)
        order, smoothing = choose_ngram(sample, settings["orders"])
        ngram = NGram.train(sample, Vocabulary.of(sample), order=order, smoothing=smoothing)
        score = ngram.score(self._test(settings))
        return Outcome([_score_row(unit, score, started, regime="few-shot", method="n-gram")])

    def _train(self, unit: Unit, place: Place) -> Outcome:
        """Train in the unfinished directory, whose checkpoints survive anything; keep the model alone."""
        started = time.monotonic()
        settings: Any = unit.settings
        conditioning = Conditioning(settings["conditioning"])
        preset = TRAINING_PRESETS[settings["preset"]]
        training = replace(
            preset,
            learning_rate=settings["learning_rate"] or preset.learning_rate,
            batching=replace(
                preset.batching,
                batch_size=settings["batch_size"] or preset.batching.batch_size,
                mixed=preset.batching.mixed and conditioning is not Conditioning.PLAT,
            ),
        )
        plan = RunPlan(
            model=replace(PRESETS[settings["preset"]], conditioning=conditioning),
            training=training,
            budget=Budget.parse(settings["budget"]),
            hold_out=settings["hold_out"],
            num_validation=settings["num_validation"],
            inventory=Inventory(settings["inventory"]),
            seed=settings["seed"],
            corpus=self._corpus_name,
            languages=tuple(settings["languages"]),
        )
        run = place.unfinished / "run"
        corpus = self._training_corpus(settings)
        _, ending, state = train(
            select_languages(corpus, plan.languages),
            plan,
            run,
            resume=True,
            device="cpu",
            monitor=Silence(),
            stop_asked=place.stop_asked,
        )
        if ending is Ending.INTERRUPTED:
            raise Interrupted
        save_trained(place.folder / MODEL, load_trained(run))
        return Outcome([], earlier_seconds=max(float(state["seconds"]) - (time.monotonic() - started), 0.0))

    def _infer_prior(self, unit: Unit, place: Place) -> Outcome:
        settings: Any = unit.settings
        trained = load_trained(place.needs["model"] / MODEL)
        streams = training_streams(self._training_corpus(settings), trained)
        prior = infer_prior(
            trained,
            streams,
            FisherConfig(max_sequences=settings["sequences"], seed=settings["seed"]),
            unfinished=place.unfinished / "fisher",
            stop_asked=place.stop_asked,
        )
        if prior is None:
            raise Interrupted
        if settings["spread"]:
            spread = measure_spread(
                trained,
                streams,
                SpreadConfig(seed=settings["seed"]),
                unfinished=place.unfinished / "spread",
                stop_asked=place.stop_asked,
            )
            if spread is None:
                raise Interrupted
            prior = replace(prior, spread=spread)
        prior.save(place.folder / PRIOR)
        return Outcome(_signal_rows(unit, prior))

    def _tune(self, unit: Unit, place: Place) -> Outcome:
        settings: Any = unit.settings
        prior = UniversalPrior.load(place.needs["prior"] / PRIOR)
        config = TuningConfig(
            num_trials=settings["trials"],
            num_trial_languages=settings["trial_languages"],
            num_sentences=settings["sentences"],
            scored_characters=settings["characters"],
            seed=settings["seed"],
        )
        starts = {
            Method(name): replace(START[Method(name)], **given) for name, given in settings["adaptation"].items()
        }
        place.unfinished.mkdir(parents=True, exist_ok=True)
        tuner = Tuner(
            prior,
            {code: self._split(code) for code in settings["languages"]},
            config,
            trials=Trials(place.unfinished / "trials.jsonl", tuning_identity(prior, config)),
            starts=starts,
            on_trial=lambda line: place.stop_if_asked(),
        )
        tuned = tuner.run([Method(name) for name in settings["methods"] or [str(Method.FITU)]])
        replace(prior, tuned=tuned).save(place.folder / PRIOR)
        return Outcome([])

    def _score_zero_shot(self, unit: Unit, place: Place) -> Outcome:
        started = time.monotonic()
        settings: Any = unit.settings
        prior = self._prior(place.needs["prior"] / PRIOR)
        if settings["method"] == CALIBRATED:
            return self._score_calibrated(unit, place, prior, started)
        config = AdaptationConfig(method=Method(settings["method"]), seed=settings["seed"])
        learned = self._adapt(prior, (), settings, config, place)
        return self._score(unit, place, learned, started, regime="zero-shot", method=settings["method"])

    def _score_calibrated(self, unit: Unit, place: Place, prior: UniversalPrior, started: float) -> Outcome:
        settings: Any = unit.settings
        if prior.tuned is None or prior.tuned.calibration is None:
            raise ConfigError(f"{unit.name}: its prior has no calibration; wanted one that tuning has fitted")
        model = AdaptedModel(
            network=prior.mean.model,
            vocabulary=prior.mean.vocabulary,
            features=self._vector(settings),
            num_characters=0,
            calibration=prior.tuned.calibration,
            frequencies=prior.frequencies,
        )
        score = model.score(self._test(settings))
        return Outcome([_score_row(unit, score, started, regime="zero-shot", method=CALIBRATED, sentences=0)])

    def _score_few_shot(self, unit: Unit, place: Place) -> Outcome:
        started = time.monotonic()
        settings: Any = unit.settings
        prior = self._prior(place.needs["prior"] / PRIOR)
        method = Method(settings["method"])
        sample = self._sample(settings)
        tuned = prior.settings_for(method).for_amount(sum(len(sentence) + 1 for sentence in sample))
        config = replace(tuned, seed=settings["seed"], **settings["adaptation"])
        learned = self._adapt(prior, sample, settings, config, place)
        return self._score(unit, place, learned, started, regime="few-shot", method=settings["method"])

    def _score_jointly(self, unit: Unit, place: Place) -> Outcome:
        started = time.monotonic()
        settings: Any = unit.settings
        trained: TrainedModel = self._model(place.needs["model"] / MODEL)
        learned = _Learned(trained.model, trained.vocabulary, self._features(settings, trained.model))
        return self._score(unit, place, learned, started, regime="joint", method="joint")

    def _adapt(
        self,
        prior: UniversalPrior,
        sentences: Sequence[str],
        settings: Any,  # noqa: ANN401 - JSON values of a unit
        config: AdaptationConfig,
        place: Place,
    ) -> _Learned:
        features = self._features(settings, prior.mean.model)

        def on_epoch(number: int, bits_per_character: float) -> None:
            place.stop_if_asked()

        network, vocabulary = adapt(prior, sentences, features, config, on_epoch=on_epoch)
        return _Learned(network, vocabulary, features)

    def _score(
        self, unit: Unit, place: Place, learned: _Learned, started: float, *, regime: Regime, method: RowMethod
    ) -> Outcome:
        """Rows of a network's score on a language's test text, and of a text that it generates."""
        settings: Any = unit.settings
        place.stop_if_asked()
        text = make_scored_text(self._test(settings), learned.vocabulary, learned.features)
        score = evaluate(learned.network, {settings["language"]: text})[settings["language"]]
        sentences = 0 if regime == "zero-shot" else settings.get("sentences")
        rows: list[Row] = [_score_row(unit, score, started, regime=regime, method=method, sentences=sentences)]
        if settings["generated_characters"]:
            config = GenerationConfig(length=settings["generated_characters"], temperature=settings["temperature"])
            written = generate(
                learned.network, learned.vocabulary, learned.features, config, seed=settings["seed"]
            )
            row = TextRow(
                language=settings["language"],
                partition=settings.get("partition"),
                conditioning=settings["conditioning"],
                method=method,
                regime=regime,
                sentences=sentences,
                temperature=settings["temperature"],
                text=written[0],
                unit=unit.key[:KEY_DIGITS],
            )
            rows.append(row)
        return Outcome(rows)

    def _read_split(self, language: str) -> Split:
        return split_sentences(self._corpus.sentences(language))

    def _sample(self, settings: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON values of a unit
        return few_shot_sample(
            self._split(settings["language"]).train,
            settings["sentences"],
            language=settings["language"],
            seed=_SAMPLES_PER_SEED * settings["seed"] + settings["sample"],
        )

    def _test(self, settings: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON values of a unit
        test = first_characters(self._split(settings["language"]).test, settings["characters"])
        if not test:
            raise ConfigError(f"{settings['language']}: no test text; wanted ten sentences or more")
        return test

    def _training_corpus(self, settings: Any) -> Corpus:  # noqa: ANN401 - JSON values of a unit
        limit = settings["characters_per_language"]
        return self._corpus if limit is None else shortened(self._corpus, limit)

    def _features(self, settings: Any, model: LanguageModel) -> Tensor | None:  # noqa: ANN401 - JSON values
        vector = self._vector(settings)
        # A copy in memory that torch aligns, as for trained models: the same sums to the last bit.
        return None if vector is None else torch.tensor(vector).to(model.embedding)

    def _vector(self, settings: Any) -> NDArray[np.float32] | None:  # noqa: ANN401 - JSON values of a unit
        code = settings["iso639_3"].get(settings["language"])
        return None if code is None else self._typology.vector(code)

    @cached_property
    def _typology(self) -> Typology:
        return Typology.installed()


def _score_row(
    unit: Unit,
    score: Score,
    started: float,
    *,
    regime: Regime,
    method: RowMethod,
    sentences: int | None = None,
) -> ScoreRow:
    settings: Any = unit.settings
    if not math.isfinite(score.nats):
        raise ArithmeticError(f"{settings['language']}: a score of {score.nats} nats; wanted a finite number")
    return ScoreRow(
        language=settings["language"],
        partition=settings.get("partition"),
        regime=regime,
        conditioning=settings.get("conditioning"),
        method=method,
        network=None,
        sentences=settings.get("sentences", sentences),
        sample=settings.get("sample"),
        seed=settings["seed"],
        nats=score.nats,
        characters=score.num_characters,
        seconds=round(time.monotonic() - started, 3),
        unit=unit.key[:KEY_DIGITS],
    )


def _signal_rows(unit: Unit, prior: UniversalPrior) -> list[SignalToNoiseRow]:
    """Densities of log10 |mean| / standard deviation, of all weights and of each by name (appendix B)."""
    settings: Any = unit.settings
    found = {name: values.flatten().cpu().numpy() for name, values in prior.signal_to_noise().items()}
    layers = {"all": np.concatenate(list(found.values())), **found}
    rows = []
    for layer, values in layers.items():
        logarithms = np.log10(np.maximum(values.astype(np.float64), 10 ** _SIGNAL_EDGES[0]))
        counts, _ = np.histogram(np.minimum(logarithms, _SIGNAL_EDGES[-1]), bins=_SIGNAL_EDGES)
        density = counts / (math.fsum(counts.tolist()) * np.diff(_SIGNAL_EDGES))
        row = SignalToNoiseRow(
            partition=settings["partition"],
            conditioning=settings["conditioning"],
            layer=layer,
            edges=tuple(round(edge, 6) for edge in _SIGNAL_EDGES.tolist()),
            density=tuple(round(value, 6) for value in density.tolist()),
            unit=unit.key[:KEY_DIGITS],
        )
        rows.append(row)
    return rows
