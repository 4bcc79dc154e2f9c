"""Dynamic evaluation: the output layers of the scorer go on learning while a text is read.

One step of Adam on the mean log loss of every 64 characters read changes what a reader's own copy of the output layers
holds: those of the network of the place, and of the network that looks at each candidate. The first layers stay.
"""

import numpy as np
from numba import njit

NUM_CHARACTERS_PER_STEP = 64
LEARNING_RATE = 5e-4
FIRST_DECAY = 0.9
SECOND_DECAY = 0.99

NAMES = ("Po", "po_bias", "Kinds", "kinds_bias", "v2", "b2")
"""The weights that go on learning, in the order in which they stand in one vector."""


@njit(cache=True, nogil=True)
def step(weights, gradient, first, second, counts):
    """Adam, once enough characters were read; ``counts`` holds characters since the last step, and steps."""
    counts[0] += 1
    if counts[0] < NUM_CHARACTERS_PER_STEP:
        return
    counts[0] = 0
    counts[1] += 1
    first_share = 1.0 - FIRST_DECAY ** counts[1]
    second_share = 1.0 - SECOND_DECAY ** counts[1]
    for i in range(len(weights)):
        g = gradient[i] / NUM_CHARACTERS_PER_STEP
        gradient[i] = 0.0
        first[i] += (1.0 - FIRST_DECAY) * (g - first[i])
        second[i] += (1.0 - SECOND_DECAY) * (g * g - second[i])
        weights[i] -= LEARNING_RATE * (first[i] / first_share) / (np.sqrt(second[i] / second_share) + 1e-8)
