r"""A network that was taught to learn: it takes the sentences there are as evidence, and predicts how others go on.

What characters are like, it learns from the sentences themselves: each starts as what it is known for, if it is
known at all, and is then told in some rounds what stands beside it there (:mod:`protoglot.incontext.company`).

Where it stands in a text, it reads a window of the last few characters into a state. Two kinds of evidence say what
may come next:

* the n-gram of the sentences, one distribution for each of its K orders;
* what is remembered: the network has been through the sentences, and compares its state with the states it was in
  there, after the same character. What came next there, the more alike the more, may come next here:
  :math:`p_m(c) = \sum_i \alpha_i [x_{i+1} = c]` with :math:`\alpha = \mathrm{softmax}(q_t \cdot k_i / \sqrt D)`.

Both are weighed by the state, by how sure each component is, and by how much text there was:

.. math:: p(c) \propto \exp\Bigl(\sum_k w_k \log p_k(c) + e_c \cdot o_t + b_c\Bigr)

where :math:`e_c` is what the character became in these rounds (but for OTHER, of which no embedding tells).

Nothing is fitted to the language: all weights are learned on others, in episodes in which some sentences are evidence
and others are predicted (:mod:`protoglot.incontext.teaching`). So the weights hold no language, but how languages are
learned.

The letters: N positions, W characters of a window, V ids, K orders, C = K + 1 components, E embedding, H hidden,
D keys, G gates, M remembered positions, F facts of a position, R rounds, B units that hear of company, L of a language.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from protoglot.incontext.company import NUM_FACTS, NUM_LANGUAGE_FACTS, NUM_RELATIONS, Letters, company_of
from protoglot.incontext.config import InContextConfig
from protoglot.incontext.memory import Memory, recall
from protoglot.model.network import NUM_UNPREDICTED
from protoglot.vocabulary import OTHER

MOST_CHARACTERS = 16_000
"""Of evidence that the network was taught with; more looks to it like so many."""

_QUIET = 0.25
"""Size of what embeddings add to the components, beside what they read."""

_QUIET_CHANGE = 0.1
"""Size of what a character is changed by at first, when it is told of its company."""

_LOUDER = 2.0
"""Times what company is like: means of embeddings are smaller than each of them."""

LONGEST_EMBEDDING = 2.0
"""What company makes of a character is no longer than this: a stroke between figures, which training text hardly has,
would else drown out all others."""

_LEAST_LENGTH = 1e-6

_LEAST_PROBABILITY = 1e-9


class InContextNetwork(nn.Module):
    """The weights, and what is computed with them.

    Args:
        config: sizes.
        vocabulary_size: V of the characters it knows; others are stood for by those.
        seed: initial weights.
    """

    def __init__(self, config: InContextConfig, *, vocabulary_size: int, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.vocabulary_size = vocabulary_size
        size, hidden, gates, components = (
            config.embedding_size,
            config.hidden_size,
            config.gate_size,
            config.num_components,
        )
        self.embedding = nn.Parameter(torch.empty(vocabulary_size, size))  # (V, E)
        self.output_bias = nn.Parameter(torch.zeros(vocabulary_size))  # (V,)
        self.window_weight = nn.Parameter(torch.empty(hidden, config.window * size))  # (H, W E)
        self.window_bias = nn.Parameter(torch.zeros(hidden))
        self.hidden_weight = nn.Parameter(torch.empty(hidden, hidden))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.query = nn.Parameter(torch.empty(config.key_size, hidden))  # (D, H)
        self.key = nn.Parameter(torch.empty(config.key_size, hidden))  # (D, H)
        num_facts = 2 * config.ngram.order + (config.ngram.order + 1) + 1
        self.share_weight = nn.Parameter(torch.zeros(1, hidden + num_facts))
        self.share_bias = nn.Parameter(torch.full((1,), -2.0))
        self.gate_weight = nn.Parameter(torch.empty(gates, hidden + num_facts + 2))  # (G, H + F)
        self.gate_bias = nn.Parameter(torch.zeros(gates))
        self.trust_weight = nn.Parameter(torch.zeros(components, gates))  # (C, G)
        # softplus of this is 1 / C: the product of all powers starts as a geometric mean
        self.trust_bias = nn.Parameter(torch.full((components,), math.log(math.expm1(1 / components))))
        self.output = nn.Parameter(torch.zeros(size, hidden + gates))  # (E, H + G)
        rounds, company, languages = config.num_rounds, config.company_size, config.language_size
        told = (1 + NUM_RELATIONS) * size + NUM_FACTS
        self.hearing_weight = nn.Parameter(torch.empty(rounds, company, told))  # (R, B, told)
        self.hearing_bias = nn.Parameter(torch.zeros(rounds, company))  # (R, B)
        self.change_weight = nn.Parameter(torch.empty(rounds, size, company))  # (R, E, B)
        about = size + NUM_FACTS + NUM_LANGUAGE_FACTS
        self.language_weight = nn.Parameter(torch.empty(languages, about))  # (L, about)
        self.language_bias = nn.Parameter(torch.zeros(languages))  # (L,)
        self.language_output = nn.Parameter(torch.zeros(hidden, languages))  # (H, L)
        if not self.embedding.is_meta:  # shapes alone are wanted where weights are about to be loaded
            self._initialise(torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        matrices = (self.embedding, self.window_weight, self.hidden_weight, self.query, self.key, self.gate_weight)
        for weight in (*matrices, self.hearing_weight, self.language_weight):
            weight.normal_(0, weight.shape[-1] ** -0.5, generator=generator)
        # what is heard changes little at first
        self.change_weight.normal_(0, _QUIET_CHANGE * self.config.company_size**-0.5, generator=generator)

    def letters_of(self, ids: Tensor, next_ids: Tensor, known_ids: Tensor) -> Letters:
        """What characters of a language are like, from a text of it.

        Args:
            ids: read last at M consecutive positions of the text, (M,).
            next_ids: that came next there, (M,).
            known_ids: ids that the network knows, which stand for those of the language, (V,).
        """
        company = company_of(ids, next_ids, len(known_ids))
        scale = math.sqrt(self.config.embedding_size)
        named = known_ids != OTHER
        embedding = F.embedding(known_ids, self.embedding) * named.unsqueeze(1)  # of OTHER no episode has told
        for weight, bias, change in zip(self.hearing_weight, self.hearing_bias, self.change_weight, strict=True):
            beside = [relation.pass_on(embedding) * _LOUDER for relation in company.relations]
            told = torch.cat([torch.cat([embedding, *beside], dim=1) * scale, company.facts], dim=1)
            embedding = embedding + F.linear(F.gelu(F.linear(told, weight, bias)), change)
            lengths = embedding.norm(dim=1, keepdim=True).clamp_min(_LEAST_LENGTH)
            embedding = embedding * (LONGEST_EMBEDDING / lengths).clamp(max=1)
        means = company.frequencies @ torch.cat([embedding * scale, company.facts], dim=1)
        about = F.gelu(F.linear(torch.cat([means, company.language]), self.language_weight, self.language_bias))
        return Letters(
            embedding,
            self.output_bias[known_ids],
            named,
            F.linear(about, self.language_output),
        )

    def states(self, windows: Tensor, letters: Letters) -> Tensor:
        """States after windows of ids: (N, W) -> (N, H)."""
        read = F.embedding(windows, letters.embedding).flatten(1) * math.sqrt(self.config.embedding_size)
        first = F.gelu(F.linear(read, self.window_weight, self.window_bias + letters.language))
        return first + F.gelu(F.linear(first, self.hidden_weight, self.hidden_bias))

    def memorise(self, states: Tensor, ids: Tensor, next_ids: Tensor) -> Memory:
        """What is to be remembered of a text: states after ids of M positions, and the ids that came next."""
        return Memory.of(F.linear(states, self.key), ids, next_ids - NUM_UNPREDICTED)

    def predict(
        self,
        states: Tensor,
        ids: Tensor,
        orders: Tensor,
        depth: Tensor,
        memory: Memory,
        letters: Letters,
        *,
        num_characters: int,
    ) -> Tensor:
        """Log-probabilities of what comes next at N positions, (N, V - 1).

        Args:
            states: after the windows, (N, H).
            ids: read last, (N,).
            orders: log-probabilities of the n-gram's orders, (N, K, V - 1).
            depth: length of the longest context that the n-gram knows, (N,).
            memory: of the sentences that the n-gram has counted.
            letters: of the same sentences.
            num_characters: that the n-gram has counted.
        """
        facts = self._facts(orders, depth, num_characters)
        found, sureness = recall(F.linear(states, self.query), ids, memory, num_outcomes=orders.shape[2])
        share = F.linear(torch.cat([states, facts], dim=1), self.share_weight, self.share_bias).sigmoid()  # (N, 1)
        remembered = ((1 - share) * found + share * orders[:, -1].exp()).clamp_min(_LEAST_PROBABILITY).log()
        inputs = torch.cat([states, facts, sureness / 3], dim=1)
        gates = torch.tanh(F.linear(inputs, self.gate_weight, self.gate_bias))  # (N, G)
        trust = F.softplus(F.linear(gates, self.trust_weight, self.trust_bias))  # (N, C)
        vectors = F.linear(torch.cat([states, gates], dim=1), self.output)  # (N, E)
        scale = _QUIET * math.sqrt(self.config.embedding_size)
        scores = F.linear(vectors * scale, letters.embedding[NUM_UNPREDICTED:], letters.bias[NUM_UNPREDICTED:])
        # Of OTHER, which names no character and is in no episode, the components alone tell.
        scores = scores.masked_fill(~letters.named[NUM_UNPREDICTED:], 0.0)
        for order in range(orders.shape[1]):
            scores = torch.addcmul(scores, trust[:, order : order + 1], orders[:, order])
        return F.log_softmax(torch.addcmul(scores, trust[:, -1:], remembered), dim=1)

    @torch.no_grad()
    def _facts(self, orders: Tensor, depth: Tensor, num_characters: int) -> Tensor:
        """How sure each order is, how long a context is known, and how much text there was, (N, F - 2)."""
        entropy = -(orders.exp() * orders).sum(dim=2)  # (N, K)
        largest = orders.amax(dim=2)
        longest = self.config.ngram.order
        known = F.one_hot(depth.clamp(max=longest), longest + 1).to(orders)
        amount = math.log10(min(max(num_characters, 1), MOST_CHARACTERS)) - 4
        return torch.cat([entropy / 2 - 1, largest + 1, known, torch.full_like(entropy[:, :1], amount)], dim=1)
