import math

import pytest
import torch

from protoglot.incontext.company import NUM_FACTS, NUM_RELATIONS, company_of

A, B, C = 3, 4, 5
TEXT = torch.tensor([1, A, B, A, B, A, C, 1])  # 1 is END
IDS, NEXT = TEXT[:-1], TEXT[1:]


def dense(relation, size=7):
    found = torch.zeros(size, size)
    found[relation.receivers, relation.givers] = relation.shares
    return found


def test_shares_are_counts():
    after, before, _, _ = (dense(each) for each in company_of(IDS, NEXT, 7).relations)
    # B twice and C once, and one for nothing
    assert after[A].tolist() == pytest.approx([0, 0, 0, 0, 2 / 4, 1 / 4, 0])
    assert before[A].tolist() == pytest.approx([0, 1 / 4, 0, 0, 2 / 4, 0, 0])


def test_two_characters_further():
    _, _, after, before = (dense(each) for each in company_of(IDS, NEXT, 7).relations)
    assert after[A].tolist() == pytest.approx([0, 1 / 4, 0, 2 / 4, 0, 0, 0])
    assert before[A].tolist() == pytest.approx([0, 0, 0, 2 / 3, 0, 0, 0])


def test_company_is_a_weighted_sum():
    values = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    for relation in company_of(IDS, NEXT, 7).relations:
        torch.testing.assert_close(relation.pass_on(values), dense(relation) @ values)


def test_variety_is_that_of_the_shares():
    for relation in company_of(IDS, NEXT, 7).relations:
        entropy, most = relation.variety(7)
        shares = dense(relation)
        torch.testing.assert_close(entropy, -torch.special.xlogy(shares, shares).sum(dim=1))
        torch.testing.assert_close(most, shares.amax(dim=1))


def test_facts_of_characters_that_do_not_occur_are_finite_and_alike():
    company = company_of(IDS, NEXT, 7)
    assert company.facts.shape == (7, NUM_FACTS)
    assert len(company.relations) == NUM_RELATIONS
    assert company.facts.isfinite().all()
    assert torch.equal(company.facts[0], company.facts[6])
    assert company.frequencies.sum() == pytest.approx(1)
    assert company.facts[A, 0] == pytest.approx(math.log(3.5) / 3 - 1)


def test_names_of_characters_do_not_matter():
    """Where characters trade ids, what is told of them goes with them."""
    order = torch.tensor([0, 1, 2, C, A, B, 6])
    one, other = company_of(IDS, NEXT, 7), company_of(order[IDS], order[NEXT], 7)
    torch.testing.assert_close(other.facts[order], one.facts)
    torch.testing.assert_close(other.language, one.language)
    for mine, theirs in zip(one.relations, other.relations, strict=True):
        torch.testing.assert_close(dense(theirs)[order][:, order], dense(mine))


def test_facts_are_what_they_are_called():
    company = company_of(IDS, NEXT, 7)
    after, before = company.relations[:2]
    wanted = [
        math.log(3.5) / 3 - 1,  # three times
        0,
        float(after.variety(7)[0][A]) / 2 - 0.5,
        float(before.variety(7)[0][A]) / 2 - 0.5,
        2 / 4,
        2 / 4,
        math.log10(7) - 3.5,
    ]
    assert company.facts[A].tolist() == pytest.approx(wanted)
    assert company.facts[1, 4:6].tolist() == pytest.approx(
        [1 / 2, 1 / 2]
    )  # END: A after it, C before it, once each
    assert company.facts[C, 4:6].tolist() == pytest.approx([1 / 2, 1 / 2])
    shares = [3 / 7, 2 / 7, 1 / 7, 1 / 7]
    assert company.frequencies.tolist() == pytest.approx([0, 1 / 7, 0, 3 / 7, 2 / 7, 1 / 7, 0])
    entropy = -sum(share * math.log(share) for share in shares)
    assert company.language.tolist() == pytest.approx([entropy / 2 - 1, 4 / 50 - 1, 10 / 7])


def test_after_and_before_are_told_apart():
    text = torch.tensor([1, A, B, A, C, A, B, 1])  # B and C after A, and A before both
    facts = company_of(text[:-1], text[1:], 7).facts
    assert facts[B, 5] == pytest.approx(2 / 3)  # nothing but A before it, twice
    assert facts[B, 4] == pytest.approx(1 / 3)  # A and END after it


def test_more_characters_than_an_alphabet_has_look_like_so_many():
    ids = torch.arange(1, 1000)
    assert company_of(ids[:-1], ids[1:], 1000).language[1] == 3


@pytest.mark.parametrize("length", [0, 1, 2])
def test_the_shortest_texts_tell_something_too(length):
    company = company_of(IDS[:length], NEXT[:length], 7)
    assert company.facts.isfinite().all()
    assert company.language.isfinite().all()
