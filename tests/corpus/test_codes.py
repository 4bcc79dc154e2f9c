import re

from hypothesis import given
from hypothesis import strategies as st

from protoglot.corpus.codes import distinct_codes, safe_code


@given(st.text())
def test_safe_codes_are_safe_and_stay_as_they_are(text):
    code = safe_code(text)
    assert re.fullmatch(r"([A-Za-z0-9_]+(-[A-Za-z0-9_]+)*)?", code)
    assert safe_code(code) == code


@given(st.lists(st.sampled_from(["eng", "Eng", "eng-2", "eng-2-2", "fra"])))
def test_distinct_codes_differ_even_without_case(codes):
    distinct = distinct_codes(codes)
    assert len({code.casefold() for code in distinct}) == len(codes)
    assert all(new.startswith(old) for new, old in zip(distinct, codes, strict=True))
    assert distinct[:1] == codes[:1]
