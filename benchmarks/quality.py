"""What the installed prior is worth on languages outside its training set, from 10, 30 and 100 sentences.

Models are made as ``protoglot adapt`` makes them: some of the sentences are held out first, to see how far the mixture
is to be trusted. ``run`` scores five languages of eld (news, not Bibles), and with ``--bibles PATH`` the nine Bible
texts that the prior was not trained on; with ``--udhr`` also eight translations of the Universal Declaration, which
are too short for 100 sentences. Rows that are there are not made again. ``table`` makes the table in the documentation
from the rows.
"""

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

from environment import RESULTS

from protoglot.storage import write_atomically

ROWS = RESULTS / "quality.jsonl"
TABLE = Path(__file__).parent.parent / "docs" / "model-card-scores.md"
ELD = ("aze", "cat", "kur", "msa", "yor")
BIBLES = ("afr", "dje", "est", "kek", "mri", "slk", "som", "tur", "xho")
UDHR = ("cym", "fij", "gle", "hau", "lug", "mlt", "sme", "uzn")
NUMBERS = (100, 30, 10)
LOG_2 = math.log(2)

Row = dict[str, Any]


def main() -> None:
    """Run or tabulate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run")
    running.add_argument("--prior", type=Path, help="another prior than the installed one")
    running.add_argument("--bibles", metavar="PATH", help="folder of the Bible texts")
    running.add_argument("--udhr", action="store_true")
    running.add_argument("--methods", default="", help="further methods to score alone, such as fitu,univ")
    running.add_argument("--threads", type=int, help="cores to use [default: all]")
    running.add_argument("--characters", type=int, default=10_000, help="of each language's test part to score")
    actions.add_parser("table")
    arguments = parser.parse_args()
    if arguments.action == "run":
        run(arguments)
    else:
        write_atomically(TABLE, make_table(read_rows()))
        print(f"written {TABLE}")


def run(arguments: argparse.Namespace) -> None:
    """Make the rows that are missing."""
    from protoglot.corpus.opening import open_corpus
    from protoglot.devices import prepare_cpu
    from protoglot.prior.universal import UniversalPrior
    from protoglot.shipped import shipped_prior
    from protoglot.splits import enough_sentences, split_sentences

    prepare_cpu(arguments.threads)
    prior = UniversalPrior.load(arguments.prior or shipped_prior())
    sources = [("eld", "eld", ELD)]
    sources += [("bibles", arguments.bibles, BIBLES)] if arguments.bibles else []
    sources += [("udhr", "udhr", UDHR)] if arguments.udhr else []
    done = {key_of(row) for row in read_rows()}
    for source, name, codes in sources:
        corpus = open_corpus(name)
        present = {record.code: record for record in corpus.languages()}
        for number in NUMBERS:
            for code in codes:
                if code not in present:
                    print(f"{code}: not in {name}, left out")
                    continue
                if not arguments.methods and (source, code, number, "model") in done:
                    continue
                split = split_sentences(corpus.sentences(code))
                if len(split.train) < number:
                    print(f"{code}: {len(split.train)} sentences in {name}, so no {number} to learn from")
                    continue
                text = enough_sentences(split.test, arguments.characters)
                for row in score(prior, present[code], split.train, text, number, arguments.methods):
                    whole = {"source": source, "language": code, "sentences": number, **row}
                    if key_of(whole) in done:
                        continue
                    done.add(key_of(whole))
                    with ROWS.open("a", encoding="ascii") as file:
                        file.write(json.dumps(whole) + "\n")
                    print(source, code, number, row["method"], f"{row['nats'] / row['characters'] / LOG_2:.3f}")


def score(prior: Any, record: Any, train: Any, text: Any, number: int, methods: str) -> list[Row]:  # noqa: ANN401
    """Rows of one language and number of sentences."""
    from dataclasses import replace

    from protoglot.adaptation import learn_language
    from protoglot.checking import check, check_folds
    from protoglot.errors import TypologyError
    from protoglot.ngram import NGram
    from protoglot.prior.features import features_for
    from protoglot.prior.methods import Method
    from protoglot.splits import few_shot_sample

    sample = few_shot_sample(train, number, language=record.code, seed=0)
    try:
        features = features_for(prior, record.iso639_3).vector
    except TypologyError:
        features = features_for(prior, None).vector
    start = time.monotonic()
    trust = check(lambda some: learn_language(prior, some, features=features), check_folds(sample)).trust
    mixture = learn_language(prior, sample, features=features)
    model = replace(mixture, trust=trust)
    seconds = round(time.monotonic() - start, 1)
    four = NGram.train(sample, model.vocabulary, order=4)
    found = {
        "model": model.score(text),
        "mixture": mixture.score(text),
        f"network ({prior.tuned.best})": model.network_score(text),
        "n-gram": model.ngram_score(text),
        "4-gram": four.score(text),
    }
    if model.incontext is not None:
        found["in context"] = model.in_context_score(text)
    if prior.library is not None:
        alone = model.neighbours is None
        found["n-gram + neighbours"] = model.ngram_score(text) if alone else model.neighbours_score(text)
    for method in filter(None, methods.split(",")):
        alone = learn_language(
            prior, sample, features=features, config=prior.settings_for(Method(method)), mixing=None
        )
        found[f"network ({method})"] = alone.score(text)
    return [
        {"method": name, "nats": each.nats, "characters": each.num_characters, "seconds": seconds, "trust": trust}
        for name, each in found.items()
    ]


def key_of(row: Row) -> tuple[Any, ...]:
    """What makes a row the same as another."""
    return tuple(row[key] for key in ("source", "language", "sentences", "method"))


def read_rows() -> list[Row]:
    """All rows that are kept, a last line that was cut off left out."""
    if not ROWS.is_file():
        return []
    return [json.loads(line) for line in ROWS.read_text().splitlines(keepends=True) if line.endswith("\n")]


def make_table(rows: list[Row]) -> str:
    """Means over languages, by source and number of sentences."""
    bits: dict[tuple[str, int], dict[str, dict[tuple[str, str], float]]] = {}
    for row in rows:
        for source in (row["source"], "all"):
            place = bits.setdefault((source, row["sentences"]), {})
            language = row["source"], row["language"]
            place.setdefault(row["method"], {})[language] = row["nats"] / row["characters"] / LOG_2
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = [
        f"| source | sentences | languages | {' | '.join(methods)} | model of n-gram | below n-gram | of 4-gram |",
        "|---|---:|---:|" + "---:|" * (len(methods) + 3),
    ]
    for (source, number), by_method in sorted(bits.items(), key=lambda item: (item[0][0], -item[0][1])):
        cells = [
            f"{statistics.fmean(by_method[method].values()):.3f}" if method in by_method else "–"
            for method in methods
        ]
        model, rival = by_method["model"], by_method["n-gram"]
        share = statistics.fmean(model.values()) / statistics.fmean(rival.values())
        below = sum(model[code] < rival[code] for code in model)
        of_four = statistics.fmean(model.values()) / statistics.fmean(by_method["4-gram"].values())
        lines.append(
            f"| {source} | {number} | {len(model)} | "
            + " | ".join(cells)
            + f" | {share:.3f} | {below} / {len(model)} | {of_four:.3f} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
