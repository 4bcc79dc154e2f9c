import re

from hypothesis import given
from hypothesis import strategies as st

from protoglot.corpus.codes import distinct_codes, safe_code


@given(st.text())
def test_safe_codes_are_safe_and_stay_as_they_are(text):
    code = safe_code(text)
    assert re.fullmatch(r"([A-Za-z0-9_]+(-[A-Za-z0-9_]+)*)?", code)
    assert safe_code(code) == code


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["eng", "Eng", "fra", "und"]), st.sampled_from(["KJV", "kjv", "KJV-2", "2", "?", ""])
        )
    )
)
def test_each_text_has_its_own_code_that_begins_with_its_language(texts):
    codes = distinct_codes(texts)
    assert len({code.casefold() for code in codes}) == len(texts)
    assert all(code == safe_code(code) for code in codes)
    assert all(code.startswith(language) for code, (language, _) in zip(codes, texts, strict=True))
    assert "und" not in codes
    for language in ("eng", "fra"):
        first = next((code for code in codes if code.casefold().startswith(language)), language)
        assert first.casefold() == language
