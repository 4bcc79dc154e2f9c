"""Small things to test with: models of a few units, languages of a few words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from protoglot.adapted import AdaptedModel
from protoglot.corpus.interface import LanguageRecord
from protoglot.folds import Fold
from protoglot.model.config import TINY, Conditioning, ModelConfig
from protoglot.model.network import LanguageModel
from protoglot.ngram import NGram
from protoglot.prior.calibration import Calibration
from protoglot.trained import TrainedModel
from protoglot.vocabulary import Vocabulary

NO_DROPOUT = {
    "embedding_dropout": 0.0,
    "hidden_dropout": 0.0,
    "output_dropout": 0.0,
    "recurrent_dropconnect": 0.0,
}

NUM_FEATURES = 7


def tiny_config(conditioning: str | Conditioning = "bare", **changes) -> ModelConfig:
    return replace(TINY, conditioning=Conditioning(conditioning), **changes)


def tiny_model(
    conditioning: str | Conditioning = "bare",
    *,
    vocabulary_size: int = 9,
    num_features: int = NUM_FEATURES,
    seed: int = 0,
    scattered: bool = True,
    **changes,
) -> LanguageModel:
    """A model in float64; ``scattered`` adds noise to every weight, so that none is zero or equals another."""
    config = tiny_config(conditioning, **changes)
    model = LanguageModel(config, vocabulary_size=vocabulary_size, num_features=num_features, seed=seed).double()
    if scattered:
        scatter(model, torch.Generator().manual_seed(seed + 1))
    return model


@torch.no_grad()
def scatter(model: torch.nn.Module, generator: torch.Generator, *, size: float = 0.3) -> None:
    """Add noise to every weight."""
    for weight in model.parameters():
        weight += size * torch.randn(weight.shape, generator=generator, dtype=weight.dtype)


def random_ids(length: int, num_sequences: int, vocabulary_size: int = 9, *, seed: int = 0) -> torch.Tensor:
    """(T, B), without BEGIN."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, vocabulary_size, (length, num_sequences), generator=generator)


def random_features(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def babble(alphabet: str, num_sentences: int, *, seed: int) -> list[str]:
    """Sentences of a made-up language: a few words of its alphabet in random order, a number in each sentence.

    The number makes the sentences distinct.
    """
    generator = np.random.default_rng([seed, *map(ord, alphabet)])
    words = ["".join(generator.choice(list(alphabet), size=generator.integers(2, 5))) for _ in range(6)]
    return [
        " ".join([*generator.choice(words, size=generator.integers(3, 7)), str(number)])
        for number in range(num_sentences)
    ]


class TextCorpus:
    """A corpus in memory."""

    name = "babble"

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        self.texts = texts

    def languages(self) -> tuple[LanguageRecord, ...]:
        return tuple(LanguageRecord(code=code, iso639_3=code, name=code) for code in sorted(self.texts))

    def sentences(self, code: str) -> Iterator[str]:
        return iter(self.texts[code])


ALPHABETS = {"eus": "aeiktz", "fra": "aeioulé", "tur": "aıuürkl", "zul": "aeunkwz", "wol": "abdëgñ"}


def babble_corpus(num_sentences: int = 30, *, seed: int = 0) -> TextCorpus:
    """Five languages, one with half as much text and one with twice as much as the others."""
    amounts = {"fra": num_sentences * 2, "wol": num_sentences // 2}
    return TextCorpus(
        {code: babble(letters, amounts.get(code, num_sentences), seed=seed) for code, letters in ALPHABETS.items()}
    )


def tiny_trained(
    conditioning: str = "bare", *, num_features: int = NUM_FEATURES, seed: int = 0, **changes
) -> TrainedModel:
    """A model with everything that belongs to it, weights in float32 as on disk."""
    corpus = babble_corpus()
    vocabulary = Vocabulary.of(sentence for text in corpus.texts.values() for sentence in text)
    model = LanguageModel(
        tiny_config(conditioning, **changes),
        vocabulary_size=len(vocabulary),
        num_features=0 if conditioning == "bare" else num_features,
        seed=seed,
    )
    generator = np.random.default_rng(seed)
    features = {code: generator.random(num_features, dtype=np.float32) for code in corpus.texts}
    return TrainedModel(
        model=model,
        vocabulary=vocabulary,
        languages={record.code: record for record in corpus.languages()},
        features={} if conditioning == "bare" else features,
        fold=Fold(name="held out", held_out=("wol",), validation=("zul",), training=("eus", "fra", "tur")),
        provenance={"corpus": "babble", "seed": seed, "learning_rate": 0.1, "nothing": None},
    )


def tiny_adapted(
    conditioning: str = "bare",
    *,
    alphabet: str = "abdëgñ",
    with_ngram: bool = True,
    calibrated: bool = False,
    seed: int = 0,
    **facts,
) -> AdaptedModel:
    """An untrained network and a trained n-gram; the sentences are babble."""
    sentences = babble(alphabet, 30, seed=seed)
    vocabulary = Vocabulary.of([*sentences, "xyz"])
    network = LanguageModel(
        tiny_config(conditioning, **NO_DROPOUT),
        vocabulary_size=len(vocabulary),
        num_features=0 if conditioning == "bare" else NUM_FEATURES,
        seed=seed,
    )
    scatter(network, torch.Generator().manual_seed(seed))
    features = np.random.default_rng(seed).random(NUM_FEATURES, dtype=np.float32)
    even = np.full(len(vocabulary) - 1, 1 / (len(vocabulary) - 1), dtype=np.float32)
    ngram = NGram.train(sentences, vocabulary, order=3) if with_ngram else None
    return AdaptedModel(
        network=network,
        vocabulary=vocabulary,
        features=None if conditioning == "bare" else features,
        num_characters=sum(len(sentence) + 1 for sentence in sentences),
        ngram=ngram,
        calibration=Calibration(temperature=1.5, broad_share=0.2) if calibrated else None,
        frequencies=even if calibrated else None,
        **{"language": "wol", "provenance": {"num_sentences": len(sentences)}, **facts},
    )
