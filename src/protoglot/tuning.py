"""Settings of adaptation, chosen on validation languages; nothing is ever chosen on a held-out one.

Every method gets the same number of trials. A search starts from common settings and changes one at a time, by turns:
strength of the prior, where it has one to choose, epochs, dropout and learning rate, and then each of them once more;
a change that helps is kept. Trials use a few of the validation languages; the best of each method then meet on all of
them. The calibration is learned last.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from protoglot.adaptation import adapt, learn_language
from protoglot.errors import ConfigError, StorageError
from protoglot.ngram import NGram, NGramConfig, Smoothing
from protoglot.prior.calibration import Calibration, fit_calibration
from protoglot.prior.methods import MAX_TRIALS, AdaptationConfig, Method
from protoglot.prior.universal import Tuned, UniversalPrior
from protoglot.running_text import network_logits
from protoglot.scores import Score, mean_bits_per_character
from protoglot.splits import Split, enough_sentences, few_shot_sample
from protoglot.storage import append_line, write_atomically

_ORDERS = range(2, 9)

START: Mapping[Method, AdaptationConfig] = {
    Method.NINF: AdaptationConfig(method=Method.NINF, strength=1.0),
    Method.FITU: AdaptationConfig(method=Method.FITU, strength=0.0),
    Method.UNIV: AdaptationConfig(method=Method.UNIV, strength=1e-3),
    Method.L2_SP: AdaptationConfig(method=Method.L2_SP, strength=1e-3),
    Method.HIER: AdaptationConfig(method=Method.HIER, strength=1e-3),
}
"""Where the search of each method starts."""

_Axis = tuple[str, tuple[float, ...]]
_SHARED_AXES: tuple[_Axis, ...] = (
    ("num_epochs", (10, 4)),
    ("dropout", (0.2, 0.0, 0.1)),
    ("learning_rate", (2.5e-3, 6e-3)),
)
_STRENGTHS: Mapping[Method, tuple[float, ...]] = {
    Method.NINF: (),
    Method.FITU: (),
    Method.UNIV: (1e-4, 1e-2),
    Method.L2_SP: (1e-4, 1e-2),
    Method.HIER: (1e-4, 1e-2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningConfig:
    """How long and on what to search."""

    num_trials: int = MAX_TRIALS
    """Settings tried for each method."""

    num_trial_languages: int = 2
    """Validation languages that each trial is scored on."""

    num_finalists: int = 2
    """Settings of each method that meet on all validation languages."""

    num_sentences: int = 100
    """To learn from."""

    scored_characters: int = 6_000
    """Of each language's development text."""

    calibration_characters: int = 2_500
    """Of each language's development text that the calibration learns from."""

    seed: int = 0
    """Of samples of sentences."""

    def __post_init__(self) -> None:
        for name in (
            "num_trials",
            "num_trial_languages",
            "num_sentences",
            "scored_characters",
            "calibration_characters",
        ):
            if getattr(self, name) < 1:
                raise ConfigError(f"tuning.{name}: {getattr(self, name)}; wanted a whole number from 1")
        if self.num_trials > MAX_TRIALS:
            raise ConfigError(f"tuning.num_trials: {self.num_trials}; wanted at most {MAX_TRIALS}")


class Trials:
    """Scores of settings on languages, each measured once; kept in a file if there is one.

    Args:
        path: JSON lines, to which every new trial is added; those that are in it are not run again.
        identity: what must be the same for old trials to count.
    """

    def __init__(self, path: Path | None, identity: str) -> None:
        self._path, self._identity = path, identity
        self.rows: list[dict[str, Any]] = []
        if path is not None and path.is_file():
            whole = _whole_lines(path)
            write_atomically(path, "".join(whole))  # what comes next must not be glued to half a line
            self.rows = [row for row in _parse_lines(path, whole) if row.get("identity") == identity]

    def find(self, key: Mapping[str, object]) -> Score | None:
        """The score of a trial that was run before."""
        for row in self.rows:
            if all(row.get(name) == value for name, value in key.items()):
                return Score(float(row["nats"]), int(row["characters"]))
        return None

    def add(self, key: Mapping[str, object], score: Score, seconds: float) -> None:
        """Keep a new trial."""
        row = {
            **key,
            "nats": score.nats,
            "characters": score.num_characters,
            "seconds": round(seconds, 2),
            "identity": self._identity,
        }
        self.rows.append(row)
        if self._path is not None:
            append_line(self._path, json.dumps(row))


class Tuner:
    """The search.

    Args:
        prior: left as it was.
        texts: of the validation languages.
        config: settings of the search.
        trials: where scores are kept.
        starts: settings to start the search of a method from, where they are not the usual ones.
        on_trial: called with one line on each trial that was run.
    """

    def __init__(
        self,
        prior: UniversalPrior,
        texts: Mapping[str, Split],
        config: TuningConfig,
        *,
        trials: Trials,
        starts: Mapping[Method, AdaptationConfig] | None = None,
        on_trial: Callable[[str], None] = lambda line: None,
    ) -> None:
        usable = {code: split for code, split in texts.items() if split.train and split.development}
        for code in sorted(set(texts) - set(usable)):
            on_trial(f"{code}: fewer than ten sentences, so it is left out")
        if not usable:
            raise ConfigError(
                f"tuning: none of {len(texts)} validation languages has text to learn from and to score; "
                "wanted one with ten sentences or more"
            )
        self.prior, self.config, self.trials = prior, config, trials
        self.texts: Mapping[str, Split] = usable
        self._starts = {**START, **(starts or {})}
        self._on_trial = on_trial
        self._languages = sorted(usable)
        self._samples = {
            code: few_shot_sample(
                usable[code].train,
                min(config.num_sentences, len(usable[code].train)),
                language=code,
                seed=config.seed,
            )
            for code in self._languages
        }
        self._scored = {
            code: enough_sentences(split.development, config.scored_characters) for code, split in usable.items()
        }

        self._digests = {code: _digest(self._samples[code], self._scored[code]) for code in usable}

    def run(self, methods: Sequence[Method]) -> Tuned:
        """Choose the settings of each method, the n-gram, the best method and the calibration."""
        ngram = self.choose_ngram()
        best: dict[Method, AdaptationConfig] = {}
        final: dict[Method, float] = {}
        for method in methods:
            best[method] = self.search(method)
            final[method] = self._mean(best[method], self._languages)
        winner = min(final, key=lambda method: final[method])
        chosen = Tuned(best=winner, methods=best, ngram=ngram)
        return replace(
            chosen,
            calibration=self.calibrate(),
            trials=tuple(dict(row) for row in self.trials.rows),
        )

    def choose_ngram(self) -> NGramConfig:
        """The order and smoothing that pay least, on average over the validation languages."""
        found: dict[NGramConfig, float] = {}
        for smoothing in Smoothing:
            for order in _ORDERS:
                config = NGramConfig(order=order, smoothing=smoothing)
                scores = []
                for code in self._languages:
                    vocabulary = self.prior.mean.vocabulary.extended(self._samples[code])
                    model = NGram.train(self._samples[code], vocabulary, order=order, smoothing=smoothing)
                    scores.append(model.score(self._scored[code]))
                found[config] = mean_bits_per_character(scores)
        best = min(found, key=lambda config: found[config])
        self._on_trial(f"n-gram: order {best.order}, {best.smoothing}: {found[best]:.3f} bits/character")
        return best

    def search(self, method: Method) -> AdaptationConfig:
        """The best settings of a method."""
        first = self._languages[: self.config.num_trial_languages]
        tried: dict[AdaptationConfig, float] = {}
        for candidate in self._candidates(method, tried):
            tried[candidate] = self._mean(candidate, first)
        finalists = sorted(tried, key=lambda config: tried[config])[: self.config.num_finalists]
        if len(finalists) == 1:
            return finalists[0]
        return min(finalists, key=lambda config: self._mean(config, self._languages))

    def _candidates(self, method: Method, tried: Mapping[AdaptationConfig, float]) -> Iterator[AdaptationConfig]:
        """Settings to try, each a change of the best so far."""
        yield self._starts[method]
        number = 1
        for change in _changes(method):
            if number == self.config.num_trials:
                return
            candidate = replace(min(tried, key=lambda config: tried[config]), **change)
            if candidate not in tried:
                yield candidate
                number += 1

    def _mean(self, config: AdaptationConfig, languages: Sequence[str]) -> float:
        return mean_bits_per_character([self._score(config, code) for code in languages])

    def _score(self, config: AdaptationConfig, code: str) -> Score:
        key = {
            "language": code,
            "num_sentences": len(self._samples[code]),
            "text": self._digests[code],
            **config.to_json(),
        }
        known = self.trials.find(key)
        if known is not None:
            return known
        start = time.monotonic()
        model = learn_language(self.prior, self._samples[code], features=self._features(code), config=config)
        score = model.score(self._scored[code])
        seconds = time.monotonic() - start
        self.trials.add(key, score, seconds)
        self._on_trial(
            f"{describe(config)}: {code} {score.bits_per_character:.3f} bits/character, {seconds:.0f} s"
        )
        return score

    def calibrate(self) -> Calibration:
        """Temperature and shares for a language without text."""
        examples = []
        for code in self._languages:
            text = enough_sentences(self.texts[code].development, self.config.calibration_characters)
            vector = self._features(code)
            features = None if vector is None else torch.tensor(vector).to(self.prior.mean.model.embedding)
            model, vocabulary = adapt(self.prior, [], features, AdaptationConfig())
            pieces = list(network_logits(model, vocabulary, features, text))
            examples.append(
                (torch.cat([logits for logits, _ in pieces]), torch.cat([targets for _, targets in pieces]))
            )
        found = fit_calibration(examples, torch.tensor(self.prior.frequencies))
        self._on_trial(
            f"calibration: temperature {found.temperature:.2f}, broad share {found.broad_share:.2f}, "
            f"even share {found.even_share:.2f}"
        )
        return found

    def _features(self, code: str) -> Any:  # noqa: ANN401 - an array, or nothing for BARE
        return self.prior.mean.features.get(code)


def _changes(method: Method) -> Iterator[dict[str, Any]]:
    """What to change, one setting after the other, so that few trials look at all of them."""
    axes = [(name, values) for name, values in (("strength", _STRENGTHS[method]), *_SHARED_AXES) if values]
    for turn in range(max(len(values) for _, values in axes)):
        for name, values in axes:
            if turn < len(values):
                yield {name: values[turn]}


def _digest(*texts: Sequence[str]) -> str:
    """What tells texts apart."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def tuning_identity(prior: UniversalPrior, config: TuningConfig) -> str:
    """SHA-256 of what old trials need to count, besides their texts: all weights, and how much is scored."""
    scored = {name: value for name, value in asdict(config).items() if name in ("scored_characters", "seed")}
    digest = hashlib.sha256(json.dumps(scored, sort_keys=True).encode())
    parts = {
        "mean": dict(prior.mean.model.named_parameters()),
        "fisher": prior.fisher,
        "spread": prior.spread or {},
    }
    for part, weights in parts.items():
        for name, values in sorted(weights.items()):
            digest.update(f"{part} {name} {tuple(values.shape)}".encode())
            digest.update(values.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def describe(config: AdaptationConfig) -> str:
    """Settings in one line."""
    strength = "" if config.method is Method.FITU else f" strength {config.strength:g},"
    return (
        f"{config.method}:{strength} {config.num_epochs} epochs, rate {config.learning_rate:g}, "
        f"dropout {config.dropout:g}"
    )


def _whole_lines(path: Path) -> list[str]:
    """The lines of a file but for a last one that was cut off."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    return [line for line in lines if line.endswith("\n")]


def _parse_lines(path: Path, lines: Sequence[str]) -> list[dict[str, Any]]:
    """JSON objects, one a line.

    Raises:
        StorageError: at the first line that is none.
    """
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise StorageError(f"{path}:{number}: damaged; wanted a JSON value") from error
        if not isinstance(row, dict):
            raise StorageError(f"{path}:{number}: {str(row)[:40]!r}; wanted a JSON object")
        rows.append(row)
    return rows
