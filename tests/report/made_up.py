"""Rows of a study that never was: every number comes from a formula, so that tests can tell what is right."""

import csv
import gzip
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Row = dict[str, object]

LANGUAGES = {"aaa": 1, "bbb": 2, "ccc": 3, "ddd": 4, "eee": 1, "fff": 2, "ggg": 3, "hhh": 4}
"""Languages and the partition in which each is held out."""


def score(language: str, bits: float, **changes: object) -> Row:
    """A row for a text of 1,000 characters that costs so many bits each."""
    row: Row = {
        "kind": "score",
        "language": language,
        "partition": LANGUAGES.get(language),
        "regime": "zero-shot",
        "conditioning": "bare",
        "method": "univ",
        "network": None,
        "sentences": 0,
        "sample": None,
        "seed": 0,
        "nats": bits * 1000 * math.log(2),
        "characters": 1000,
        "seconds": 1.5,
        "unit": "0123456789abcdef",
    }
    return row | changes


def zero(language: str, method: str, conditioning: str, bits: float, **changes: object) -> Row:
    return score(language, bits, method=method, conditioning=conditioning, **changes)


def few(
    language: str, method: str, conditioning: str | None, bits: float, *, sample: int = 0, **changes: object
) -> Row:
    row = score(language, bits, regime="few-shot", method=method, conditioning=conditioning, sentences=100)
    return row | {"sample": sample} | changes


def joint(language: str, conditioning: str | None, bits: float, **changes: object) -> Row:
    row = score(language, bits, regime="joint", method="joint", conditioning=conditioning, sentences=None)
    return row | {"partition": None} | changes


def text(language: str, content: str, **changes: object) -> Row:
    row: Row = {
        "kind": "text",
        "language": language,
        "partition": 4,
        "conditioning": "oest",
        "method": "univ",
        "regime": "zero-shot",
        "sentences": 0,
        "temperature": 1.0,
        "text": content,
        "unit": "0123456789abcdef",
    }
    return row | changes


def unigram(language: str, counts: Mapping[str, int], *, name: str = "", family: str = "") -> Row:
    return {
        "kind": "unigram",
        "language": language,
        "name": name or f"Language {language}",
        "family": family or "Family of " + language[0],
        "counts": dict(counts),
        "unit": "0123456789abcdef",
    }


def signal(partition: int, conditioning: str = "bare", layer: str = "all") -> Row:
    edges = [-4 + 0.5 * step for step in range(17)]
    density = [math.exp(-(((low + 1 - 0.2 * partition) / 1.2) ** 2)) for low in edges[:-1]]
    density[3] = 0.0
    return {
        "kind": "signal-to-noise",
        "partition": partition,
        "conditioning": conditioning,
        "layer": layer,
        "edges": edges,
        "density": density,
        "unit": "0123456789abcdef",
    }


def environment(**changes: object) -> Row:
    row: Row = {
        "kind": "environment",
        "commit": "f" * 40,
        "versions": {"protoglot": "0.1.0", "torch": "2.13.0"},
        "machine": {"cpu": "made up", "cores": 2},
        "config": {"name": "made up", "samples": 3},
        "started": "2020-01-01T00:00:00",
        "finished": "2020-01-01T01:00:00",
        "seconds": 3600.0,
        "unit": "0123456789abcdef",
    }
    return row | changes


def failure(what: str = "adapt aaa", reason: str = "out of memory") -> Row:
    return {"kind": "failure", "unit": "fedcba9876543210", "what": what, "reason": reason}


def whole_study(languages: Mapping[str, int] = LANGUAGES, *, num_samples: int = 3) -> list[Row]:
    """Rows of every kind for every language; scores differ by language, setting, sample, and in no simple order."""
    rows: list[Row] = [environment(), failure()]
    for place, (language, partition) in enumerate(sorted(languages.items())):
        spread = 0.4 * math.sin(3.7 * place + 0.3)
        own = {"partition": partition}
        rows.append(zero(language, "ninf", "bare", 8.5 + 0.1 * spread, **own))
        for conditioning, level in (("bare", 4.3), ("oest", 4.6), ("plat", 5.4)):
            rows.append(zero(language, "univ", conditioning, level + 2 * spread * level / 5, **own))
        rows.append(zero(language, "calibrated", "bare", 4.1 + spread, **own))
        for sentences in (10, 30, 100):
            gain = 0.35 * math.log(100 / sentences)
            for sample in range(num_samples if sentences == 100 else 1):
                wobble = 0.02 * math.sin(11 * sample + place)
                levels = {
                    ("ninf", "bare"): 4.4,
                    ("fitu", "bare"): 2.95,
                    ("fitu", "oest"): 2.9,
                    ("univ", "bare"): 3.0,
                    ("univ", "oest"): 2.8 + 0.1 * math.sin(place),
                    ("l2-sp", "bare"): 2.97,
                    ("univ", "plat"): 3.2,
                }
                common = {"sentences": sentences, "sample": sample, **own}
                for (method, conditioning), level in levels.items():
                    bits = level + gain + spread + wobble
                    rows.append(few(language, method, conditioning, bits, **common))
                    if method != "ninf":
                        mixed = {"network": method, **common}
                        rows.append(few(language, "mixture", conditioning, bits * 0.95, **mixed))
                rows.append(few(language, "n-gram", None, 2.85 + 1.2 * gain + spread + wobble, **common))
        rows.append(joint(language, "bare", 1.65 + 0.3 * spread))
        rows.append(joint(language, "oest", 1.55 + 0.3 * spread))
        letters = "abcdefghijklmnop rstuvwxyz"
        counts = {
            letter: int(10_000 / (1 + column) * (1 + 0.5 * math.sin(place * column)))
            for column, letter in enumerate(letters)
        }
        counts[chr(0xE0 + place % 24)] = 500 * (1 + place % 7)
        rows.append(unigram(language, counts, name=f"Language {language}", family=f"Family {place % 5}"))
        for own_partition in (None, 4):
            rows.append(text(language, f"la {language} ta", partition=own_partition, regime="zero-shot"))
    for partition in sorted(set(languages.values())):
        rows += [signal(partition), signal(partition, "oest"), signal(partition, "bare", "lstm.0")]
    return rows


def write(path: Path, rows: Iterable[Row]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode("utf-8")
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def bits_of(rows: Sequence[Row], **wanted: object) -> list[float]:
    """Bits per character of the score rows with these values, computed from the rows alone."""
    return [
        row["nats"] / row["characters"] / math.log(2)
        for row in rows
        if row["kind"] == "score" and all(row[key] == value for key, value in wanted.items())
    ]


def without(rows: Sequence[Row], **lost: object) -> list[Row]:
    """The rows but those that have all of these values."""
    return [row for row in rows if any(row.get(key) != value for key, value in lost.items())]


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))
