"""What makes a page doubtful to learn a language from: too short, not sentences, or maybe not in that language.

A page is learned from all the same. Doubts are raised only where the evidence is strong: who is warned without need
does not read the next warning.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import regex

from protoglot.languages import language_name
from protoglot.reading.lexicons import Lexicons, words_of
from protoglot.reading.nearness import nearness

FEWEST_LINES = 5

_MOST_IN_WORD = 20  # characters of a line that may be a word
_WORD_LIST = 0.9  # share of such lines
_FEWEST_WORDS = 50  # that say which language a page is in
_SAMPLE = 20_000  # characters of a page that are looked at
# Half the words of a page or more are among the commonest words of its own language, and of no other but a near one.
_MANY_WORDS = 0.5
_MANY_MORE = 0.25
_NEAR = 2.5  # standard deviations; see protoglot.reading.nearness

_TAG = r"(?<!<)<(?:/?[A-Za-z][\w:.-]*(?:\s+[\w:-]+\s*=[^<>]*|\s*/?)|!--[^<>]*|!DOCTYPE[^<>]*|\?xml[^<>]*)>(?!>)"
_ENTITY = r"&(?:[a-z]{2,8}|\#\d{2,6}|\#x[0-9a-fA-F]{2,6});"
_MARKER = r"(?:^|\s)\\\+?[a-z]{1,6}\d?\*?(?=\s|$)"
_MARKUP = regex.compile(f"{_TAG}|{_ENTITY}|{_MARKER}")
# Scripts that put no blanks between words: a line of them is no single word.
_WITHOUT_BLANKS = regex.compile(
    "".join(
        ["[", *(rf"\p{{Script={script}}}" for script in ("Han", "Hiragana", "Katakana", "Thai", "Lao")),
         *(rf"\p{{Script={script}}}" for script in ("Khmer", "Myanmar", "Tibetan")), "]"]
    )
)  # fmt: skip


def doubts_about(sentences: Sequence[str]) -> Iterator[str]:
    """What is wrong with a page, in a line each; nothing is said of one that is fine.

    >>> list(doubts_about(["<p>One line.</p>", "<p>Another &amp; more.</p>"]))
    ['2 lines; wanted at least 5, better a hundred', '2 of 2 lines have markup (<p>); wanted plain text']
    """
    if len(sentences) < FEWEST_LINES:
        noun = "line" if len(sentences) == 1 else "lines"
        yield f"{len(sentences)} {noun}; wanted at least {FEWEST_LINES}, better a hundred"
    found = [match.group().strip() for sentence in sentences if (match := _MARKUP.search(sentence))]
    if len(found) >= min(2, len(sentences)) and found:
        yield f"{len(found):,} of {len(sentences):,} lines have markup ({found[0][:20]}); wanted plain text"
    words = [sentence for sentence in sentences if _is_word(sentence)]
    if len(sentences) >= FEWEST_LINES and len(words) >= _WORD_LIST * len(sentences):
        yield f"{len(words):,} of {len(sentences):,} lines are single words; wanted sentences"


def doubt_about_language(sentences: Sequence[str], code: str, lexicons: Lexicons) -> str | None:
    """Why a page may be in another language than its code says; ``None`` if nothing much speaks for that.

    The words of the page are looked up in the lexicons of the languages that its letters are most like. Only a page in
    a language of the lexicons can be noticed.

    Args:
        sentences: of the page.
        code: of its language; of one that URIEL does not have, nothing is said.
        lexicons: of other languages, and maybe of its own.
    """
    near = nearness(code, lexicons.codes)
    page = "\n".join(sentences)[:_SAMPLE]
    words = [word for word, _ in words_of(page)]
    if near is None or len(words) < _FEWEST_WORDS:
        return None

    def share_in(language: str) -> float:
        known = lexicons.words(language)
        return sum(word in known for word in words) / len(words)

    letters = np.array([lexicons.number_of(character) for character in page], np.int64)
    share, other = max(
        ((share_in(found), found) for found in lexicons.choose(letters).languages), default=(0.0, code)
    )
    if other == code or share < _MANY_WORDS:
        return None
    if code in lexicons.codes:
        is_elsewhere = share > share_in(code) + _MANY_MORE
    else:
        is_elsewhere = near[lexicons.codes.index(other)] < _NEAR
    if not is_elsewhere:
        return None
    name = language_name(other) or other
    return f"language {code}: {share:.0%} of the words are common in {name} ({other}); wanted the language of the text"


def _is_word(sentence: str) -> bool:
    return (
        len(sentence) <= _MOST_IN_WORD
        and not any(character.isspace() for character in sentence)
        and not _WITHOUT_BLANKS.search(sentence)
    )
