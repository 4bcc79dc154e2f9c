"""Text sampled from a model."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from protoglot.errors import ConfigError
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.text import LINE_BREAK, normalise_beginning
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS, OTHER, Vocabulary, decode_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationConfig:
    """How to sample; the defaults are the paper's (appendix B)."""

    length: int = 25
    """Characters to generate, the beginning included if it was drawn."""

    start: str | None = None
    """What the text begins with; ``None`` draws a first character uniformly, as in the paper."""

    temperature: float = 1.0
    """Below 1 the likely becomes likelier; 0 takes the likeliest character each time."""

    top_p: float = 1.0
    """Sample only among the likeliest characters that together have this probability."""

    until_end: bool = False
    """Stop at the end of a sentence, if it comes before the length is reached."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ConfigError(f"generation.length: {self.length}; wanted a whole number from 1")
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(f"generation.temperature: {self.temperature}; wanted a number from 0")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"generation.top_p: {self.top_p}; wanted a share above 0, up to 1")


class Reader(Protocol):
    """What reads B texts side by side and predicts how each goes on."""

    def read(self, ids: Tensor) -> Tensor:
        """Read on.

        Args:
            ids: the next ids of each text, (T, B), BEGIN at the very start.

        Returns:
            Scores of all ids that can be predicted next, on the CPU, (B, V - 1), id v at position v - 1.
        """
        ...


class NetworkReader:
    """A network as a :class:`Reader`.

    Args:
        model: dropout is off.
        features: typological vector of the language, (K,), or ``None`` for BARE.
        num_texts: B.
    """

    def __init__(self, model: LanguageModel, features: Tensor | None, num_texts: int) -> None:
        self._model = model
        self._features = features
        self._state: State = model.initial_state(num_texts)

    @torch.no_grad()
    def read(self, ids: Tensor) -> Tensor:
        """Logits of what comes after the ids."""
        on_device = ids.to(self._model.embedding.device)
        vectors, self._state = self._model.hidden_states(on_device, self._features, self._state)
        return self._model.logits(vectors[-1]).cpu()


def generate(
    model: LanguageModel,
    vocabulary: Vocabulary,
    features: Tensor | None,
    config: GenerationConfig,
    *,
    num_samples: int = 1,
    seed: int = 0,
) -> list[str]:
    """Sample texts from a network (see :func:`sample`).

    Args:
        model: dropout is off.
        vocabulary: its characters.
        features: typological vector of the language, (K,), or ``None`` for BARE.
        config: how to sample.
        num_samples: texts to return.
        seed: of the random numbers.
    """
    reader = NetworkReader(model, features, num_samples)
    return sample(reader, vocabulary, config, num_samples=num_samples, seed=seed)


def sample(
    reader: Reader, vocabulary: Vocabulary, config: GenerationConfig, *, num_samples: int = 1, seed: int = 0
) -> list[str]:
    """Sample texts side by side; the same seed gives the same texts.

    OTHER is never drawn, for it names no character. ``start`` is read normalised, a line break as the end of a sentence
    and a character outside the inventory as OTHER, and shown as it is.

    Args:
        reader: of as many texts as are wanted, at their very start.
        vocabulary: its characters.
        config: how to sample.
        num_samples: texts to return.
        seed: of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    if config.start is None:
        first = torch.randint(NUM_SYMBOLS, len(vocabulary), (1, num_samples), generator=generator)
        begin = torch.cat([torch.full((1, num_samples), BEGIN), first])
        shown = [vocabulary.characters[id_ - NUM_SYMBOLS] for id_ in first[0].tolist()]
        remaining = config.length - 1
    else:
        lines = [vocabulary.encode(line).ids for line in normalise_beginning(config.start).split(LINE_BREAK)]
        ids = [BEGIN, *lines[0], *(id_ for line in lines[1:] for id_ in (END, *line))]
        begin = torch.tensor(ids).unsqueeze(1).expand(-1, num_samples)
        shown = [config.start] * num_samples
        remaining = config.length
    scores = reader.read(begin)
    drawn: list[Tensor] = []
    ended = torch.zeros(num_samples, dtype=torch.bool)
    while len(drawn) < remaining:
        chosen = _draw(scores, config, generator)  # (B,)
        drawn.append(chosen)
        ended |= chosen == END
        if config.until_end and bool(ended.all()):
            break
        scores = reader.read(chosen.unsqueeze(0))
    columns = torch.stack(drawn, dim=1).tolist() if drawn else [[] for _ in range(num_samples)]
    return [
        text + decode_ids(vocabulary, _until_end(ids) if config.until_end else ids)
        for text, ids in zip(shown, columns, strict=True)
    ]


def _draw(logits: Tensor, config: GenerationConfig, generator: torch.Generator) -> Tensor:
    """One id for each row of scores, (B, V - 1) -> (B,)."""
    logits = logits.double()
    logits[:, OTHER - NUM_UNPREDICTED] = -torch.inf
    if config.temperature == 0:
        return logits.argmax(dim=1) + NUM_UNPREDICTED
    # Less the largest first: a quotient may overflow, but not to an infinity above all others.
    logits -= logits.max(dim=1, keepdim=True).values
    probability = torch.softmax(logits / config.temperature, dim=1)
    if config.top_p < 1:
        ordered, order = probability.sort(dim=1, descending=True)
        # Keep a character if those before it have less than the share: at least one is always kept.
        ordered[ordered.cumsum(dim=1) - ordered >= config.top_p] = 0
        probability = torch.zeros_like(probability).scatter_(1, order, ordered)
    return torch.multinomial(probability, 1, generator=generator).squeeze(1) + NUM_UNPREDICTED


def _until_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(END)] if END in ids else ids
