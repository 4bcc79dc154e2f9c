"""What other models would bring to the reader as components: those of the paper, and an n-gram.

At each character of a test the reader and a component each have a distribution over what comes next. They are combined
as ``p ∝ p_reader ** a * p_component ** b``, normalised; a and b are those that make the other languages cheapest (each
language is left out once). The outcomes are the characters that the reader has met, and one for all others: which of
these comes, the reader says.

- static: each line of the test on its own after the page; what was learned in it is undone before the next.
- reading on: the test in order after the page, the reader learning and the state of the network carried.

The page is that of the reading benchmark, or its first sentences; the test are 40 lines of the last tenth.

``run`` makes the rows of a page and a mode anew, ``table`` a Markdown table of all. What components predicted is kept
in a folder: one that is added later does not ask the others again. Some components are no longer part of protoglot.
They cannot be run; their rows are kept, and the table names the commit that they were measured at.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from reading_rows import describe, read_rows
from reading_systems import (
    NGRAM_ORDER,
    ONLINE,
    Setting,
    identity_of,
    load_scorer,
    online_model,
    typology_of,
    universal_prior,
)
from reading_texts import PAGE, Source, join, read_material

from protoglot.storage import write_atomically

if TYPE_CHECKING:
    from protoglot.adapted import AdaptedModel
    from protoglot.ngram import NGram
    from protoglot.reading.reader import Reader
    from protoglot.vocabulary import Vocabulary

Floats = NDArray[np.float64]

ROWS = Path(__file__).parent / "results" / "components.jsonl"
TEST = 40
"""Lines of the test."""

STATIC, ON = "static", "on"
NO_COMPONENT = "none"
"""A control: a power of the reader alone."""

LABELS = {
    STATIC: {
        NO_COMPONENT: "none: a power of the reader",
        "zero-shot": "LSTM w*, zero-shot",
        "fitu": "LSTM, FITU",
        "univ": "LSTM, UNIV",
        "ngram": f"n-gram (Kneser-Ney {NGRAM_ORDER})",
        "neighbours": "n-gram with neighbours",
        "in-context": "in-context network",
        "former": "former whole model",
    },
    ON: {
        NO_COMPONENT: "none: a power of the reader",
        "univ": "LSTM, UNIV, weights as the page left them",
        ONLINE: "LSTM, UNIV with online MAP",
    },
}
REMOVED = ("neighbours", "in-context", "former")
"""Components that are no longer part of protoglot: there are rows of them, and no code."""

KEPT = 0.5
"""Percent: a component that brings less is no part of the reader."""

_LEAST = 1e-30  # probability of an outcome
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Predictions:
    """What one model says along a test of N characters."""

    log_probabilities: Floats
    """Of all others together and of each character met, (N, 1 + K); minus infinity where it was not met yet."""

    bits: Floats
    """What the model alone pays, (N,)."""


@dataclass(frozen=True, slots=True)
class ReaderPredictions(Predictions):
    """What the reader says, and how outcomes are numbered."""

    targets: NDArray[np.int64]
    """Outcomes that came, (N,)."""

    naming: Floats
    """Bits that the reader pays to say which of all others it is, (N,)."""

    met: tuple[str, ...]
    """Characters in the order of the outcomes, from the second."""

    num_met: NDArray[np.int64]
    """Of these had been met at each position, (N,)."""


def main() -> None:
    """Run or tabulate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run")
    running.add_argument("--corpus", type=Path, required=True, help="folder of <code>.txt")
    running.add_argument("--languages", required=True, help="codes, with commas")
    running.add_argument("--pages", default=f"{PAGE},10", help="sentences of the page [default: %(default)s]")
    running.add_argument("--modes", default=f"{STATIC},{ON}", help="one or both [default: %(default)s]")
    running.add_argument("--scorer", help="directory of another scorer than the installed one")
    running.add_argument("--predictions", type=Path, required=True, help="folder for what was predicted")
    running.add_argument("--out", type=Path, default=ROWS, help="file of the rows [default: %(default)s]")
    tabulating = actions.add_parser("table")
    tabulating.add_argument("rows", type=Path, nargs="?", default=ROWS)
    tabulating.add_argument("--out", type=Path, help="write the table here and do not print it")
    arguments = parser.parse_args()
    if arguments.action == "run":
        run(arguments)
        return
    table = make_table(read_rows(arguments.rows))
    if arguments.out is None:
        print(table, end="")
    else:
        write_atomically(arguments.out, table)


def run(arguments: argparse.Namespace) -> None:
    """Predict, fit and write the rows of some pages and modes; others and those of removed components are kept."""
    from protoglot.devices import prepare_cpu

    prepare_cpu(1)
    languages, modes = arguments.languages.split(","), arguments.modes.split(",")
    pages = [int(text) for text in arguments.pages.split(",")]
    setting = Setting(arguments.scorer)
    facts = {
        "scorer": identity_of("reader", setting),
        "prior": identity_of("univ", setting),
        **describe(),
    }
    arguments.predictions.mkdir(parents=True, exist_ok=True)
    made = {(number, mode) for number in pages for mode in modes}
    rows = [
        row
        for row in read_rows(arguments.out)
        if (row["page"], row["mode"]) not in made or row["component"] in REMOVED
    ]
    for number in pages:
        tests = {}
        for code in languages:
            start = time.perf_counter()
            tests[code] = LanguageTest(arguments.corpus, code, number, setting, arguments.predictions)
            for mode in modes:
                for component in components_of(mode):
                    tests[code].predictions(mode, component)
            print(f"{code}, page of {number}: predicted in {time.perf_counter() - start:.0f} s", flush=True)
        for mode in modes:
            for component in components_of(mode):
                rows += [{**row, **facts} for row in leave_one_out(tests, mode, component)]
        write_atomically(arguments.out, "".join(json.dumps(row) + "\n" for row in rows))
    print(make_table(rows), end="")


def components_of(mode: str) -> list[str]:
    """The components that can be run."""
    return [component for component in LABELS[mode] if component not in REMOVED]


class LanguageTest:
    """The page and the test of a language, and what is predicted along the test."""

    def __init__(self, corpus: Path, language: str, number: int, setting: Setting, folder: Path) -> None:
        material = read_material(Source("components", language, str(corpus)))
        self.language = language
        self.page, self.test = material.page[:number], material.test[:TEST]
        self._setting = setting
        self._folder = folder
        self._models: dict[str, AdaptedModel] = {}
        self._readers: dict[str, ReaderPredictions] = {}
        self._found: dict[tuple[str, str], Predictions] = {}

    def reader(self, mode: str) -> ReaderPredictions:
        """What the reader predicts."""
        if mode not in self._readers:
            self._readers[mode] = self._reader(mode)
        return self._readers[mode]

    def predictions(self, mode: str, component: str) -> Predictions:
        """What a component predicts; from the folder if it was asked before."""
        key = mode, component
        if key not in self._found:
            if component == NO_COMPONENT:
                reader = self.reader(mode)
                self._found[key] = Predictions(np.zeros_like(reader.log_probabilities), reader.bits)
            else:
                identity = identity_of("reader", self._setting)[:12]
                name = f"{self.language}-{len(self.page)}-{mode}-{component}-{identity}.npz"
                self._found[key] = kept(self._folder / name, lambda: self._predict(mode, component))
        return self._found[key]

    def _reader(self, mode: str) -> ReaderPredictions:
        from protoglot.reading.reader import Reader

        reader = Reader(load_scorer(self._setting.scorer))
        reader.read(join(self.page))
        return read_test(reader, self.test, static=mode == STATIC)

    def _predict(self, mode: str, component: str) -> Predictions:
        reader, position, pieces = self.reader(mode), 0, []
        for vocabulary, log_probabilities, text in self._along(mode, component):
            rows = slice(position, position + len(text))
            pieces.append(onto_outcomes(log_probabilities, vocabulary, text, reader.met, reader.num_met[rows]))
            position += len(text)
        return Predictions(
            np.concatenate([piece.log_probabilities for piece in pieces]),
            np.concatenate([piece.bits for piece in pieces]),
        )

    def _along(self, mode: str, component: str) -> Iterator[tuple["Vocabulary", Floats, str]]:
        """Vocabulary, log-probabilities of all ids that can be predicted, and the characters that came."""
        if component == ONLINE:
            online = online_model(self.language)
            online.read(join(self.page))
            for piece in online.along(join(self.test)):
                yield piece.vocabulary, piece.log_probabilities.double().numpy(), piece.text
            return
        if component == "ngram":
            ngram = self._ngram()
            for line in self.test:
                yield ngram.vocabulary, np.log(ngram.distributions(line)[0]), join([line])
            return
        model = self._model(component)
        for lines in [[line] for line in self.test] if mode == STATIC else [self.test]:
            found = [part.double().numpy() for part, _ in model.log_probabilities(lines)]
            yield model.vocabulary, np.concatenate(found), join(lines)

    def _ngram(self) -> "NGram":
        """The n-gram of the page, over the characters that the networks have."""
        from protoglot.ngram import NGram, Smoothing

        vocabulary = universal_prior().mean.vocabulary.extended(self.page)
        return NGram.train(self.page, vocabulary, order=NGRAM_ORDER, smoothing=Smoothing.KNESER_NEY)

    def _model(self, name: str) -> "AdaptedModel":
        """A network of the page, made once."""
        if name not in self._models:
            self._models[name] = self._make(name)
        return self._models[name]

    def _make(self, name: str) -> "AdaptedModel":
        from protoglot.adaptation import learn_language
        from protoglot.prior.methods import Method

        prior = universal_prior()
        features = typology_of(prior, self.language)
        if name == "zero-shot":
            return learn_language(prior, [], features=features)
        return learn_language(prior, self.page, features=features, config=prior.settings_for(Method(name)))


def kept(path: Path, make: Callable[[], Predictions]) -> Predictions:
    """Predictions of a file, which is made if it is not there."""
    if not path.is_file():
        made = make()
        np.savez(path, log_probabilities=made.log_probabilities.astype(np.float32), bits=made.bits)
    with np.load(path) as arrays:
        return Predictions(arrays["log_probabilities"].astype(np.float64), arrays["bits"])


def read_test(reader: "Reader", test: Sequence[str], *, static: bool) -> ReaderPredictions:
    """Read a test character by character, and note all that is predicted.

    Args:
        reader: that has read the page.
        test: lines.
        static: whether each line is forgotten before the next.
    """
    mark = reader.mark()
    rows, targets, bits, numbers = [], [], [], []
    known = len(reader.characters)
    met = list(reader.characters)
    for line in test:
        for character in join([line]):
            numbers.append(len(reader.characters))
            places = {c: place for place, c in enumerate(reader.characters, start=1)}
            rows.append(reader.predict_met())
            targets.append(places.get(character, 0))
            bits.append(reader.read(character).total_bits)
        if static:
            reader.undo(mark)
        else:
            met = list(reader.characters)
    if static:  # what a line meets for the first time is one of all others throughout
        rows, numbers = [fold(row, known) for row in rows], [known] * len(rows)
        targets = [target if target <= known else 0 for target in targets]
    naming = [
        0.0 if target else paid + math.log2(row[0]) for target, paid, row in zip(targets, bits, rows, strict=True)
    ]
    width = 1 + len(met)
    log_probabilities = np.full((len(rows), width), -np.inf)
    for place, row in enumerate(rows):
        log_probabilities[place, : len(row)] = np.log(np.maximum(row, _LEAST))
    return ReaderPredictions(
        log_probabilities, np.array(bits), np.array(targets), np.array(naming), tuple(met), np.array(numbers)
    )


def fold(row: Floats, number: int) -> Floats:
    """Probabilities of the first characters met, all others counted among those that were not met."""
    folded = row[: number + 1].copy()
    folded[0] += row[number + 1 :].sum()
    return folded


def onto_outcomes(
    log_probabilities: Floats,
    vocabulary: "Vocabulary",
    text: str,
    met: Sequence[str],
    num_met: NDArray[np.int64],
) -> Predictions:
    """Predictions of ids as those of outcomes.

    Args:
        log_probabilities: of all ids that can be predicted, (N, V - 1).
        vocabulary: of the model; characters outside it are named as it names them.
        text: the N characters that came.
        met: characters in the order of the outcomes.
        num_met: how many of them are outcomes of their own at each position.
    """
    from protoglot.vocabulary import END, OTHER

    def columns(characters: Sequence[str]) -> tuple[NDArray[np.int64], Floats]:
        ids, names = [], []
        for character in characters:
            inside = character == "\n" or character in vocabulary
            id_ = END if character == "\n" else vocabulary.encode(character).ids[0] if inside else OTHER
            ids.append(id_ - 1)
            names.append(0.0 if inside else vocabulary.other_nats(character))
        return np.array(ids), np.array(names)

    ids, names = columns(met)
    own = np.exp(log_probabilities[:, ids] - names)  # (N, K)
    own[np.arange(len(met))[None, :] >= num_met[:, None]] = 0.0
    rest = np.maximum(1.0 - own.sum(axis=1, keepdims=True), _LEAST)
    outcomes = np.log(np.maximum(np.concatenate([rest, own], axis=1), _LEAST))
    ids, names = columns(text)
    nats = names - log_probabilities[np.arange(len(text)), ids]
    return Predictions(outcomes, nats / np.log(2))


# Powers


@dataclass(frozen=True, slots=True)
class Example:
    """A language: both models along its test."""

    logs: Floats
    """Of reader and component, (2, N, 1 + K); outcomes that do not exist yet are minus infinity in the first."""

    targets: NDArray[np.int64]
    naming: Floats

    def bits(self, powers: Floats) -> tuple[float, Floats, Floats]:
        """Bits per character of the product of powers, their gradient (2,) and their second derivatives (2, 2)."""
        exists = np.isfinite(self.logs[0])
        logs = np.where(exists, self.logs, 0.0)
        scores = np.where(exists, np.tensordot(powers, logs, axes=1), -np.inf)
        scores -= scores.max(axis=1, keepdims=True)
        found = np.exp(scores)
        total = found.sum(axis=1, keepdims=True)
        found /= total
        positions = np.arange(len(self.targets))
        nats = np.log(total[:, 0]) - scores[positions, self.targets]
        means = (found * logs).sum(axis=2)  # (2, N)
        gradient = (means - logs[:, positions, self.targets]).mean(axis=1)
        squares = np.einsum("nk,ink,jnk->ij", found, logs, logs) / len(positions)
        curvature = squares - means @ means.T / len(positions)
        unit = np.log(2)
        return float(nats.mean() / unit + self.naming.mean()), gradient / unit, curvature / unit


def best_powers(examples: Sequence[Example]) -> Floats:
    """The powers that make the mean of some languages cheapest; the cost is convex, so Newton's steps find them."""

    def mean(powers: Floats) -> tuple[float, Floats, Floats]:
        parts = [example.bits(powers) for example in examples]
        return tuple(sum(part[i] for part in parts) / len(parts) for i in range(3))  # type: ignore[return-value]

    powers = np.array([1.0, 0.0])
    cost, gradient, curvature = mean(powers)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
        while True:
            tried = mean(powers - step)
            if tried[0] <= cost or np.abs(step).max() < 1e-6:
                break
            step /= 2
        if cost - tried[0] < 1e-7:
            break
        powers = powers - step
        cost, gradient, curvature = tried
    return powers


def leave_one_out(tests: Mapping[str, LanguageTest], mode: str, component: str) -> list[dict[str, Any]]:
    """A row for each language, with the powers that are best for the others."""
    examples, found = {}, {}
    for code, test in tests.items():
        reader, found[code] = test.reader(mode), test.predictions(mode, component)
        logs = np.stack([reader.log_probabilities, found[code].log_probabilities])
        examples[code] = Example(logs, reader.targets, reader.naming)
        alone = examples[code].bits(np.array([1.0, 0.0]))[0]
        if abs(alone - float(reader.bits.mean())) > 1e-4:
            raise RuntimeError(f"{code}: {alone:.5f} bits by outcomes; wanted {reader.bits.mean():.5f}")
    rows = []
    for code, test in tests.items():
        powers = best_powers([example for other, example in examples.items() if other != code])
        rows.append(
            {
                "language": code,
                "page": len(test.page),
                "mode": mode,
                "component": component,
                "characters": len(found[code].bits),
                "reader": round(float(test.reader(mode).bits.mean()), 5),
                "alone": round(float(found[code].bits.mean()), 5),
                "combined": round(examples[code].bits(powers)[0], 5),
                "powers": [round(float(power), 4) for power in powers],
            }
        )
    return rows


def make_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Means over languages, as Markdown."""
    parts = []
    for number in sorted({row["page"] for row in rows}, reverse=True):
        for mode, labels in LABELS.items():
            own = [row for row in rows if row["page"] == number and row["mode"] == mode]
            if not own:
                continue
            now = [row for row in own if row["component"] not in REMOVED] or own
            readers = {row["language"]: row["reader"] for row in now}
            name = "each line on its own" if mode == STATIC else "reading on"
            lines = [
                f"A page of {number} sentences, {name}: bits per character, means over {len(readers)} languages. "
                f"The reader alone: {statistics.fmean(readers.values()):.3f}.",
                "",
                "| component | alone | with the reader | gain | better in | powers |",
                "|---|---:|---:|---:|---:|---:|",
            ]
            for component, label in labels.items():
                some = [row for row in own if row["component"] == component]
                if not some:
                    continue
                if component in REMOVED:
                    commits = ", ".join(sorted({row["commit"] for row in some}))
                    label += f" (no longer part of protoglot; measured at commit {commits})"
                reader = statistics.fmean(row["reader"] for row in some)  # of that commit
                combined = statistics.fmean(row["combined"] for row in some)
                alone = statistics.fmean(row["alone"] for row in some)
                better = sum(row["combined"] < row["reader"] for row in some)
                a, b = (statistics.fmean(row["powers"][i] for row in some) for i in range(2))
                powers = f"{a:.2f}" if component == NO_COMPONENT else f"{a:.2f}, {b:.2f}"
                cell = "–" if component == NO_COMPONENT else f"{alone:.3f}"
                lines.append(
                    f"| {label} | {cell} | {combined:.3f} | {100 * (1 - combined / reader):.2f} % | "
                    f"{better} of {len(some)} | {powers} |"
                )
            parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    main()
