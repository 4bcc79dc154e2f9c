"""Milliseconds per keystroke of completing a text: one more character read, and the search for words.

The models are real ones: readers that have read a hundred sentences of each language, or with --method networks adapted
to them. Other sentences of the language are then typed, character by character.
"""

import argparse
import statistics
import time

import numpy as np
from environment import save_result

import protoglot
from protoglot.completion import Completer
from protoglot.corpus.opening import open_corpus

WANTED_MILLISECONDS = 10


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--languages", default="msa,cat,yor", help="of the corpus that is installed with protoglot"
    )
    parser.add_argument("--keystrokes", type=int, default=200)
    parser.add_argument("--method", help="of the paper; a reader if not given")
    arguments = parser.parse_args()
    corpus, prior = open_corpus("eld"), protoglot.load_prior()
    result = {}
    for language in arguments.languages.split(","):
        text = list(corpus.sentences(language))
        model = prior.adapt(text[:100], language=language, method=arguments.method)
        completer = Completer(model)
        typed = " ".join(text[100:])
        milliseconds(completer, typed[-20:])  # the first time, memory and threads are still to be had
        times = [milliseconds(completer, typed[:length]) for length in range(1, arguments.keystrokes + 1)]
        result[language] = {
            "median": round(statistics.median(times), 2),
            "95th percentile": round(float(np.percentile(times, 95)), 2),
            "worst": round(max(times), 2),
        }
        print(language, ", ".join(f"{name} {value}" for name, value in result[language].items()))
    print(f"wanted: at most {WANTED_MILLISECONDS} ms for one keystroke")
    facts = {
        "keystrokes": arguments.keystrokes,
        "method": arguments.method,
        "wanted_milliseconds": WANTED_MILLISECONDS,
    }
    print(f"saved {save_result('completion', {**facts, 'milliseconds_per_keystroke': result})}")


def milliseconds(completer: Completer, text: str) -> float:
    """Time from a keystroke to the words that may follow."""
    start = time.perf_counter()
    completer.text = text
    completer.characters()
    completer.words()
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
