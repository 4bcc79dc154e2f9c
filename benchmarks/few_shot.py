"""Zero-shot and few-shot scores of all methods on the held-out languages of some priors, beside the paper's figures.

``run --corpus PATH --prior DIR [--prior DIR ...]`` adds rows to ``benchmarks/results/few-shot/``; rows that are there
are not made again, so it can be stopped at any time. Two processes may share the work (``--share 1/2``, ``--share
2/2``, each with ``--threads 1``). ``epochs`` compares methods on validation languages, for several numbers of
sentences and epochs, without dropout. ``table`` makes the tables in the documentation from the rows: those of the
preset ``compact`` if there are any, else those of ``plain``.

Every model is scored on the same characters: the first sentences of each language's test part.
"""

import argparse
import csv
import json
import math
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environment import RESULTS, describe_environment

from protoglot.storage import write_atomically

KEPT = RESULTS / "few-shot"
DOCS = Path(__file__).parent.parent / "docs"
TABLE = DOCS / "few-shot-table.md"
EPOCHS = KEPT / "epochs.jsonl"
EPOCHS_TABLE = DOCS / "few-shot-epochs.md"
PAPER = Path(__file__).parent.parent / "src" / "protoglot" / "data" / "paper_scores.csv"
METHODS = ("ninf", "fitu", "univ", "l2-sp", "hier")
NAMES = {
    "ninf": "NINF",
    "fitu": "FITU",
    "univ": "UNIV",
    "l2-sp": "L2-SP",
    "hier": "HIER",
    "n-gram": "n-gram, chosen on validation languages",
    "4-gram": "4-gram, Witten-Bell",
    "calibrated": "UNIV, calibrated",
}
LOG_2 = math.log(2)

Row = dict[str, Any]


def main() -> None:
    """Run or tabulate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run")
    running.add_argument("--corpus", required=True)
    running.add_argument("--prior", type=Path, action="append", required=True)
    running.add_argument("--samples", type=int, default=3)
    running.add_argument("--sentences", type=int, default=100)
    running.add_argument("--characters", type=int, default=12_000, help="of each language's test part to score")
    running.add_argument("--methods", default=",".join(METHODS))
    running.add_argument("--share", default="1/1")
    running.add_argument("--threads", type=int)
    comparing = actions.add_parser("epochs")
    comparing.add_argument("--corpus", required=True)
    comparing.add_argument("--prior", type=Path, required=True)
    comparing.add_argument("--languages", default="hun,tgl")
    comparing.add_argument("--characters", type=int, default=6_000)
    comparing.add_argument("--threads", type=int)
    actions.add_parser("table")
    arguments = parser.parse_args()
    if arguments.action == "run":
        run(arguments)
    elif arguments.action == "epochs":
        compare_epochs(arguments)
    else:
        write_atomically(TABLE, make_tables(read_rows()))
        print(f"written {TABLE}")
        if read_epochs():
            write_atomically(EPOCHS_TABLE, make_epochs_table(read_epochs()))
            print(f"written {EPOCHS_TABLE}")


def run(arguments: argparse.Namespace) -> None:
    """Make the rows that are missing."""
    import torch

    from protoglot.corpus.opening import open_corpus
    from protoglot.prior.universal import UniversalPrior
    from protoglot.splits import enough_sentences, few_shot_sample, split_sentences

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    share, number = (int(part) for part in arguments.share.split("/"))
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / ("rows.jsonl" if number == 1 else f"rows-{share}.jsonl")
    done = {key_of(row) for row in read_rows()}
    corpus = open_corpus(arguments.corpus)
    priors = [UniversalPrior.load(each) for each in arguments.prior]
    methods = arguments.methods.split(",")
    environment = describe_environment()
    for sample in range(arguments.samples):
        for prior in priors:
            for code in sorted(prior.mean.fold.held_out)[share - 1 :: number]:
                split = split_sentences(corpus.sentences(code))
                text = enough_sentences(split.test, arguments.characters)
                few = few_shot_sample(split.train, arguments.sentences, language=code, seed=sample)
                for row in score_language(prior, code, few, text, sample, methods, done):
                    done.add(key_of(row))
                    with path.open("a", encoding="ascii") as file:
                        file.write(json.dumps({**row, "environment": environment["processor"]}) + "\n")
                    bits = row["nats"] / row["characters"] / LOG_2
                    print(
                        code, sample, row["conditioning"], row["method"], f"{bits:.3f}", row["seconds"], flush=True
                    )


def score_language(
    prior: Any,  # noqa: ANN401 - a UniversalPrior: importing it takes seconds that ``table`` need not spend
    code: str,
    sentences: tuple[str, ...],
    text: tuple[str, ...],
    sample: int,
    methods: list[str],
    done: set[tuple[Any, ...]],
) -> Iterator[Row]:
    """Rows of one language and sample that are not done yet."""
    from protoglot.adaptation import learn_language
    from protoglot.ngram import NGram
    from protoglot.prior.methods import Method

    conditioning = str(prior.mean.model.config.conditioning)
    preset = preset_of(prior)
    features = prior.mean.features.get(code)
    base = {
        "kind": "score",
        "preset": preset,
        "language": code,
        "partition": int(prior.mean.fold.name) if prior.mean.fold.name.isdecimal() else None,
        "seed": 0,
        "network": None,
    }

    def make(method: str, score: Any, seconds: float, *, zero: bool = False, **more: Any) -> Row:  # noqa: ANN401
        return {
            **base,
            "regime": "zero-shot" if zero else "few-shot",
            "conditioning": conditioning,
            "method": method,
            "sentences": 0 if zero else len(sentences),
            "sample": None if zero else sample,
            "nats": score.nats,
            "characters": score.num_characters,
            "seconds": round(seconds, 2),
            **more,
        }

    def missing(method: str, regime: str, condition: str | None = conditioning) -> bool:
        number = None if regime == "zero-shot" else sample
        return (preset, code, condition, method, regime, number) not in done

    def learn(chosen: tuple[str, ...], method: str) -> Any:  # noqa: ANN401
        settings = prior.settings_for(Method(method))
        return learn_language(prior, chosen, language=code, features=features, config=settings)

    for method in ("ninf", "univ", "calibrated"):
        if missing(method, "zero-shot"):
            start = time.monotonic()
            model = learn_language(
                prior,
                (),
                features=features,
                config=prior.settings_for(Method.NINF if method == "ninf" else Method.UNIV),
            )
            score = model.score(text) if method == "calibrated" else uncalibrated(model).score(text)
            yield make(method, score, time.monotonic() - start, zero=True)
    best = str(prior.tuned.best)
    for method in methods:
        rivals = [name for name in ("n-gram", "4-gram") if method == best and missing(name, "few-shot", None)]
        if not rivals and not missing(method, "few-shot"):
            continue
        start = time.monotonic()
        model = learn(sentences, method)
        seconds = time.monotonic() - start
        if missing(method, "few-shot"):
            yield make(method, model.score(text), seconds)
        for name in rivals:
            four = NGram.train(sentences, model.vocabulary, order=4)
            score = model.ngram.score(text) if name == "n-gram" else four.score(text)
            yield make(name, score, 0.0, conditioning=None)


def compare_epochs(arguments: argparse.Namespace) -> None:
    """Learning from scratch, fine-tuning and the universal prior, after few and many epochs, without dropout."""
    from dataclasses import replace

    import torch

    from protoglot.adaptation import adapt
    from protoglot.adapted import AdaptedModel
    from protoglot.corpus.opening import open_corpus
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.splits import enough_sentences, few_shot_sample, split_sentences

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    prior, corpus = UniversalPrior.load(arguments.prior), open_corpus(arguments.corpus)
    KEPT.mkdir(parents=True, exist_ok=True)
    done = {tuple(row[key] for key in _EPOCH_KEYS) for row in read_epochs()}
    for code in arguments.languages.split(","):
        split = split_sentences(corpus.sentences(code))
        text = enough_sentences(split.development, arguments.characters)
        features = prior.mean.features_of(code)
        for number in (10, 30, 100):
            sentences = few_shot_sample(split.train, number, language=code, seed=0)
            for name, strength in _COMPARED:
                method = Method(name)
                for epochs in (6, 24):
                    if (code, number, name, strength, epochs) in done:
                        continue
                    settings = replace(
                        prior.settings_for(method),
                        strength=strength,
                        dropout=0.0,
                        num_epochs=epochs,
                        learning_rate=2e-3,
                        batch_size=4,
                    )
                    network, vocabulary = adapt(prior, sentences, features, settings)
                    vector = prior.mean.features.get(code)
                    model = AdaptedModel(network=network, vocabulary=vocabulary, features=vector, num_characters=1)
                    score = model.score(text)
                    row = {
                        "language": code,
                        "sentences": number,
                        "method": name,
                        "epochs": epochs,
                        "strength": strength,
                        "nats": score.nats,
                        "characters": score.num_characters,
                    }
                    with EPOCHS.open("a", encoding="ascii") as file:
                        file.write(json.dumps(row) + "\n")
                    print(code, number, name, strength, epochs, f"{score.bits_per_character:.3f}", flush=True)


_COMPARED = (("ninf", 1e-5), ("fitu", 0.0), ("univ", 1e-3), ("univ", 1e-2))
"""Methods with their strengths."""

_EPOCH_KEYS = ("language", "sentences", "method", "strength", "epochs")


def read_epochs() -> list[Row]:
    """Rows of the comparison of epochs."""
    if not EPOCHS.is_file():
        return []
    lines = EPOCHS.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def make_epochs_table(rows: list[Row]) -> str:
    """Mean bits per character by sentences, method and epochs, over the languages that have all of them."""
    epochs = sorted({row["epochs"] for row in rows})
    lines = [
        "| sentences | method | " + " | ".join(f"{number} epochs" for number in epochs) + " |",
        "|---:|---|" + "---:|" * len(epochs),
    ]
    for number in sorted({row["sentences"] for row in rows}):
        for method, strength in _COMPARED:
            cells = []
            for epoch in epochs:
                chosen = [
                    row["nats"] / row["characters"] / LOG_2
                    for row in rows
                    if (row["sentences"], row["method"], row["strength"], row["epochs"])
                    == (number, method, strength, epoch)
                ]
                cells.append(f"{statistics.fmean(chosen):.3f}" if chosen else "–")
            name = f"{NAMES[method]}, strength {strength:g}" if method == "univ" else NAMES[method]
            lines.append(f"| {number} | {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def uncalibrated(model: Any) -> Any:  # noqa: ANN401
    """A zero-shot model without its calibration."""
    from dataclasses import replace

    return replace(model, calibration=None, frequencies=None)


def key_of(row: Row) -> tuple[Any, ...]:
    """What makes a row the same as another."""
    return (
        preset_of_row(row),
        row["language"],
        row["conditioning"],
        row["method"],
        row["regime"],
        row["sample"],
    )


def preset_of(prior: Any) -> str:  # noqa: ANN401
    """The preset that the network of a prior has the shape of; sizes that its conditioning has no use for are not."""
    from dataclasses import replace

    from protoglot.model.config import PRESETS

    config = prior.mean.model.config
    sizes = {
        f"{kind}_size": getattr(config, f"{kind}_size") for kind in ("oest", "plat") if kind != config.conditioning
    }
    names = [
        name
        for name, preset in PRESETS.items()
        if replace(preset, conditioning=config.conditioning, **sizes) == config
    ]
    return names[0] if names else "other"


def preset_of_row(row: Row) -> str:
    """The same of a row; those that do not say it are of ``plain``."""
    return str(row.get("preset", "plain"))


def read_rows() -> list[Row]:
    """All rows that are kept, a last line that was cut off left out."""
    rows = []
    for path in sorted(KEPT.glob("rows*.jsonl")):
        rows += [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return rows


def bits_of(rows: list[Row]) -> dict[tuple[Any, ...], dict[str, dict[int | None, float]]]:
    """Bits per character by (regime, conditioning, method), language and sample."""
    found: dict[tuple[Any, ...], dict[str, dict[int | None, float]]] = {}
    for row in rows:
        setting = (row["regime"], row["conditioning"], row["method"])
        by_language = found.setdefault(setting, {})
        by_language.setdefault(row["language"], {})[row["sample"]] = row["nats"] / row["characters"] / LOG_2
    return found


def average(by_language: dict[str, dict[int | None, float]]) -> tuple[float, float | None, int]:
    """Mean over languages of means over samples, its standard error over samples, and the number of samples.

    Only samples that every language has count towards the standard error.
    """
    mean = statistics.fmean(statistics.fmean(values.values()) for values in by_language.values())
    common = set.intersection(*(set(values) for values in by_language.values()))
    order = sorted(common, key=str)
    per_sample = [statistics.fmean(values[sample] for values in by_language.values()) for sample in order]
    error = statistics.stdev(per_sample) / math.sqrt(len(per_sample)) if len(per_sample) > 1 else None
    return mean, error, len(per_sample)


def make_tables(rows: list[Row]) -> str:
    """The averages, and the scores of each language, with priors of one preset: ``compact`` if it has rows."""
    preset = "compact" if any(preset_of_row(row) == "compact" for row in rows) else "plain"
    found = bits_of([row for row in rows if preset_of_row(row) == preset])
    with PAPER.open(encoding="utf-8", newline="") as stream:
        paper = {row["code"]: row for row in csv.DictReader(stream)}
    return "\n".join([*_averages(found, paper), "", *_languages(found, paper), ""])


_PAPER_COLUMNS = {
    ("zero-shot", "bare", "ninf"): "zero_ninf_bare",
    ("zero-shot", "bare", "univ"): "zero_univ_bare",
    ("zero-shot", "oest", "univ"): "zero_univ_oest",
    ("few-shot", "bare", "ninf"): "few_ninf_bare",
    ("few-shot", "oest", "fitu"): "few_fitu_oest",
    ("few-shot", "bare", "univ"): "few_univ_bare",
    ("few-shot", "oest", "univ"): "few_univ_oest",
}


def _averages(found: dict[tuple[Any, ...], Any], paper: dict[str, Row]) -> list[str]:
    lines = [
        "| setting | method | conditioning | bits/character | samples | of n-gram | below n-gram | of 4-gram | paper |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for regime in ("zero-shot", "few-shot"):
        for method in NAMES:
            for conditioning in (None, "bare", "oest"):
                setting = (regime, conditioning, method)
                if setting not in found:
                    continue
                mean, error, samples = average(found[setting])
                scores = f"{mean:.3f}" + (f" ± {error:.3f}" if error is not None else "")
                share, below = _against(found, setting, "n-gram")
                of_four, _ = _against(found, setting, "4-gram")
                column = _PAPER_COLUMNS.get(setting)
                theirs = "–"
                if column:
                    theirs = f"{statistics.fmean(float(paper[code][column]) for code in found[setting]):.3f}"
                lines.append(
                    f"| {regime} | {NAMES[method]} | {(conditioning or '–').upper()} | {scores} | "
                    f"{samples if regime == 'few-shot' else '–'} | {share} | {below} | {of_four} | {theirs} |"
                )
    return lines


def _against(found: dict[tuple[Any, ...], Any], setting: tuple[Any, ...], rival: str) -> tuple[str, str]:
    """A method's mean over that of an n-gram, and in how many languages it pays less; over what both have."""
    others = found.get(("few-shot", None, rival), {})
    shared = [code for code in found[setting] if code in others]
    if setting[0] != "few-shot" or setting[2] == rival or not shared:
        return "–", "–"
    pairs = [_shared_mean(found[setting], others, code) for code in shared]
    share = statistics.fmean(ours for ours, _ in pairs) / statistics.fmean(theirs for _, theirs in pairs)
    return f"{share:.3f}", f"{sum(ours < theirs for ours, theirs in pairs)} / {len(pairs)}"


def _shared_mean(ours: Any, rival: Any, code: str) -> tuple[float, float]:  # noqa: ANN401
    """Means of a method and of the n-gram over the samples that both have."""
    shared = set(ours[code]) & set(rival[code])
    return (
        statistics.fmean(ours[code][sample] for sample in shared),
        statistics.fmean(rival[code][sample] for sample in shared),
    )


_COLUMNS = (
    ("zero UNIV-BARE", ("zero-shot", "bare", "univ")),
    ("zero calibrated", ("zero-shot", "bare", "calibrated")),
    ("few n-gram", ("few-shot", None, "n-gram")),
    ("few NINF-BARE", ("few-shot", "bare", "ninf")),
    ("few FITU-OEST", ("few-shot", "oest", "fitu")),
    ("few UNIV-BARE", ("few-shot", "bare", "univ")),
    ("few UNIV-OEST", ("few-shot", "oest", "univ")),
)


def _languages(found: dict[tuple[Any, ...], Any], paper: dict[str, Row]) -> list[str]:
    """One row per language; the paper's figure in brackets."""
    present = [(title, setting) for title, setting in _COLUMNS if setting in found]
    lines = [
        "| language | " + " | ".join(title for title, _ in present) + " |",
        "|---|" + "---:|" * len(present),
    ]
    codes = sorted({code for _, setting in present for code in found[setting]})
    for code in codes:
        cells = []
        for _, setting in present:
            values = list(found[setting].get(code, {}).values())
            cell = "–"
            if values:
                cell = f"{statistics.fmean(values):.3f}"
                if len(values) > 1:
                    cell += f" ± {statistics.stdev(values) / math.sqrt(len(values)):.3f}"
            if setting in _PAPER_COLUMNS:
                cell += f" ({float(paper[code][_PAPER_COLUMNS[setting]]):.3f})"
            cells.append(cell)
        lines.append(f"| {code} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    main()
