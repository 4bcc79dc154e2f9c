"""The folders of text that the installed bundle is made of, from the research corpora.

    python benchmarks/training_texts.py --ebible PATH --bibles PATH --out FOLDER

makes ``FOLDER/free`` and ``FOLDER/other`` of links, each with a manifest, for ``protoglot meta-train`` and ``build``:
texts whose licence lets them be passed on in altered form, and others. It prints the languages to leave out: those of
the reading benchmark and those for validation.
"""

import argparse
import csv
import re
from pathlib import Path

from reading_texts import BIBLE_CODES, ELD_CODES, ELD_VALIDATION, UDHR_CODES, languages_for

COLUMNS = ("code", "iso639_3", "language", "family", "source", "licence")
_FREE = re.compile(r"\bCC0\b|public domain|\bCC BY(-SA)? [34]|apache", re.IGNORECASE)
_RESTRICTED = re.compile(r"\bN[CD]\b", re.IGNORECASE)


def main() -> None:
    """Make both folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ebible", type=Path, required=True)
    parser.add_argument("--bibles", type=Path, required=True, help="folder of bible77")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.out.exists():
        raise SystemExit(f"--out {arguments.out}: exists already; wanted a new folder")
    chosen: dict[bool, list[tuple[Path, dict[str, str]]]] = {True: [], False: []}
    for row in read_manifest(arguments.ebible):
        if row["use"] == "train":
            chosen[row["free"] == "yes"].append((arguments.ebible, row))
    for row in read_manifest(arguments.bibles):
        if row["code"] not in BIBLE_CODES:
            chosen[is_free(row["licence"])].append((arguments.bibles, row))
    for free, name in ((True, "free"), (False, "other")):
        folder = arguments.out / name
        folder.mkdir(parents=True)
        with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
            writer.writeheader()
            for place, row in chosen[free]:
                (folder / f"{row['code']}.txt").symlink_to((place / f"{row['code']}.txt").resolve())
                writer.writerow({"iso639_3": row["code"], **row})
        print(f"{folder}: {len(chosen[free])} texts")
    print(f"--leave-out {','.join(sorted(left_out(arguments.ebible)))}")


def is_free(licence: str) -> bool:
    """Whether what was learned from a text's letters may be passed on, by the words of its licence.

    >>> is_free("CC BY-SA 4.0"), is_free("CC BY-ND 4.0"), is_free("Public Domain (Louis Segond)"), is_free("?")
    (True, False, True, False)
    """
    return bool(_FREE.search(licence)) and not _RESTRICTED.search(licence)


def left_out(ebible: Path) -> set[str]:
    """Languages that are for benchmarks or validation."""
    marked = {*languages_for("test", ebible), *languages_for("validation", ebible)}
    return marked.union(BIBLE_CODES, ELD_CODES, ELD_VALIDATION, UDHR_CODES)


def read_manifest(corpus: Path) -> list[dict[str, str]]:
    """Rows of a corpus."""
    with (corpus / "manifest.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    main()
