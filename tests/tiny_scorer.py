"""A scorer of random weights, small enough for tests and independent of the one that is installed."""

from functools import lru_cache

import numpy as np

from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.first_occurrence import FirstOccurrence
from protoglot.reading.kernel import ENTRY_FEATURES, NUM_CELLS, NUM_CONTEXTS, PLACE_FEATURES
from protoglot.reading.lexicons import Lexicons
from protoglot.reading.scorer import NUM_SPECIAL, Scorer
from protoglot.reading.scoring import NUM_LETTERS

KNOWN = "\n .,aeioubdkmnrstAEKé'тд日本\u0301-1"
"""Characters that the network of letters knows."""

OFTEN_FIRST = KNOWN + "zÄйQ?語"
"""Characters whose first occurrence is predicted one by one."""

HIDDEN, COMPARED, PLACE, LETTERS, EMBEDDING, LANGUAGE, QUERY = 8, 5, 16, 16, 5, 4, 6

_SENTENCES = (
    "Kard a mente, anna est.",
    "Ura dok mins a banan: kard est!",
    "A tendaro ba nesti, a mentena dok.",
    "Nesti ura e\u0301 bas, ted a rodan est.",
    "Dok ted a kardan mins, anna bas nen.",
    "E\u0301 banan ba mente ura, nen tendaro.",
)
_SHARED = ("Anna ban Kenda é n'ana.", "Banda an Kenda, an Ésta.", "Unesko bébé 日ت.")

CHANGES = {
    "xaa": ("", ""),
    "xab": ("ae", "eé"),
    "xac": ("dkt", "tdb"),
    "xad": ("aeioubdkmnrst", "еаиоубдкмнрст"),
    "xae": ("aeiou", "uoaei"),
    "xaf": ("mnrs", "stmb"),
}
"""Languages of the tiny lexicons: which letters of the first each changes, and to what."""


def tiny_texts() -> list[tuple[str, list[str]]]:
    """Sentences of six made-up languages, which have some words in common."""
    return [
        (code, [sentence.translate(str.maketrans(*change)) for sentence in _SENTENCES] + list(_SHARED))
        for code, change in CHANGES.items()
    ]


@lru_cache(maxsize=1)
def tiny_lexicons() -> Lexicons:
    """Their lexicons; not all words are in them."""
    return Lexicons.of(tiny_texts(), num_words=24)


def tiny_scorer(seed: int = 0) -> Scorer:
    """The same for the same seed; every weight has a part in what it says."""
    rng = np.random.default_rng(seed)
    num_letters = len(KNOWN) + NUM_SPECIAL
    num_out = 2 * NUM_CONTEXTS + 1 + 2 * HIDDEN
    shapes = {
        "W": (NUM_CONTEXTS, ENTRY_FEATURES, HIDDEN),
        "S": (NUM_CONTEXTS * NUM_CELLS, HIDDEN),
        "wb": (HIDDEN,),
        "C": (NUM_CLASSES + 1, HIDDEN),
        "W2": (HIDDEN, HIDDEN),
        "b2": (HIDDEN,),
        "v2": (HIDDEN,),
        "W3": (HIDDEN, COMPARED),
        "U3": (HIDDEN, COMPARED),
        "u3": (COMPARED,),
        "b3": (COMPARED,),
        "v3": (COMPARED,),
        "P1": (PLACE_FEATURES, PLACE),
        "p1_bias": (PLACE,),
        "P1_flag": (PLACE,),
        "P2": (PLACE, PLACE),
        "p2_bias": (PLACE,),
        "Po": (PLACE, num_out),
        "po_bias": (num_out,),
        "Kinds": (PLACE, NUM_CLASSES + 1),
        "kinds_bias": (NUM_CLASSES + 1,),
        "letters": (num_letters, EMBEDDING),
        "classes": (NUM_CLASSES + 1, EMBEDDING),
        "language": (num_letters, LANGUAGE),
        "Lu": (LANGUAGE, LETTERS),
        "Lx": (EMBEDDING, LETTERS),
        "L1": (NUM_LETTERS * EMBEDDING, LETTERS),
        "l1_bias": (LETTERS,),
        "L2": (LETTERS, LETTERS),
        "l2_bias": (LETTERS,),
        "Lp": (LETTERS, PLACE),
        "lp_bias": (PLACE,),
        "Lo": (LETTERS, QUERY),
        "lo_bias": (QUERY,),
        "O": (num_letters, QUERY),
        "o_bias": (num_letters,),
        "gate": (PLACE, 1),
        "gate_bias": (1,),
    }
    weights = {}
    for name, shape in shapes.items():
        fan_in = 6 if name == "S" else shape[-2] if len(shape) > 1 else 3  # one row of S counts for an entry
        scale = 0.5 / np.sqrt(fan_in)
        weights[name] = rng.normal(0.0, scale, shape).astype(np.float32)
    weights["po_bias"][:NUM_CONTEXTS] -= 2.5  # many contexts say the same
    return Scorer(weights, list(KNOWN), tiny_first_occurrence(seed), tiny_lexicons())


def tiny_first_occurrence(seed: int = 0) -> FirstOccurrence:
    rng = np.random.default_rng(seed + 1000)
    return FirstOccurrence(
        list(OFTEN_FIRST),
        np.log(rng.uniform(0.05, 1.0, len(OFTEN_FIRST))),
        np.array([-1.0, 0.9, 1.5, 0.7, 0.4, 0.6, 0.8, 0.3]),
        rng.normal(0.0, 0.5, (NUM_CLASSES + 1, NUM_CLASSES)),
    )
