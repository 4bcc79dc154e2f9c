"""How well a network has been taught: what it pays for languages that it was not taught with, beside the n-gram."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from protoglot.batching import make_stream
from protoglot.incontext.model import InContextModel
from protoglot.incontext.network import InContextNetwork
from protoglot.incontext.windows import Windows
from protoglot.model.network import NUM_UNPREDICTED
from protoglot.ngram import NGram, NGramConfig
from protoglot.scores import Score, mean_bits_per_character
from protoglot.splits import Split, enough_sentences, few_shot_sample
from protoglot.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Mark:
    """Mean bits per character over languages, from some number of sentences."""

    num_sentences: int
    network: float
    ngram: float


def examine(
    network: InContextNetwork,
    known: Vocabulary,
    texts: Mapping[str, Split],
    *,
    numbers: Sequence[int] = (100, 30, 10),
    num_characters: int = 2000,
    seed: int = 0,
) -> list[Mark]:
    """Score a network on the development text of languages, from a few sentences of their training text.

    Args:
        network: as it is.
        known: its vocabulary.
        texts: of the languages; those that have too few sentences are left out.
        numbers: of sentences.
        num_characters: of each text to score.
        seed: of the samples.
    """
    marks = []
    for number in numbers:
        pairs = []
        for code, split in sorted(texts.items()):
            if len(split.train) < number or not split.development:
                continue
            sample = few_shot_sample(split.train, number, language=code, seed=seed)
            pairs.append(
                score_in_context(network, known, sample, enough_sentences(split.development, num_characters))
            )
        if pairs:
            own, rival = (mean_bits_per_character([pair[side] for pair in pairs]) for side in (0, 1))
            marks.append(Mark(number, own, rival))
    return marks


def score_in_context(
    network: InContextNetwork, known: Vocabulary, evidence: Sequence[str], sentences: Sequence[str]
) -> tuple[Score, Score]:
    """What the network, and the n-gram of the same evidence, pay for sentences; naming of characters not included."""
    vocabulary = known.extended(evidence)
    counting: NGramConfig = network.config.ngram
    ngram = NGram.train(evidence, vocabulary, order=counting.order, smoothing=counting.smoothing)
    model = InContextModel.read(network, known, evidence, vocabulary)
    amount = sum(len(sentence) + 1 for sentence in evidence)
    stream = make_stream(sentences, vocabulary).astype("int64")
    windows = Windows(stream, model.window)
    targets = torch.from_numpy(stream[1:] - NUM_UNPREDICTED).unsqueeze(1)
    first, nats, rival = 0, 0.0, 0.0
    for probabilities, depth in ngram.by_order(sentences):
        orders = torch.from_numpy(probabilities).log().float()
        last = first + len(orders)
        found = model.log_probabilities(
            windows.of(first, last), orders, torch.from_numpy(depth), num_characters=amount
        )
        nats -= float(found.double().gather(1, targets[first:last]).sum())
        rival -= float(orders[:, -1].double().gather(1, targets[first:last]).sum())
        first = last
    return Score(nats, len(windows)), Score(rival, len(windows))
