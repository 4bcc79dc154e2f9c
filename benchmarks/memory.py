"""Memory taken by loading a corpus for training: the peak of the process before and after.

Without a corpus of one's own, a synthetic folder of as many characters is made in a temporary directory.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path

from environment import save_result

from protoglot.batching import stream_lengths
from protoglot.corpus.opening import open_corpus
from protoglot.folds import fold_for
from protoglot.training.data import Inventory, read_training_data

WANTED_MEGABYTES = 1000


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", help="a corpus; by default a synthetic one")
    parser.add_argument("--characters", type=float, default=78e6, help="size of the synthetic corpus")
    parser.add_argument("--languages", type=int, default=77)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.corpus is None:
            write_synthetic(Path(folder), int(arguments.characters), arguments.languages)
        before = peak_megabytes()
        start = time.perf_counter()
        corpus = open_corpus(arguments.corpus or folder)
        fold = fold_for([record.code for record in corpus.languages()], "none")
        data = read_training_data(
            corpus, fold, inventory=Inventory.CORPUS, with_features=False, validation_characters=10_000
        )
        seconds = time.perf_counter() - start
    after = peak_megabytes()
    num_characters = sum(stream_lengths(data.streams).values())
    result = {
        "corpus": Path(arguments.corpus).name if arguments.corpus else "synthetic",
        "training_characters": num_characters,
        "seconds": round(seconds, 1),
        "peak_megabytes_before": round(before),
        "peak_megabytes_after": round(after),
        "wanted_megabytes": WANTED_MEGABYTES,
    }
    print(f"{num_characters / 1e6:.1f} M training characters in {seconds:.1f} s")
    print(f"peak memory {before:.0f} MB before, {after:.0f} MB after (wanted at most {WANTED_MEGABYTES})")
    print(f"saved {save_result('memory', result)}")


def write_synthetic(folder: Path, num_characters: int, num_languages: int) -> None:
    """Random words, one sentence a line."""
    generator = random.Random(0)
    per_language = num_characters // num_languages
    for number in range(num_languages):
        words = [
            "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9)))
            for _ in range(2000)
        ]
        written = 0
        with (folder / f"q{number:02}.txt").open("w", encoding="utf-8") as stream:
            while written < per_language:
                sentence = " ".join(generator.choices(words, k=20))
                written += stream.write(sentence + "\n")


def peak_megabytes() -> float:
    """High-water mark of this process's memory."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
