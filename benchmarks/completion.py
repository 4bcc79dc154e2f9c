"""Milliseconds per keystroke of completing a text: one more character read, and the search for words.

The model has the size of the installed prior (the preset ``plain``), an n-gram of a hundred sentences, and n-grams of
four other parts of the text as neighbours. Its network is untrained, which makes the search no easier: words are all
about equally likely, and many of them have to be pursued.
"""

import argparse
import statistics
import time
from dataclasses import replace

import numpy as np
from environment import save_result

from protoglot.adapted import AdaptedModel
from protoglot.completion import Completer
from protoglot.corpus.opening import open_corpus
from protoglot.devices import prepare_cpu
from protoglot.incontext.config import InContextConfig
from protoglot.incontext.model import InContextModel
from protoglot.incontext.network import InContextNetwork
from protoglot.model.config import PLAIN, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.neighbours.library import Library
from protoglot.neighbours.model import NeighbourModel
from protoglot.ngram import NGram, NGramConfig
from protoglot.prior.mixer import Mixer, Mixing
from protoglot.vocabulary import Vocabulary

NUM_FEATURES = 245
WANTED_MILLISECONDS = 50


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", default="eus", help="of the corpus that is installed with protoglot")
    parser.add_argument("--keystrokes", type=int, default=100)
    arguments = parser.parse_args()
    prepare_cpu()
    corpus = open_corpus("eld")
    text = list(corpus.sentences(arguments.language))
    sentences, rest = text[:110], text[110:]
    codes = [record.code for record in corpus.languages()]
    others = (
        next(iter(corpus.sentences(code))) for code in codes
    )  # letters of many languages, as a prior has them
    vocabulary = Vocabulary.of([*sentences, *others])
    typed = " ".join(sentences[100:])[: arguments.keystrokes]
    result = {}
    for conditioning in Conditioning:
        completer = Completer(make_model(sentences[:100], rest, vocabulary, conditioning))
        milliseconds(completer, typed[::-1])  # the first time, memory and threads are still to be had
        times = [milliseconds(completer, typed[:length]) for length in range(1, len(typed) + 1)]
        result[str(conditioning)] = {
            "median": round(statistics.median(times), 2),
            "95th percentile": round(float(np.percentile(times, 95)), 2),
            "worst": round(max(times), 2),
        }
        print(conditioning, ", ".join(f"{name} {value} ms" for name, value in result[str(conditioning)].items()))
    print(f"wanted: at most {WANTED_MILLISECONDS} ms for one keystroke; {len(vocabulary)} ids")
    facts = {"keystrokes": len(typed), "ids": len(vocabulary), "wanted_milliseconds": WANTED_MILLISECONDS}
    print(f"saved {save_result('completion', {**facts, 'milliseconds_per_keystroke': result})}")


def make_model(
    sentences: list[str], rest: list[str], vocabulary: Vocabulary, conditioning: Conditioning
) -> AdaptedModel:
    """An untrained network, and one that was not taught, beside a trained n-gram and four neighbours."""
    config = NGramConfig(order=7)
    num_features = 0 if conditioning is Conditioning.BARE else NUM_FEATURES
    network = LanguageModel(
        replace(PLAIN, conditioning=conditioning), vocabulary_size=len(vocabulary), num_features=num_features
    )
    learner = InContextNetwork(InContextConfig(ngram=config), vocabulary_size=len(vocabulary))
    ngram = NGram.train(sentences, vocabulary, order=config.order, smoothing=config.smoothing)
    library = Library.count(((str(part), rest[part::4]) for part in range(4)), vocabulary)
    neighbours = NeighbourModel.choose(library, sentences, vocabulary, ngram)
    assert neighbours is not None
    assert len(neighbours.packed) == len(library.ngrams)
    return AdaptedModel(
        network=network,
        vocabulary=vocabulary,
        features=None if not num_features else np.ones(num_features, dtype=np.float32),
        num_characters=sum(len(sentence) + 1 for sentence in sentences),
        ngram=ngram,
        incontext=InContextModel.read(learner, vocabulary, sentences, vocabulary),
        neighbours=neighbours,
        mixer=Mixer(Mixing.LOG_LINEAR, config.order + 3),
    )


def milliseconds(completer: Completer, text: str) -> float:
    """Time from a keystroke to the words that may follow."""
    start = time.perf_counter()
    completer.text = text
    completer.characters()
    completer.words()
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
