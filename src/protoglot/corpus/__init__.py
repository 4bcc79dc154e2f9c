"""Text in many languages, whatever form it comes in."""

from protoglot.corpus.interface import Corpus, LanguageRecord
from protoglot.corpus.opening import open_corpus

__all__ = ["Corpus", "LanguageRecord", "open_corpus"]
