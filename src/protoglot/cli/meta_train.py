"""``protoglot meta-train``."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED
from protoglot.cli.main import EXIT_INTERRUPTED
from protoglot.cli.output import progress_of_amount
from protoglot.storage import append_line

if TYPE_CHECKING:
    from protoglot.reading.episodes import MetaText
    from protoglot.reading.meta_training import MetaTrainingConfig, Progress
    from protoglot.training.budget import Budget

LEARNING_RATE = 2.5e-3
"""Of AdamW."""

_NUM_REPORTS = 20
_FREE_SHARE = 0.52  # of the episodes; of each group, texts are drawn evenly, but small ones less often
_SMALL = 40_000  # characters
_MOST_DISTINCT = 600  # characters of a text; with more, an episode takes too long


@click.command("meta-train")
@click.option(
    "--free",
    "free",
    metavar="NAME|PATH",
    multiple=True,
    help="Corpus whose letters may be learned: its licence lets it be passed on. Can be given several times.",
)
@click.option(
    "--other",
    "other",
    metavar="NAME|PATH",
    multiple=True,
    help="Corpus of which nothing but the use of evidence is learned, and no letter. Can be given several times.",
)
@click.option(
    "--leave-out", metavar="CODE,...", default="", help="Languages that are not to be read, under any code."
)
@click.option(
    "--budget", metavar="AMOUNT", default="1h", show_default=True, help="How long: 20min, 2h, 60M-characters."
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=LEARNING_RATE,
    show_default=True,
    help="Of AdamW.",
)
@click.option("--tiny", is_flag=True, help="A very small scorer, to try the command.")
@click.option(
    "--threads", type=click.IntRange(1), default=2, show_default=True, help="Episodes worked on at once."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the new scorer."
)
@click.option(
    "--start",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Scorer to go on from, trained on the same texts. Its settings must be the same.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything that is drawn.")
def meta_train(
    free: tuple[str, ...],
    other: tuple[str, ...],
    leave_out: str,
    budget: str,
    learning_rate: float,
    tiny: bool,
    threads: int,
    out: Path,
    start: Path | None,
    seed: int,
) -> int:
    """Train the scorer of the reader on many languages.

    Reads episodes of all languages: sentences and running text of one of them, as a reader would meet them. The scorer
    is trained to predict every character from the evidence before it. Its network of letters sees the free corpora
    alone. Last, what predicts characters that were not met before is fitted.

    Ctrl-C saves and stops; the same command goes on. Progress is kept beside the scorer (OUT.steps.jsonl).

    \b
    Examples:
      protoglot meta-train --free eld --leave-out yor,cat --budget 20min --out scorer
      protoglot meta-train --free bibles/free --other bibles/other --out scorer
      protoglot meta-train --free eld --start scorer --seed 1 --budget 2h --out better
    """
    from protoglot.reading.meta_training import check_budget
    from protoglot.training.budget import Budget

    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    if not free:
        raise click.UsageError("--free: none; wanted at least one corpus whose letters may be learned")
    amount = Budget.parse(budget)
    check_budget(amount)
    texts, facts = read_texts(free, other, leave_out)
    config = make_config(learning_rate=learning_rate, seed=seed, tiny=tiny)
    unfinished = out.with_name(f"{out.name}.unfinished")
    steps = out.with_name(f"{out.name}.steps.jsonl")
    finished = make_scorer(
        texts, {"texts": facts}, config, amount, out, unfinished, steps, num_threads=threads, start=start
    )
    if not finished:
        click.echo(f"{unfinished}: what is done so far. Go on with the same command.")
        return EXIT_INTERRUPTED
    return 0


def make_config(
    *, learning_rate: float = LEARNING_RATE, seed: int = 0, tiny: bool = False
) -> "MetaTrainingConfig":
    """Settings of meta-training."""
    from protoglot.reading.episodes import EpisodeConfig
    from protoglot.reading.meta_training import MetaTrainingConfig
    from protoglot.reading.network import ScorerConfig

    if not tiny:
        return MetaTrainingConfig(learning_rate=learning_rate, seed=seed)
    return MetaTrainingConfig(
        network=ScorerConfig(candidate_units=8, place_units=16, letter_units=16),
        episodes=EpisodeConfig(most_scattered=12, most_running=12, num_positions=100),
        learning_rate=learning_rate,
        seed=seed,
    )


def make_scorer(
    texts: "Sequence[MetaText]",
    provenance: Mapping[str, object],
    config: "MetaTrainingConfig",
    budget: "Budget",
    out: Path,
    unfinished: Path,
    steps: Path,
    *,
    num_threads: int,
    start: Path | None = None,
) -> bool:
    """Meta-train a scorer and save it, or go on where that was stopped; Ctrl-C saves and stops.

    Args:
        texts: to learn from.
        provenance: to be kept with the scorer, beside what is known here.
        config: settings.
        budget: how long.
        out: directory of the scorer.
        unfinished: directory of checkpoints, which is removed at the end.
        steps: file that tells how it went.
        num_threads: episodes worked on at once.
        start: scorer to go on from.

    Returns:
        Whether it is finished.
    """
    import json
    import shutil

    from protoglot.cli.stopping import stop_on_signals
    from protoglot.reading.meta_training import MetaTrainer
    from protoglot.reading.scorer import Scorer
    from protoglot.study.environment import find_commit
    from protoglot.training.checkpoints import lock_run

    commit = find_commit()  # of the code that trains, whatever is checked out when it ends
    first = None if start is None else Scorer.load(start)
    lock = lock_run(unfinished)
    trainer = MetaTrainer(texts, config, budget, unfinished=unfinished, num_threads=num_threads, start=first)
    num_free = sum(text.may_know_letters for text in trainer.texts)
    click.echo(f"{len(trainer.texts)} texts, {num_free} of them free; {len(trainer.characters)} letters", err=True)
    journal = _Journal(steps, trainer.share_used())
    with (
        stop_on_signals(lambda: click.echo("stopping after this step ...", err=True)) as stop_asked,
        progress_of_amount(1.0 - trainer.share_used(), "meta-training") as journal.advance,
    ):
        finished = trainer.run(on_step=journal.write, stop_asked=stop_asked)
    if not finished:
        return False
    with progress_of_amount(1.0, "first occurrences") as advance:
        scorer = trainer.scorer(on_progress=advance)
    scorer.save(
        out,
        provenance={
            **provenance,
            "commit": commit,
            "budget": str(budget),
            "steps": trainer.state.step,
            "characters_scored": trainer.state.num_characters,
            "seconds": round(trainer.state.seconds, 1),
            "seed": config.seed,
            "start": None if start is None or first is None else _facts_of_start(start, first.identity),
            "settings": json.loads(json.dumps(trainer.config_facts())),
        },
    )
    lock.release()
    shutil.rmtree(unfinished, ignore_errors=True)
    click.echo(
        f"{out}: a scorer, trained on {trainer.state.num_characters:,} characters of {len(trainer.texts)} texts"
    )
    return True


def _facts_of_start(path: Path, identity: str) -> dict[str, object]:
    """Of the scorer that training started from: which it is, and how it was made."""
    from protoglot.artefacts import read_header

    provenance = read_header(path)["content"].get("provenance", {})
    kept = {key: value for key, value in provenance.items() if key not in ("texts", "settings")}
    return {"sha256": identity, **kept}


def read_texts(
    free: Sequence[str], other: Sequence[str], leave_out: str
) -> "tuple[list[MetaText], list[dict[str, object]]]":
    """Texts of all corpora but of languages that are left out, and where each is from.

    Args:
        free: corpora whose letters may be learned.
        other: corpora of which nothing but the use of evidence is learned.
        leave_out: codes joined by commas.
    """
    import hashlib
    from dataclasses import replace

    from protoglot.corpus.opening import open_corpus
    from protoglot.languages import codes_for
    from protoglot.reading.episodes import MetaText

    left_out = {code.strip() for code in leave_out.split(",") if code.strip()}
    barred = left_out.union(*(codes_for(code) for code in left_out))
    texts, facts = [], []
    for names, is_free in ((free, True), (other, False)):
        for name in names:
            corpus = open_corpus(name)
            for record in corpus.languages():
                if not barred.isdisjoint({record.code, record.iso639_3, *codes_for(record.iso639_3)}):
                    continue
                sentences = list(corpus.sentences(record.code))
                joined = "\n".join(sentences)
                if len(sentences) < 2 or len(set(joined)) > _MOST_DISTINCT:
                    continue
                same = codes_for(record.iso639_3) | {record.code, record.iso639_3}
                texts.append(MetaText(record.iso639_3, sentences, is_free, same_language=same))
                facts.append(
                    {
                        "code": record.code,
                        "corpus": Path(name).name,
                        "licence": record.licence,
                        "free": is_free,
                        "sha256": hashlib.sha256(joined.encode()).hexdigest(),
                    }
                )
    weights = [min(1.0, sum(map(len, text.sentences)) / _SMALL) for text in texts]
    total = {
        is_free: sum(w for w, t in zip(weights, texts, strict=True) if t.may_know_letters == is_free)
        for is_free in (True, False)
    }
    share = {True: _FREE_SHARE, False: 1 - _FREE_SHARE}
    weighted = [
        replace(text, weight=weight / total[text.may_know_letters] * share[text.may_know_letters])
        for text, weight in zip(texts, weights, strict=True)
    ]
    return weighted, facts


class _Journal:
    """Tells how meta-training goes, on the screen and in a file."""

    def __init__(self, path: Path, share: float) -> None:
        self.advance: Callable[[float], None] = lambda share: None
        self._path = path
        self._told = share
        self._reported = int(share * _NUM_REPORTS)
        self._recent: list[float] = []
        self._characters = 0
        self._since = time.monotonic()
        if not share:
            path.unlink(missing_ok=True)

    def write(self, progress: "Progress") -> None:
        """Take note of a step."""
        import json

        self.advance(progress.share - self._told)
        self._told = progress.share
        self._recent.append(progress.bits_per_character)
        self._characters += progress.num_characters
        if int(progress.share * _NUM_REPORTS) == self._reported:
            return
        self._reported = int(progress.share * _NUM_REPORTS)
        row = {
            "step": progress.step,
            "share": round(progress.share, 4),
            "bits_per_character": round(sum(self._recent) / len(self._recent), 4),
            "characters_per_second": round(self._characters / max(time.monotonic() - self._since, 1e-9)),
        }
        append_line(self._path, json.dumps(row))
        click.echo(
            f"{progress.share:.0%}, step {progress.step:,}: {row['bits_per_character']} bits per character, "
            f"{row['characters_per_second']:,} characters/s",
            err=True,
        )
        self._recent, self._characters, self._since = [], 0, time.monotonic()
