"""The systems of the reading benchmark: readers, general compressors, n-grams, and methods of the paper.

Measures, in bits of a text whose characters are counted with its line feeds:

- ``page``: the page from nothing; ``first10`` and ``first30``: its first 10 and 30 sentences;
- ``on``: the test in order after the page, learning on;
- ``static100``, ``static30``, ``static10``: each line of the test after so many sentences of the page, alone: what was
  learned in it is undone before the next line.

The n-gram does not learn within a line; for ``page`` and ``on`` it is estimated anew after each. Networks
have no ``page``; for ``on`` their state is carried through the test and their weights stay as the page left them. The
network that learns online reads page and test as one stream, and has no ``static``.

On the page curve UNIV is adapted anew, from w*, whenever the number of sentences has doubled, to all there are. It then
reads them once more, which costs nothing, so that its state is carried into what comes next.
"""

import csv
import hashlib
import importlib.metadata
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from reading_texts import EBIBLE, ELD, PAGE, Material, join

from protoglot.reading.lexicons import Lexicons

if TYPE_CHECKING:
    from protoglot.reading.scorer import Scorer

LEVELS = (10, 30, PAGE)
MEASURES = ("page", "first10", "first30", "on", "static100", "static30", "static10")
NGRAM_ORDER = 7
PPMD_ORDER = 6
PPMD_ORDER_ON = 8
PPMD_MEMORY = 16 << 20

READERS: dict[str, dict[str, bool]] = {
    "reader": {},
    "fast": {"with_letters": False},
    "offline": {"learn_online": False},
    "no-words": {},
    "told": {},
}
NO_WORDS = "no-words"
"""The reader without the word lists of other languages."""

TOLD = "told"
"""The reader that gets the code of the language before it reads; the others get text and nothing else."""

NETWORKS = ("univ", "fitu")
"""Methods of the paper."""

ONLINE = "univ-online"
NO_CURVE = ("fitu", "paq8px", NO_WORDS, TOLD)
"""Systems that are not on the page curve."""

LABELS = {
    "reader": "reader",
    "fast": "reader `--fast`",
    "offline": "reader, no online weights",
    "no-words": "reader, no word lists",
    "told": "reader, told the language",
    "paq8px": "paq8px 216 `-5` (measured elsewhere)",
    "ppmd": "PPMd",
    "ngram": f"n-gram (Kneser-Ney {NGRAM_ORDER})",
    "univ": "LSTM, UNIV",
    ONLINE: "LSTM, UNIV with online MAP",
    "fitu": "LSTM, FITU",
}
BY_DEFAULT = ("reader", "fast", "offline", "told", "paq8px", "ppmd", "ngram")

# paq8px on the news: page, reading on. Facts of another program, from the README beside compressors.csv.
PAQ8PX_NEWS = {
    "aze": (3.324, 2.751),
    "cat": (3.090, 2.625),
    "kur": (2.523, 1.984),
    "msa": (2.743, 2.302),
    "yor": (3.501, 2.952),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """Where systems find what they need."""

    scorer: str | None = None
    """Directory of another scorer than the installed one."""

    anchors: str | None = None
    """compressors.csv, or its folder: the figures of paq8px."""


@dataclass(slots=True)
class Measured:
    """Bits, characters and seconds by measure."""

    bits: dict[str, float] = field(default_factory=dict)
    characters: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, measure: str, text: Sequence[str], bits: float, start: float) -> None:
        """Put a measure down."""
        self.bits[measure] = bits
        self.characters[measure] = len(join(text))
        self.seconds[measure] = round(time.perf_counter() - start, 3)


def identity_of(system: str, setting: Setting) -> str:
    """What of a system may change from run to run: another identity makes another row."""
    if system in READERS:
        return load_scorer(setting.scorer).identity
    if system in NETWORKS or system == ONLINE:
        from protoglot.artefacts import HEADER
        from protoglot.shipped import shipped_prior

        found = hashlib.sha256((shipped_prior() / HEADER).read_bytes())
        if system == ONLINE:
            from protoglot.online_adaptation import OnlineConfig

            found.update(repr(OnlineConfig()).encode())
        return found.hexdigest()
    return f"pyppmd {ppmd_version()}" if system == "ppmd" else ""


def measure(system: str, material: Material, setting: Setting) -> Measured | None:
    """All measures of a system on a language; ``None`` where nothing is known of it."""
    if system in READERS:
        language = material.source.language if system == TOLD else ""
        scorer = load_scorer(setting.scorer)
        if system == NO_WORDS:
            scorer = replace(scorer, lexicons=Lexicons.none())
        return measure_reader(scorer, material, language=language, **READERS[system])
    if system in NETWORKS:
        return measure_network(material, system)
    if system == ONLINE:
        return measure_online(material)
    if system == "paq8px":
        return paq8px_figures(material, setting.anchors)
    return measure_ppmd(material) if system == "ppmd" else measure_ngram(material)


def measure_reader(scorer: "Scorer", material: Material, *, language: str = "", **options: bool) -> Measured:
    """A reader."""
    from protoglot.reading.reader import Reader

    found = Measured()
    reader = Reader(scorer, language=language, **options)
    begin, pieces = time.perf_counter(), [0.0]
    scoring = 0.0  # seconds that do not belong to the page
    for first, last in pairwise((0, *LEVELS)):
        pieces.append(reader.read(join(material.page[first:last])).total_bits)
        name = "page" if last == PAGE else f"first{last}"
        found.add(name, material.page[:last], math.fsum(pieces), begin + scoring)
        if material.test:
            start = time.perf_counter()
            twin = reader.copy()
            bits = math.fsum(twin.score(join([line])).total_bits for line in material.test)
            found.add(f"static{last}", material.test, bits, start)
            scoring += time.perf_counter() - start
    if material.test:
        start = time.perf_counter()
        found.add("on", material.test, reader.read(join(material.test)).total_bits, start)
    return found


def measure_ppmd(material: Material) -> Measured:
    """PPMd, by the sizes of what it writes."""
    found = Measured()
    for level in LEVELS:
        page, start = join(material.page[:level]), time.perf_counter()
        name = "page" if level == PAGE else f"first{level}"
        size = ppmd_size(page)
        found.add(name, material.page[:level], 8 * size, start)
        if material.test:
            start = time.perf_counter()
            bits = 8 * sum(ppmd_size(page + join([line])) - size for line in material.test)
            found.add(f"static{level}", material.test, bits, start)
    if material.test:
        page, start = join(material.page), time.perf_counter()
        order = PPMD_ORDER if material.source.corpus == ELD else PPMD_ORDER_ON  # as the other figures of the news
        size = ppmd_size(page + join(material.test), order) - ppmd_size(page, order)
        found.add("on", material.test, 8 * size, start)
    return found


def measure_ngram(material: Material) -> Measured:
    """The n-gram."""
    found = Measured()
    start = time.perf_counter()
    costs = [ngram_bits(material.page[:i], [line]).sum() for i, line in enumerate(material.page)]
    taken = time.perf_counter() - start
    for level in LEVELS:
        name = "page" if level == PAGE else f"first{level}"
        found.add(name, material.page[:level], math.fsum(costs[:level]), time.perf_counter() - taken)
        if material.test:
            start = time.perf_counter()
            bits = math.fsum(ngram_bits(material.page[:level], material.test))
            found.add(f"static{level}", material.test, bits, start)
    if material.test:
        start, text = time.perf_counter(), [*material.page, *material.test]
        costs = [ngram_bits(text[:i], [text[i]]).sum() for i in range(len(material.page), len(text))]
        found.add("on", material.test, math.fsum(costs), start)
    return found


def measure_network(material: Material, method: str) -> Measured | None:
    """A method of the paper."""
    if not material.test:
        return None
    from protoglot.devices import prepare_cpu

    prepare_cpu(1)
    found = Measured()
    for level in LEVELS:
        start, page = time.perf_counter(), material.page[:level]
        language = material.source.language
        model = paper_model(page, language, method)
        nats = math.fsum(model.score([line]).nats for line in material.test)
        found.add(f"static{level}", material.test, nats / math.log(2), start)
    start = time.perf_counter()
    found.add("on", material.test, model.score(material.test).nats / math.log(2), start)
    return found


def paper_model(page: Sequence[str], language: str, method: str) -> Any:  # noqa: ANN401 - the api is imported late
    """A network that a method of the paper made of some sentences."""
    from protoglot.api import load_prior
    from protoglot.errors import TypologyError

    prior = load_prior()
    try:
        return prior.adapt(page, language=language, method=method)
    except TypologyError:
        return prior.adapt(page, method=method)


def measure_online(material: Material) -> Measured:
    """The network of the prior, which reads from nothing and learns by online MAP."""
    model = online_model(material.source.language)
    found = Measured()
    start, pieces = time.perf_counter(), [0.0]
    for first, last in pairwise((0, *LEVELS)):
        pieces.append(float(model.read(join(material.page[first:last])).sum()))
        name = "page" if last == PAGE else f"first{last}"
        found.add(name, material.page[:last], math.fsum(pieces), start)
    if material.test:
        start = time.perf_counter()
        found.add("on", material.test, float(model.read(join(material.test)).sum()), start)
    return found


def online_model(language: str) -> Any:  # noqa: ANN401 - imported late
    """The network of the prior before it has read anything."""
    import torch

    from protoglot.devices import prepare_cpu
    from protoglot.online_adaptation import OnlineAdaptation

    prepare_cpu(1)
    prior = universal_prior()
    features = typology_of(prior, language)
    return OnlineAdaptation(prior, None if features is None else torch.from_numpy(features))


@lru_cache(maxsize=1)
def universal_prior() -> Any:  # noqa: ANN401 - imported late
    """The installed prior."""
    from protoglot.prior.universal import UniversalPrior
    from protoglot.shipped import shipped_prior

    return UniversalPrior.load(shipped_prior())


def typology_of(prior: Any, language: str) -> NDArray[np.float32] | None:  # noqa: ANN401 - imported late
    """The typological vector of a language; of one that is not known, the mean of the training languages."""
    from protoglot.errors import TypologyError
    from protoglot.prior.features import features_for

    try:
        return features_for(prior, language).vector
    except TypologyError:
        return features_for(prior, None).vector


def paq8px_figures(material: Material, anchors: str | None) -> Measured | None:
    """What paq8px was measured to need, from a table; bits per character times the characters here."""
    corpus, language = material.source.corpus, material.source.language
    page, on = PAQ8PX_NEWS.get(language, (None, None)) if corpus == ELD else (None, None)
    if corpus == EBIBLE and anchors is not None:
        row = read_anchors(anchors).get(language)
        if row is not None:
            page, on = float(row["paq8px_page"]), float(row["paq8px_online"])
    if page is None or on is None:
        return None
    found = Measured()
    for name, text, bits in (("page", material.page, page), ("on", material.test, on)):
        found.add(name, text, bits * len(join(text)), time.perf_counter())
    return found


@lru_cache(maxsize=1)
def read_anchors(anchors: str) -> dict[str, dict[str, str]]:
    """Rows of compressors.csv by language."""
    path = Path(anchors)
    with (path / "compressors.csv" if path.is_dir() else path).open(encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


@lru_cache(maxsize=1)
def load_scorer(path: str | None) -> "Scorer":
    """The installed scorer, or another one; what is compiled when a reader first reads is compiled here."""
    from protoglot.reading.reader import Reader
    from protoglot.reading.scorer import Scorer
    from protoglot.reading.shipped import shipped_scorer

    scorer = shipped_scorer() if path is None else Scorer.load(Path(path))
    Reader(scorer).score("a\n")
    return scorer


def ppmd_version() -> str:
    """Release of the package.

    Raises:
        SystemExit: if it is not installed.
    """
    try:
        return importlib.metadata.version("pyppmd")
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit('PPMd: not installed; wanted the extra ppmd (pip install "protoglot[ppmd]")') from None


def ppmd_size(text: str, order: int = PPMD_ORDER) -> int:
    """Bytes of a compressed text."""
    import pyppmd

    encoder = pyppmd.Ppmd7Encoder(order, PPMD_MEMORY)
    return len(encoder.encode(text.encode("utf-8"))) + len(encoder.flush())


def ngram_bits(learned: Sequence[str], sentences: Sequence[str]) -> NDArray[np.float64]:
    """Bits of every character and end of some sentences under the n-gram of others; new characters are named."""
    from protoglot.ngram import NGram, Smoothing
    from protoglot.vocabulary import Vocabulary

    vocabulary = Vocabulary.of(learned)
    if learned:
        ngram = NGram.train(learned, vocabulary, order=NGRAM_ORDER, smoothing=Smoothing.KNESER_NEY)
        nats = ngram.nats(sentences)
    else:  # the end of the sentence or some character
        nats = np.full(len(join(sentences)), math.log(2))
    for position, character in enumerate(join(sentences)):
        if character != "\n" and character not in vocabulary:
            nats[position] += vocabulary.other_nats(character)
    return nats / math.log(2)


# Cumulative bits of a text at some numbers of characters: the page curve.


def trace(system: str, text: str, points: Sequence[int], setting: Setting, *, language: str = "") -> list[float]:
    """Bits of the first 0, ... characters of a text, at points that rise from 0."""
    if system in ("univ", ONLINE):
        read = text[: points[-1]]
        bits = univ_bits(read, language) if system == "univ" else online_model(language).read(read)
        return [math.fsum(bits[:point]) for point in points]
    if system in READERS:
        from protoglot.reading.reader import Reader

        bits = Reader(load_scorer(setting.scorer), **READERS[system]).read(text[: points[-1]]).bits
        return [math.fsum(bits[:point]) for point in points]
    if system == "ppmd":
        empty = ppmd_size("")
        return [8.0 * (ppmd_size(text[:point]) - empty) for point in points]
    stretches = [float(bits.sum()) for bits in ngram_stretches(text, points, ngram_bits)]
    return [math.fsum(stretches[:i]) for i in range(len(points))]


def univ_bits(text: str, language: str) -> NDArray[np.float64]:
    """Bits of every character of a text under UNIV, which learns whenever the number of sentences has doubled."""
    from protoglot.adaptation import learn_language
    from protoglot.devices import prepare_cpu
    from protoglot.prior.methods import Method

    prepare_cpu(1)
    prior, lines = universal_prior(), text.split("\n")
    config, features = prior.settings_for(Method.UNIV), typology_of(prior, language)
    ends = [2**i for i in range(len(lines).bit_length()) if 2**i < len(lines)]
    pieces: list[NDArray[np.float64]] = []
    for first, last in pairwise((0, *ends, len(lines))):
        model = learn_language(prior, lines[:first], features=features, config=config)
        pieces.append(model.nats(lines[:last])[len(join(lines[:first])) :])
    return np.concatenate(pieces)[: len(text)] / math.log(2)  # without the end of a line that was cut


def ngram_stretches(
    text: str, points: Sequence[int], costs: Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
) -> Iterator[NDArray[np.float64]]:
    """Bits of the characters between points, under the n-gram of the text before the first of both.

    A sentence that has begun is learned from as far as it goes.
    """
    lines = text.split("\n")
    begins = np.cumsum([0, *(len(line) + 1 for line in lines)])
    for start, stop in pairwise(points):
        first = int(np.searchsorted(begins, start, side="right")) - 1
        last = int(np.searchsorted(begins, stop, side="left"))
        begun = lines[first][: start - begins[first]]
        found = costs([*lines[:first], *([begun] if begun else [])], lines[first:last])
        yield found[start - begins[first] : stop - begins[first]]
