from protoglot.study.ngram_choice import choose_ngram


def test_text_that_repeats_itself_asks_for_long_contexts():
    sentences = ["abcabdabcabd" * 3 for _ in range(10)]
    assert choose_ngram(sentences, [1, 5])[0] == 5


def test_text_without_order_asks_for_short_ones():
    sentences = ["abdc", "dbca", "cabd", "bdac", "dcab", "acdb"]
    assert choose_ngram(sentences, [1, 6])[0] == 1


def test_one_sentence_is_enough():
    assert choose_ngram(["a"], [3, 2])[0] == 2
