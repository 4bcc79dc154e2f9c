"""Looking up a language among a corpus's records, with an error that helps."""

import difflib
from collections.abc import Iterable

from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import CorpusError


def find_record(records: Iterable[LanguageRecord], code: str, *, corpus: str) -> LanguageRecord:
    """The record of a code.

    Raises:
        CorpusError: naming the nearest codes and names, if there is none.
    """
    by_code = {record.code: record for record in records}
    if code in by_code:
        return by_code[code]
    by_name = {record.name.casefold(): record.code for record in by_code.values()}
    near = difflib.get_close_matches(code, by_code, n=3, cutoff=0.5)
    near += [by_name[name] for name in difflib.get_close_matches(code.casefold(), by_name, n=3)]
    shown = ", ".join(f"{near_code} ({by_code[near_code].name})" for near_code in dict.fromkeys(near))
    hint = f"nearest: {shown}" if shown else f"wanted one of its {len(by_code)} codes"
    raise CorpusError(f"corpus {corpus}: no language {code!r}; {hint}")
