"""The text and typology of one fold, ready for training."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from protoglot.batching import Stream, check_vocabulary_size, make_stream
from protoglot.corpus.interface import Corpus, LanguageRecord
from protoglot.errors import TrainingError
from protoglot.folds import Fold, FoldText
from protoglot.splits import first_characters, split_sentences
from protoglot.vocabulary import NUM_SYMBOLS, Vocabulary


class Inventory(StrEnum):
    """Whose characters get an id of their own."""

    CORPUS = "corpus"
    """Those in the training part of every language, held-out ones included: the paper's Σ (§2)."""

    TRAINING = "training"
    """Those of the training languages; all others are OTHER until a model is adapted to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Everything a run reads; no character of a held-out language's text is in it."""

    fold: Fold
    vocabulary: Vocabulary
    streams: Mapping[str, Stream]
    """Training part of each training language."""

    validation: Mapping[str, tuple[str, ...]]
    """First sentences of the development part of each validation language."""

    languages: Mapping[str, LanguageRecord]
    """All languages of the corpus, by code."""

    features: Mapping[str, NDArray[np.float32]]
    """Typological vector of each language; empty where none is asked for."""

    num_features: int
    """Length of a typological vector."""

    def text_sha256(self) -> str:
        """SHA-256 of all text that a run learns from or watches; with the vocabulary, it tells texts apart."""
        digest = hashlib.sha256()
        for code, stream in sorted(self.streams.items()):
            digest.update(f"{code} {len(stream)}\n".encode())
            digest.update(stream.astype("<u2").tobytes())
        digest.update(json.dumps(self.validation, sort_keys=True).encode())
        return digest.hexdigest()


def read_training_data(
    corpus: Corpus,
    fold: Fold,
    *,
    inventory: Inventory,
    with_features: bool,
    validation_characters: int,
    on_language: Callable[[str], None] | None = None,
) -> TrainingData:
    """Read what a fold may see, one language at a time.

    Raises:
        ConfigError: if there are more characters than two bytes can tell apart.
        TrainingError: if there is no text to train on.
        TypologyError: if features are asked for and the database lacks a language.
    """
    records = {record.code: record for record in corpus.languages()}
    vocabulary, streams = _read_streams(corpus, fold, inventory, on_language)
    if not streams:
        raise TrainingError(f"corpus {corpus.name}: no training text in {len(fold.training)} training languages")
    features: dict[str, NDArray[np.float32]] = {}
    num_features = 0
    if with_features:
        from protoglot.typology import Typology

        typology = Typology.installed()
        features = {code: typology.vector(record.iso639_3) for code, record in records.items()}
        num_features = len(next(iter(features.values())))
    return TrainingData(
        fold=fold,
        vocabulary=vocabulary,
        streams=streams,
        validation={
            code: first_characters(sentences, validation_characters)
            for code, sentences in FoldText(corpus, fold).validation()
        },
        languages=records,
        features=features,
        num_features=num_features,
    )


def _read_streams(
    corpus: Corpus, fold: Fold, inventory: Inventory, on_language: Callable[[str], None] | None
) -> tuple[Vocabulary, dict[str, Stream]]:
    """Vocabulary and training streams in one pass over the text.

    Streams are first written in the ids of a vocabulary that grows from language to language, and translated when
    all characters are known.
    """
    training = dict.fromkeys(fold.training)
    beside = (record.code for record in corpus.languages() if record.code not in training)
    growing = Vocabulary(())
    streams: dict[str, Stream] = {}
    for language, sentences in FoldText(corpus, fold).training():
        if on_language is not None:
            on_language(language)
        growing = growing.extended(sentences)
        if sentences:
            streams[language] = make_stream(sentences, growing)
    if inventory is Inventory.CORPUS:
        for language in beside:
            if on_language is not None:
                on_language(language)
            growing = growing.extended(split_sentences(corpus.sentences(language)).train)
    vocabulary = Vocabulary.of(growing.characters)
    check_vocabulary_size(vocabulary)
    translation = np.arange(len(vocabulary), dtype=np.uint16)  # symbols keep their ids
    translation[NUM_SYMBOLS:] = vocabulary.encode_to_array("".join(growing.characters))
    return vocabulary, {language: translation[stream] for language, stream in streams.items()}
