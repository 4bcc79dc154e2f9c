"""Priors and models as a program uses them: a few calls, with sensible defaults.

>>> import protoglot
>>> prior = protoglot.load_prior()
>>> model = prior.adapt(["Eta Jainkoak esan zuen:", "Izan bedi argia."], language="eus")
>>> score = model.score("Eta argia izan zen.")
>>> score.num_characters, score.bits_per_character < 8
(20, True)
>>> [line.text for line in model.surprisal("Eta argia izan zen.")]
['Eta argia izan zen.']
>>> texts = model.generate(length=30, number=2, seed=1)
>>> [len(text) <= 30 for text in texts]
[True, True]
>>> [0 < word.probability < 1 for word in model.complete("Eta ar", number=3)]
[True, True, True]

The model is a reader, which goes on learning when it is told to read on:

>>> lines = model.read("Eta argia izan zen.")
>>> model.score("Eta argia izan zen.").nats < score.nats
True
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from protoglot.artefacts import read_header
from protoglot.completion import Completer, Completion, Lookahead
from protoglot.errors import ConfigError, StorageError, TextError
from protoglot.generation import GenerationConfig
from protoglot.languages import codes_by_name, from_two_letters
from protoglot.loading import load_language
from protoglot.reader_model import ReaderModel, read_page
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import Scorer
from protoglot.reading.shipped import shipped_scorer
from protoglot.scores import Score
from protoglot.shipped import PRIOR, SCORER, shipped_prior
from protoglot.surprisal import LineSurprisal, line_surprisals
from protoglot.text import normalise, normalise_beginning
from protoglot.typology import is_profile_path

if TYPE_CHECKING:
    from protoglot.adapted import AdaptedModel
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior

Text = str | Iterable[str]
"""Lines of a string, or sentences one by one."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of one language, learned from some sentences: a reader, or a network adapted as in the paper."""

    language_model: "ReaderModel | AdaptedModel"

    @property
    def reader(self) -> Reader:
        """The reader itself.

        Raises:
            ConfigError: if the model is a network.
        """
        return self._readable().reader

    @property
    def adapted(self) -> "AdaptedModel":
        """The adapted network itself.

        Raises:
            ConfigError: if the model is a reader.
        """
        if isinstance(self.language_model, ReaderModel):
            raise ConfigError("a reader, which has no network; wanted a model that was adapted with a method")
        return self.language_model

    def read(self, text: Text) -> list[LineSurprisal]:
        """Read on: how surprising each line is, and learn from it. For readers only.

        Raises:
            ConfigError: if the model is a network.
        """
        model = self._readable()
        # What is new to the reader must be asked for before it is read.
        met = frozenset(model.reader.characters)
        return list(line_surprisals(model.read, enumerate(sentences_of(text), start=1), met.__contains__))

    def score(self, text: Text, *, static: bool = False) -> Score:
        """Log loss of a text.

        A reader reads each line after those before it, and forgets the text afterwards.

        Args:
            text: any.
            static: score each line on its own; for readers.
        """
        if isinstance(self.language_model, ReaderModel):
            return self.language_model.score(sentences_of(text), static=static)
        return self.language_model.score(sentences_of(text))

    def surprisal(self, text: Text, *, static: bool = False) -> list[LineSurprisal]:
        """Bits of every character, word and line of a text.

        Args:
            text: any.
            static: score each line on its own, rather than after those before it; for readers.
        """
        model = self.language_model
        score = (
            partial(model.nats_by_sentence, static=static)
            if isinstance(model, ReaderModel)
            else model.nats_by_sentence
        )
        return list(line_surprisals(score, enumerate(sentences_of(text), start=1), model.has_met))

    def generate(
        self,
        *,
        start: str | None = "",
        length: int = 200,
        temperature: float = 1.0,
        top_p: float = 1.0,
        until_end: bool = True,
        number: int = 1,
        seed: int = 0,
    ) -> list[str]:
        """Texts sampled from the model; ``start`` ``None`` draws the first character evenly, as in the paper."""
        config = GenerationConfig(
            length=length, start=start, temperature=temperature, top_p=top_p, until_end=until_end
        )
        return self.language_model.write(config, number=number, seed=seed)

    def complete(self, prefix: str, *, number: int = 5) -> list[Completion]:
        """The likeliest rests of the word that a text ends in, or next words after a blank."""
        completer = Completer(self)
        completer.text = normalise_beginning(prefix)
        return completer.words(number)

    def lookahead(self) -> Lookahead:
        """Look ahead, for a :class:`protoglot.completion.Completer`."""
        return self.language_model.lookahead()

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model as a directory that can be moved and shared.

        Args:
            path: of the directory.
            overwrite: replace a model that is there; anything else is never replaced.

        Raises:
            StorageError: if something is there that is not to be replaced, or the model cannot be written.
        """
        # As in `protoglot adapt --out`, even an empty directory or a link to nowhere is in the way.
        if not overwrite and os.path.lexists(path):
            raise StorageError(
                f"{path}: exists already; wanted a new directory, or overwrite=True to replace a model"
            )
        self.language_model.save(Path(path))

    def _readable(self) -> ReaderModel:
        if not isinstance(self.language_model, ReaderModel):
            raise ConfigError("an adapted network, which cannot read on; wanted a reader")
        return self.language_model


@dataclass(frozen=True)
class Prior:
    """What is known of all languages before a sentence of one is read."""

    path: Path
    """Directory of the paper's prior over weights, which is read where one of its methods is asked for."""

    scorer_path: Path | None = None
    """Directory of the scorer of readers; ``None`` for the installed one."""

    @cached_property
    def scorer(self) -> Scorer:
        """The scorer of readers.

        Raises:
            StorageError: if there is none, or it is damaged.
        """
        return shipped_scorer() if self.scorer_path is None else Scorer.load(self.scorer_path)

    @cached_property
    def universal(self) -> "UniversalPrior":
        """The paper's prior over the weights of a network; needs PyTorch.

        Raises:
            StorageError: if there is none, or it is damaged.
        """
        from protoglot.prior.universal import UniversalPrior

        return UniversalPrior.load(self.path)

    def reader(self, *, language: str | None = None, fast: bool = False) -> Reader:
        """A reader that has read nothing.

        Args:
            language: code or name of the language, to be remembered; ``None`` if unknown. Of a code that URIEL has,
                words and letters of near languages are expected first.
            fast: leave out the network of letters.
        """
        return Reader(self.scorer, language=_label(language), with_letters=not fast)

    def adapt(
        self,
        text: Text,
        *,
        language: str | None = None,
        method: "Method | str | None" = None,
        fast: bool = False,
        seed: int = 0,
        on_epoch: Callable[[int, int, float], None] | None = None,
    ) -> Model:
        """Learn a language from 0 or more sentences.

        Args:
            text: its sentences.
            language: code or name; ``None`` if unknown. A method of the paper looks its typology up, or reads it from
                a .csv file.
            method: ``None`` for a reader that reads the sentences; a method of the paper for its adapted network.
            fast: leave the network of letters out of the reader.
            seed: of a method's batches and dropout.
            on_epoch: called after each epoch of a method with its number, the number of all, and the bits per
                character of its text.
        """
        sentences = sentences_of(text)
        if method is None:
            reader = self.reader(language=language, fast=fast)
            model, _ = read_page(reader, sentences, {"num_sentences": len(sentences)})
            return Model(model)
        from protoglot.adaptation import learn_language
        from protoglot.prior.features import features_for
        from protoglot.prior.methods import Method

        if fast:
            raise ConfigError(f"fast: method {method}; wanted no method, for a reader")
        prior = self.universal
        features = features_for(prior, language)
        adapted = learn_language(
            prior,
            sentences,
            language=features.language,
            features=features.vector,
            config=replace(prior.settings_for(Method(method)), seed=seed),
            on_epoch=on_epoch,
        )
        return Model(adapted)


def load_prior(path: str | Path | None = None) -> Prior:
    """What ``protoglot build`` made, or a prior alone; by default what is installed with protoglot.

    Args:
        path: directory with a scorer and a prior, or of a prior, to be used with the installed scorer.

    Raises:
        StorageError: if there is none, or its header is damaged.
    """
    chosen, scorer = shipped_prior() if path is None else Path(path), None
    if (chosen / SCORER).is_dir():
        chosen, scorer = chosen / PRIOR, chosen / SCORER
    if (kind := read_header(chosen)["kind"]) != "prior":
        raise StorageError(f"{chosen}: a directory of kind {kind!r}; wanted a prior")
    return Prior(chosen, scorer)


def load_model(path: str | Path, *, prior: Prior | None = None) -> Model:
    """Read a model that ``adapt`` made, of either kind.

    Args:
        path: its directory.
        prior: that a reader was made with; by default the installed one.

    Raises:
        StorageError: if there is none, or it is damaged.
    """
    return Model(load_language(Path(path), scorer=None if prior is None else prior.scorer))


def _label(language: str | None) -> str:
    """What a reader remembers of the language it was given: a code where there is one."""
    if language is None:
        return ""
    if is_profile_path(language):
        return Path(language).name
    if len(language) == 2:
        return from_two_letters(language) or language
    if len(language) == 3 and language.islower():
        return language
    codes = codes_by_name().get(language.casefold(), frozenset())
    return min(codes) if len(codes) == 1 else language


_LINE_END = re.compile(r"\r\n|\r|\n")  # as in files: other separators do not end a sentence


def sentences_of(text: Text) -> list[str]:
    """Normalised sentences that are not empty.

    Raises:
        TextError: for anything but strings.
    """
    lines = _LINE_END.split(text) if isinstance(text, str) else list(text)
    for line in lines:
        if not isinstance(line, str):
            raise TextError(f"{line!r}: not a string; wanted sentences")
    return [sentence for line in lines if (sentence := normalise(line))]
