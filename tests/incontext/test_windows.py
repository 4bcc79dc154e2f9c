import numpy as np

from protoglot.batching import make_stream
from protoglot.incontext.windows import NOTHING, Windows, windows_after
from protoglot.vocabulary import BEGIN, END, Vocabulary

VOCABULARY = Vocabulary("abc")
A, B, C = 3, 4, 5
SENTENCES = ["ab", "", "cab"]


def windows(size=3):
    return Windows(make_stream(SENTENCES, VOCABULARY).astype(np.int64), size)


def test_windows_end_where_the_sentence_begins():
    found = windows()
    assert len(found) == 8
    assert found.of(0, 8).tolist() == [
        [NOTHING, NOTHING, END],
        [NOTHING, END, A],
        [END, A, B],
        [NOTHING, NOTHING, END],
        [NOTHING, NOTHING, END],
        [NOTHING, END, C],
        [END, C, A],
        [C, A, B],
    ]


def test_windows_of_pieces_are_those_of_the_whole():
    whole = windows().of(0, 8)
    for first in range(8):
        assert (windows().of(first, 8) == whole[first:]).all()


def test_windows_after_contexts_are_those_of_the_text():
    contexts = [(BEGIN,), (BEGIN, A), (BEGIN, A, B), (END,), (END,), (END, C), (END, C, A), (C, A, B)]
    assert (windows_after(contexts, 3) == windows().of(0, 8)).all()
    assert windows_after([(END, C, A, B)], 2).tolist() == [[A, B]]
