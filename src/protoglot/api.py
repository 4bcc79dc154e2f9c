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
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from protoglot.adaptation import learn_language
from protoglot.adapted import AdaptedModel
from protoglot.checking import check as check_model
from protoglot.checking import check_folds, is_nearly_all
from protoglot.completion import Completer, Completion
from protoglot.errors import TextError
from protoglot.generation import GenerationConfig, sample
from protoglot.prior.features import features_for
from protoglot.prior.methods import Method
from protoglot.prior.mixer import DEFAULT_MIXING
from protoglot.prior.universal import UniversalPrior
from protoglot.scores import Score
from protoglot.shipped import shipped_prior
from protoglot.surprisal import LineSurprisal, surprisals
from protoglot.text import normalise, normalise_beginning

Text = str | Iterable[str]
"""Lines of a string, or sentences one by one."""


@dataclass(frozen=True, slots=True)
class Model:
    """A language that was learned from some sentences."""

    adapted: AdaptedModel

    def score(self, text: Text) -> Score:
        """What the model pays for a text."""
        return self.adapted.score(sentences_of(text))

    def surprisal(self, text: Text) -> list[LineSurprisal]:
        """Bits of every character, word and line of a text."""
        return list(surprisals(self.adapted, enumerate(sentences_of(text), start=1)))

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
        reader = self.adapted.reader(number)
        return sample(reader, self.adapted.vocabulary, config, num_samples=number, seed=seed)

    def complete(self, prefix: str, *, number: int = 5) -> list[Completion]:
        """The likeliest rests of the word that a text ends in, or next words after a blank."""
        completer = Completer(self.adapted)
        completer.text = normalise_beginning(prefix)
        return completer.words(number)

    def save(self, path: str | Path) -> None:
        """Write the model as a directory that can be moved and shared."""
        self.adapted.save(Path(path))


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known of all languages before a sentence of one is read."""

    universal: UniversalPrior

    def adapt(
        self,
        text: Text,
        *,
        language: str | None = None,
        method: Method | str | None = None,
        mixture: bool = True,
        check: bool = True,
        seed: int = 0,
        on_epoch: Callable[[int, int, float], None] | None = None,
    ) -> Model:
        """Learn a language from 0 or more sentences.

        Args:
            text: its sentences.
            language: code or name, whose typology is then looked up, or a .csv file of it; ``None`` if unknown.
            method: how; by default what won when the prior was tuned.
            mixture: mix the network with all other components, such as an n-gram of the same sentences.
            check: learn twice, first without some of the sentences, to see how far the mixture is to be trusted, as
                ``protoglot adapt`` does; where those are few among many, once, without them.
            seed: of batches and dropout.
            on_epoch: called after each epoch with its number, the number of all, and the bits per character paid.
        """
        prior = self.universal
        best = prior.tuned.best if prior.tuned is not None else Method.FITU
        config = replace(prior.settings_for(Method(method) if method is not None else best), seed=seed)
        features = features_for(prior, language)
        sentences = sentences_of(text)

        def learn(chosen: Sequence[str]) -> AdaptedModel:
            return learn_language(
                prior,
                chosen,
                language=features.language,
                features=features.vector,
                config=config,
                mixing=DEFAULT_MIXING if mixture else None,
                on_epoch=on_epoch,
            )

        folds = check_folds(sentences, seed=seed) if check and mixture else []
        if not folds:
            return Model(learn(sentences))
        found = check_model(learn, folds)
        model = found.checked if is_nearly_all(folds) else None
        return Model(replace(model or learn(sentences), trust=found.trust))


def load_prior(path: str | Path | None = None) -> Prior:
    """Read a universal prior from its directory; by default the one that is installed with protoglot.

    Raises:
        StorageError: if there is none, or it is damaged.
    """
    return Prior(UniversalPrior.load(shipped_prior() if path is None else Path(path)))


def load_model(path: str | Path) -> Model:
    """Read a model that ``adapt`` made.

    Raises:
        StorageError: if there is none, or it is damaged.
    """
    return Model(AdaptedModel.load(Path(path)))


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
