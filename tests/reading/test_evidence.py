"""The compiled counts against dictionaries, and going back."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.reading.evidence import Evidence
from protoglot.reading.kernel import (
    CONTEXT_FEATURES,
    CONTEXTS,
    DISTINCT,
    EXCLUDED,
    EXCLUDED_COUNT,
    HEAD,
    LENGTH,
    NEXT,
    NUM_CONTEXTS,
    NUM_GENERAL,
    OFTEN,
    ONCE,
    TOTAL,
    TWICE,
)
from protoglot.reading.lexical import LONGEST_WORD
from protoglot.reading.lexicons import Lexicons
from reading.reference_evidence import ReferenceEvidence
from tiny_scorer import tiny_lexicons, tiny_texts

LETTERS = "aabbeEéÉ\u0301n'1日ت,.-?  \n\n"
texts = st.text(LETTERS, max_size=40)


def emit_all(evidence: Evidence, text: str):
    return evidence.read(text, np.ones(len(text), np.uint8))


def assert_same_evidence(text: str, lexicons: Lexicons | None = None) -> Evidence:
    evidence = Evidence(lexicons)
    batch = emit_all(evidence, text)
    reference = ReferenceEvidence(lexicons)
    for p, character in enumerate(text):
        chain, _ = reference.chain()
        met = [None, *reference.met]
        assert batch.position[p] == p
        assert batch.target[p] == (met.index(character) if character in met else 0)
        expected = [math.log(chain[symbol]) for symbol in met]
        np.testing.assert_allclose(batch.base[p, : len(met)], expected, atol=1e-5)
        assert np.all(batch.base[p, len(met) :] == -np.inf)
        assert sum(chain.values()) == pytest.approx(1.0, abs=1e-12)
        features = batch.place[p]
        for j, name in enumerate(CONTEXTS):
            of_context = features[j * CONTEXT_FEATURES : (j + 1) * CONTEXT_FEATURES]
            np.testing.assert_allclose(of_context, reference.features_of(name), atol=1e-5, err_msg=f"{p} {name}")
            found = {
                met[batch.row[k]]: (batch.cell[k], batch.entry[k])
                for k in range(batch.pointer[p], batch.pointer[p + 1])
                if batch.context[k] == j
            }
            wanted = reference.entries_of(name)
            assert found.keys() == wanted.keys(), (p, name)
            for symbol, (cell, row) in found.items():
                assert cell == wanted[symbol].cell, (p, name, symbol)
                np.testing.assert_allclose(
                    row, wanted[symbol].features, atol=1e-5, err_msg=f"{p} {name} {symbol!r}"
                )
        general = features[NUM_CONTEXTS * CONTEXT_FEATURES :]
        np.testing.assert_allclose(general[:NUM_GENERAL], reference.general_features(), atol=1e-5)
        np.testing.assert_array_equal(general[NUM_GENERAL:], np.concatenate(reference.last_classes()))
        reference.read(character)
    return evidence


@settings(max_examples=25)
@given(texts)
def test_all_evidence_is_that_of_dictionaries(text):
    assert_same_evidence(text)
    assert_same_evidence(text, tiny_lexicons())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "an ban, éÉ. an ban\nan ban an\nbanana nana bananana nana.\nBanana",
        "abcdefghijklmnopqrstuvwxyz" * 2,  # the longest orders come again
        "e\u0301e\u0301 E\u0301\u0301 e\u0301",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
        "\n\n  \n a \n\na",
    ],
)
def test_all_evidence_is_that_of_dictionaries_where_contexts_come_again(text):
    assert_same_evidence(text)


@pytest.mark.parametrize("code", ["xaa", "xad", "xae"])
def test_all_evidence_is_that_of_dictionaries_where_relatives_are_followed(code):
    text = "\n".join(dict(tiny_texts())[code]) + " " + "a" * 45 + " anna ß1 an ßan \u0301."
    evidence = assert_same_evidence(text, tiny_lexicons())
    assert evidence.choice.languages[0] == code
    assert evidence.is_met.sum() > 10


def chain_of(table: np.ndarray, head: int) -> list[np.ndarray]:
    found = []
    while head >= 0:
        found.append(table[head])
        head = table[head, NEXT]
    return found


@given(st.text("ab \n", max_size=200))
def test_counts_of_every_node_add_up(text):
    evidence = Evidence(tiny_lexicons())
    evidence.read(text)
    num_nodes, num_entries = evidence.sizes
    assert sum(evidence.nodes[:num_nodes, DISTINCT]) == num_entries
    assert evidence.nodes[0, TOTAL] == len(text)
    for node in evidence.nodes[:num_nodes]:
        entries = chain_of(evidence.entries, node[HEAD])
        excluded = [entry[EXCLUDED_COUNT] for entry in entries]
        assert len(entries) == node[DISTINCT]
        assert sum(entry[1] for entry in entries) == node[TOTAL]
        assert sum(excluded) == node[EXCLUDED]
        assert [node[ONCE], node[TWICE], node[OFTEN]] == [
            excluded.count(1),
            excluded.count(2),
            sum(x > 2 for x in excluded),
        ]


def state_of(evidence: Evidence) -> list[object]:
    """All that decides what comes; entries by node, as what is beyond the ends does not count."""
    num_nodes, num_entries = evidence.sizes
    occupied = np.sort(evidence.table[evidence.table > 0])
    return [
        evidence.text[: evidence.length].tolist(),
        evidence.characters.copy(),
        dict(evidence.symbols),
        evidence.num_symbols.tolist(),
        evidence.nodes[:num_nodes].tolist(),
        evidence.entries[:num_entries].tolist(),
        evidence.place.tolist(),
        evidence.gains.tolist(),
        evidence.costs.tolist(),
        evidence.choice.languages,
        evidence.shares.tolist(),
        evidence.word[: min(evidence.place[LENGTH], LONGEST_WORD)].tolist(),
        evidence.is_met.tolist(),
        occupied.tolist(),
    ]


@settings(max_examples=30)
@given(texts, st.lists(st.tuples(st.booleans(), texts), max_size=6))
def test_going_back_restores_everything(first, steps):
    evidence = Evidence(tiny_lexicons())
    evidence.read(first)
    marks = []
    for go_back, text in steps:
        if go_back and marks:
            mark, before = marks.pop()
            evidence.go_back(mark)
            assert state_of(evidence) == before
            evidence.forget(mark)
        else:
            before = state_of(evidence)
            marks.append((evidence.mark(), before))
            evidence.read(text)
    if marks:
        evidence.go_back(marks[0][0])  # over all later marks at once
        assert state_of(evidence) == marks[0][1]
        evidence.forget(marks[0][0])
    assert evidence.num_journal[0] == -1


def test_going_back_over_larger_tables():
    evidence = Evidence(tiny_lexicons())
    evidence.read("anna banana. ")
    before = state_of(evidence)
    mark = evidence.mark()
    rng = np.random.default_rng(0)
    for alphabet, length in (("abcdefgh ", 3000), ("".join(map(chr, range(0x400, 0x500))), 6000)):
        table = evidence.table
        evidence.read("".join(rng.choice(list(alphabet), length)))
        assert evidence.table is not table
        evidence.go_back(mark)
        assert state_of(evidence) == before
    fresh = Evidence(tiny_lexicons())
    fresh.read("anna banana. ")
    for one in (evidence, fresh):  # other text than was taken back
        one.read("éanna Bana")
    assert state_of(evidence)[:-1] == state_of(fresh)[:-1]


def test_a_mark_that_is_gone_is_refused():
    evidence = Evidence(tiny_lexicons())
    first = evidence.mark()
    second = evidence.mark()
    evidence.go_back(first)
    for mark in (second, Evidence(tiny_lexicons()).mark()):
        with pytest.raises(ValueError, match="wanted one of this reader"):
            evidence.go_back(mark)
    evidence.forget(second)
    evidence.forget(first)
    with pytest.raises(ValueError, match="forgotten"):
        evidence.go_back(first)
    assert evidence.num_journal[0] == -1


def test_a_copy_goes_its_own_way():
    evidence = Evidence(tiny_lexicons())
    evidence.mark()
    evidence.read("anna ba")
    before = state_of(evidence)
    twin = copy.copy(evidence)
    assert state_of(twin) == before
    twin.read("nana éß" * 50)
    assert state_of(evidence) == before
    evidence.read("nana éß" * 50)
    assert state_of(twin)[:-1] == state_of(evidence)[:-1]
    assert twin.num_journal[0] == -1


def test_evidence_for_what_comes_next_changes_nothing():
    evidence = Evidence(tiny_lexicons())
    evidence.read("anna banana. An")
    before = state_of(evidence)
    batch = evidence.next()
    assert state_of(evidence) == before
    twin = copy.copy(evidence)
    expected = emit_all(twin, "n")
    for name in ("position", "base", "place", "pointer", "row", "context", "cell", "entry"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(expected, name))


def test_more_entries_than_there_is_room_for():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    text = " ".join(text) + " x" * 30  # hundreds of letters after a blank, in many contexts
    whole = emit_all(Evidence(tiny_lexicons()), text)
    pieces = Evidence(tiny_lexicons())
    start = 0
    for character in text:
        part = emit_all(pieces, character)
        stop = start + len(part.row)
        np.testing.assert_array_equal(whole.row[start:stop], part.row)
        np.testing.assert_array_equal(whole.entry[start:stop], part.entry)
        start = stop
    assert start == len(whole.row)
    assert start > 400 * len(text) + 10_000
