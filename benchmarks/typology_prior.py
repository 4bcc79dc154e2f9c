"""What the code of a language is worth before any of its text is read: family, place and typology as priors.

A reader follows the words of four languages that its text is like (its relatives), and expects new characters by how
many languages have them. Here both may also lean on what is known of the language by its code:

- relatives: near languages get an advantage, in nats, over the likelihood of the trigrams of the text;
- characters: how many languages have a letter is counted with weights, the near ones most.

Near means: branches of the family tree in common (cosine), kilometres (logarithm), or the share of the 245 features
that differ, all from URIEL; ``all`` is their sum. Each is scaled to a standard deviation of one.

``without`` is the reader that is told nothing. ``built in`` is the reader that is told the code: place and typology.

Texts are a page each: a hundred random lines of the first 80 %. Languages take turns in two halves, by their codes:
``tune`` prints the tuning half for settings, ``run`` writes rows of both halves, ``table`` prints the held-out half.

    python benchmarks/typology_prior.py tune FOLDER --corpus eld:bul,isl,lav
    python benchmarks/typology_prior.py run FOLDER --corpus eld:bul,isl,lav
    python benchmarks/typology_prior.py table
"""

import argparse
import importlib.util
import itertools
import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protoglot.corpus.opening import open_corpus
from protoglot.reading import kernel, lexical
from protoglot.reading.characters import folded
from protoglot.reading.evidence import Evidence
from protoglot.reading.lexicons import (
    CHOICES,
    NUM_BUCKETS,
    NUM_RELATIVES,
    POOL,
    Choice,
    Lexicons,
)
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import Scorer
from protoglot.reading.shipped import shipped_scorer_path
from protoglot.typology import Typology

Floats = NDArray[np.float64]

ROWS = Path(__file__).parent / "results" / "typology-prior.jsonl"
LENGTHS = (10, 100, 1000, 5000)
NUM_SEEDS = 5
PAGE = 100
KINDS = ("family", "place", "typology")
STORED_BACKGROUND = 0.5  # share of all languages in the stored profiles
EARTH = 6371.0  # km, its radius
NEAR_BY = 300.0  # km that count as no distance worth telling apart


@dataclass(frozen=True)
class Settings:
    """How a reader uses what is known of a language."""

    near: str = ""
    """What near means: one of :data:`KINDS` or a sum of them; nothing is known if empty."""

    nats: float = 80.0
    """Advantage of a relative for each standard deviation that it is nearer."""

    reach: float = 2.0
    """Each standard deviation makes a language count e to this more often, where characters are counted."""

    trust: float = 0.5
    """Power of the counts so weighted over the plain ones; 0 leaves characters alone."""

    background: float = 0.5
    """Share of all languages in the trigrams of each."""

    points: tuple[int, ...] = CHOICES
    """Characters after which relatives are chosen."""

    built_in: bool = False
    """Whether it is the reader that is measured, rather than the experiment."""


CONDITIONS = {
    "without": Settings(),
    "built in": Settings(built_in=True),
    **{kind: Settings(near=kind) for kind in (*KINDS, "place and typology", "all")},
}
LABELS = {"without": "nothing", "built in": "its code, as built in"}
GRID = [
    *(Settings(near="all", nats=nats) for nats in (0.0, 5.0, 20.0, 80.0, 320.0)),
    *(Settings(near="all", reach=reach) for reach in (1.0, 4.0)),
    *(Settings(near="all", trust=trust) for trust in (0.0, 1.0)),
    Settings(near="all", background=0.05),
    Settings(near="all", points=CHOICES[2:]),
]


class Prior:
    """How near the languages of the lexicons are to each language asked for.

    Args:
        lexicons: whose languages are compared.
        codes: all languages that will be asked for, which set the scale.
    """

    def __init__(self, lexicons: Lexicons, codes: Sequence[str]) -> None:
        self._rows = {code: i for i, code in enumerate(codes)}
        typology = Typology.installed()
        measures: dict[str, Callable[[str, str], float]] = {
            "family": _family_distance(),
            "place": _place_distance(),
            "typology": lambda a, b: float(np.abs(typology.vector(a) - typology.vector(b)).mean()),
        }
        self.nearness: dict[str, Floats] = {}
        for kind, distance in measures.items():
            rows = [
                [distance(a, b) if typology.knows(a) and typology.knows(b) else math.nan for b in lexicons.codes]
                for a in codes
            ]
            # A language that URIEL does not have is far from all.
            self.nearness[kind] = -_scaled(np.nan_to_num(np.array(rows), nan=np.nanmax(rows)))
        self.nearness["place and typology"] = _scaled(self.nearness["place"] + self.nearness["typology"])
        self.nearness["all"] = _scaled(sum((self.nearness[kind] for kind in KINDS), np.zeros(())))

    def of(self, code: str, near: str) -> Floats:
        """Nearness of each language of the lexicons."""
        return np.asarray(self.nearness[near][self._rows[code]])


def _scaled(values: Floats) -> Floats:
    return np.asarray((values - values.mean(axis=1, keepdims=True)) / values.std())


def _uriel(name: str) -> tuple[list[str], dict[str, int], Floats]:
    """Names of features, rows of languages and values of a file of lang2vec, which is not imported."""
    spec = importlib.util.find_spec("lang2vec")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("lang2vec is not installed; wanted lang2vec 1.1.2")
    with np.load(Path(spec.submodule_search_locations[0]) / "data" / name, allow_pickle=False) as data:
        rows = {str(code): row for row, code in enumerate(data["langs"])}
        return [str(name) for name in data["feats"]], rows, data["data"][:, :, 0]


def _family_distance() -> Callable[[str, str], float]:
    _, rows, branches = _uriel("family_features.npz")

    def distance(a: str, b: str) -> float:
        first, second = branches[rows[a]], branches[rows[b]]
        size = math.sqrt(float(first.sum()) * float(second.sum()))
        return 1.0 - (float(first @ second) / size if size else 0.0)

    return distance


def _place_distance() -> Callable[[str, str], float]:
    names, rows, values = _uriel("geocoord_features.npz")
    degrees = np.array([[float(part) for part in name.split("_")[1:]] for name in names])
    latitude, longitude = np.radians(degrees.T)
    points = np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
    )

    @cache
    def place_of(code: str) -> Floats:
        # URIEL has distances to 299 points, as shares of the longest there is; they give the place back.
        place = np.linalg.lstsq(points, np.cos(np.pi * values[rows[code]]), rcond=None)[0]
        return np.asarray(place / np.linalg.norm(place))

    def distance(a: str, b: str) -> float:
        angle = math.acos(min(max(float(place_of(a) @ place_of(b)), -1.0), 1.0))
        return math.log1p(EARTH * angle / NEAR_BY)

    return distance


class Profiles:
    """What the lexicons hold, as the experiment needs it."""

    def __init__(self, lexicons: Lexicons, characters: Sequence[str]) -> None:
        stored = np.exp(lexicons.profiles.astype(np.float64))
        self.of_all = stored.mean(axis=0)
        self.own = np.maximum(stored - STORED_BACKGROUND * self.of_all, 0.0) / (1.0 - STORED_BACKGROUND)
        num_letters = len(lexicons.characters) + 1
        shares = []
        for code in lexicons.codes:
            words = lexicons.lists[code]
            counts = np.bincount(words.alphabet[words.letters], minlength=num_letters)
            shares.append(counts / max(int(counts.sum()), 1))
        share = np.array(shares)
        self.has_letter = share / (share + 1e-3)
        """(languages, letters) from 0 to 1; a letter that a language has in borrowed words only is near 0."""
        self.letters = np.array([lexicons.numbers.get(folded(c), 0) for c in characters], np.int64)

    @lru_cache(maxsize=8)  # noqa: B019 - lives as long as the program
    def log_trigrams(self, background: float) -> Floats:
        """Log probabilities of hashed trigrams, smoothed."""
        return np.asarray(np.log((1.0 - background) * self.own + background * self.of_all))

    def change_of_frequency(self, nearness: Floats, settings: Settings) -> Floats:
        """What is added to the log frequency of each character; nothing for those that are no letters."""
        weights = np.exp(settings.reach * (nearness - nearness.max()))
        near = (weights / weights.sum()) @ self.has_letter
        plain = self.has_letter.mean(axis=0)
        ratio = (0.1 * plain + 0.9 * near + 1e-4) / (plain + 1e-4)
        return np.where(self.letters > 0, settings.trust * np.log(ratio[self.letters]), 0.0)


class _Evidence(Evidence):
    """Evidence of relatives that are chosen by text and prior."""

    def __init__(
        self, lexicons: Lexicons, profiles: Profiles, nearness: Floats | None, settings: Settings
    ) -> None:
        super().__init__(lexicons)
        self._profiles = profiles
        self._nearness = nearness
        self._settings = settings

    def _choose_relatives(self) -> int:
        points = self._settings.points
        if self.length in points:
            letters = self.properties[self.text[: self.length], kernel.LETTER].astype(np.int64)
            letters[letters == lexical.END] = -1
            self.choice = self._choice(letters)
            self.shares[:] = self.choice.shares
        return min((point - self.length for point in points if point > self.length), default=4096)

    def _choice(self, letters: NDArray[np.int64]) -> Choice:
        counts = np.zeros(NUM_BUCKETS)
        lexical.count_trigrams(letters, counts)
        scores = self._profiles.log_trigrams(self._settings.background) @ counts
        if self._nearness is not None:
            scores = scores + self._settings.nats * self._nearness
        best = np.argsort(-scores, kind="stable")[:NUM_RELATIVES]
        shares = np.exp(0.1 * (scores[best] - scores[best[0]]))
        codes = tuple(self.lexicons.codes[row] for row in best)
        tables = tuple(self.lexicons.table(code) for code in (*codes, POOL))
        return Choice(tables, codes, shares / shares.sum())


class _Reader(Reader):
    def __init__(self, scorer: Scorer, profiles: Profiles, nearness: Floats | None, settings: Settings) -> None:
        super().__init__(scorer)
        self._evidence = _Evidence(scorer.lexicons, profiles, nearness, settings)
        if nearness is not None:
            self._change = profiles.change_of_frequency(nearness, settings)


class Experiment:
    """A scorer, and the languages that are read with it."""

    def __init__(self, scorer: Scorer, folder: Path, corpora: Iterable[str]) -> None:
        self.scorer = scorer
        self._sources = {path.stem: str(folder) for path in folder.glob("*.txt")}
        for corpus in corpora:
            name, _, codes = corpus.partition(":")
            self._sources |= dict.fromkeys(codes.split(","), name)
        self.codes = sorted(self._sources)
        self._profiles = Profiles(scorer.lexicons, scorer.first.characters)
        self._prior = Prior(scorer.lexicons, self.codes)

    @cache  # noqa: B019 - lives as long as the program
    def _lines(self, code: str) -> list[str]:
        return list(open_corpus(self._sources[code]).sentences(code))

    def text(self, code: str, seed: int) -> str:
        """A page."""
        lines = self._lines(code)
        return "".join(f"{line}\n" for line in random.Random(seed).sample(lines[: int(0.8 * len(lines))], PAGE))

    def bits(self, code: str, settings: Settings, lengths: Sequence[int]) -> dict[str, float]:
        """Bits/character of the begin of the pages; the longest of one page alone."""
        nearness = self._prior.of(code, settings.near) if settings.near else None
        found: dict[int, list[float]] = {length: [] for length in lengths}
        for seed in range(1, NUM_SEEDS + 1):
            wanted = [length for length in lengths if seed == 1 or length <= 1000]
            reader = (
                Reader(self.scorer, language=code)
                if settings.built_in
                else _Reader(self.scorer, self._profiles, nearness, settings)
            )
            bits = reader.read(self.text(code, seed)[: max(wanted)]).bits
            for length in wanted:
                found[length].append(float(bits[:length].mean()))
        return {str(length): float(np.mean(values)) for length, values in found.items()}


def tune(experiment: Experiment) -> None:
    """Print the tuning half for all settings of the grid."""
    codes = experiment.codes[::2]
    for settings in (CONDITIONS["without"], *GRID):
        rows = [experiment.bits(code, settings, LENGTHS[:-1]) for code in codes]
        means = [np.mean([row[str(length)] for row in rows]) for length in LENGTHS[:-1]]
        print(" ".join(f"{mean:.4f}" for mean in means), settings, flush=True)


def run(experiment: Experiment, scorer: Scorer) -> None:
    """Write the rows of all conditions that are not there yet, those of the held-out half first."""
    identity = scorer.identity[:12]
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()] if ROWS.exists() else []
    done = {(row["language"], row["condition"]) for row in rows if row["scorer"] == identity}
    ROWS.parent.mkdir(exist_ok=True)
    for half, codes in (("held out", experiment.codes[1::2]), ("tuning", experiment.codes[::2])):
        for code, (condition, settings) in itertools.product(codes, CONDITIONS.items()):
            if (code, condition) in done:
                continue
            found = experiment.bits(code, settings, LENGTHS)
            row = {
                "scorer": identity,
                "language": code,
                "half": half,
                "condition": condition,
                "bits": {length: round(bits, 6) for length, bits in found.items()},
            }
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def table(half: str) -> str:
    """Means over the languages of a half, and gains with their standard errors over languages."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    bits: dict[str, Floats] = {}
    for condition in CONDITIONS:
        chosen = [row["bits"] for row in rows if row["half"] == half and row["condition"] == condition]
        if chosen:
            bits[condition] = np.array([[found[str(length)] for length in LENGTHS] for found in chosen])
    head = [f"{length:,}" for length in LENGTHS]
    lines = [
        "| known of the language | " + " | ".join(head) + " | gain at 1,000 |",
        "|---|" + "---|" * (len(LENGTHS) + 1),
    ]
    for condition, found in bits.items():
        cells = [f"{mean:.3f}" for mean in found.mean(axis=0)]
        cells.append(_gain(bits["without"][:, 2], found[:, 2]) if condition != "without" else "")
        lines.append("| " + " | ".join([LABELS.get(condition, condition), *cells]) + " |")
    return "\n".join(lines)


def _gain(before: Floats, after: Floats) -> str:
    gain = 100.0 * (before - after) / before.mean()
    return f"{gain.mean():.2f} ± {gain.std(ddof=1) / math.sqrt(len(gain)):.2f} %"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("tune", "run", "table"))
    parser.add_argument("folder", type=Path, nargs="?", help="files CODE.txt, a line a sentence")
    parser.add_argument("--corpus", action="append", default=[], help="further languages, as CORPUS:CODE,CODE")
    parser.add_argument("--scorer", type=Path, help="directory of a scorer; the installed one if not given")
    parser.add_argument("--half", choices=("held out", "tuning"), default="held out")
    arguments = parser.parse_args()
    if arguments.command != "table":
        if arguments.folder is None:
            parser.error("tune and run need a folder of texts")
        scorer = Scorer.load(arguments.scorer or shipped_scorer_path())
        experiment = Experiment(scorer, arguments.folder, arguments.corpus)
        if arguments.command == "tune":
            return tune(experiment)
        run(experiment, scorer)
    print(table(arguments.half))
    return None


if __name__ == "__main__":
    main()
