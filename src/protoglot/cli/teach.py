"""``protoglot teach``."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, prepare
from protoglot.cli.main import EXIT_INTERRUPTED
from protoglot.cli.output import progress_of_amount
from protoglot.storage import append_line

if TYPE_CHECKING:
    from protoglot.incontext.teaching import Lesson, Teacher
    from protoglot.splits import Split

_NUM_EXAMINATIONS = 10


@click.command()
@click.argument("prior_path", metavar="PRIOR", type=click.Path(path_type=Path))
@click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", help="The corpus of the prior [default: as it was named]."
)
@click.option(
    "--size", type=click.Choice(["usual", "tiny"]), default="usual", show_default=True, help="Of the network."
)
@click.option(
    "--budget",
    metavar="AMOUNT",
    default="1h",
    show_default=True,
    help="How long to teach: 20min, 2h, 30M-characters.",
)
@click.option(
    "--learning-rate", type=click.FloatRange(0, min_open=True), default=3e-3, show_default=True, help="Of Adam."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the new prior."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything that is drawn.")
@computing_options
def teach(
    prior_path: Path,
    corpus_name: str | None,
    size: str,
    budget: str,
    learning_rate: float,
    out: Path,
    seed: int,
    device: str,
    threads: int | None,
) -> int:
    """Teach a network to learn in context, and add it to a prior.

    Such a network reads the sentences of a new language as evidence, and changes no weight. It is taught on the
    training languages of the prior: some sentences of one of them are evidence, others are predicted, and the letters
    trade places from time to time, so that what it learns is how to learn. How it does on the validation languages is
    told as it goes on, and chooses nothing but the n-gram whose counts it reads. Next: protoglot tune, whose mixers
    make it a part of every model.

    Ctrl-C saves and stops; the same command goes on. What it told is kept beside the new prior (OUT.lessons.jsonl). It
    is computed on the CPU, whatever the device.

    \b
    Examples:
      protoglot teach priors/bare2 --corpus ~/bible77 --budget 1h --out priors/bare2-taught
    """
    import shutil
    from dataclasses import replace

    from protoglot.cli.stopping import stop_on_signals
    from protoglot.corpus.opening import open_corpus
    from protoglot.folds import FoldText
    from protoglot.incontext.config import TINY, InContextConfig
    from protoglot.incontext.episodes import EpisodeConfig
    from protoglot.incontext.teaching import Teacher, TeachingConfig, check_budget
    from protoglot.prior.universal import UniversalPrior
    from protoglot.splits import split_sentences
    from protoglot.training.budget import Budget
    from protoglot.training.checkpoints import lock_run
    from protoglot.tuning import Trials, Tuner, TuningConfig

    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    amount = Budget.parse(budget)
    check_budget(amount)
    prepare(device, threads)
    prior = UniversalPrior.load(prior_path)
    corpus = open_corpus(corpus_name or str(prior.mean.provenance["corpus"]))
    validation = {code: split_sentences(corpus.sentences(code)) for code in prior.mean.fold.validation}
    tuner = Tuner(prior, validation, TuningConfig(seed=seed), trials=Trials(None, ""), on_trial=_tell)
    shape = replace(TINY if size == "tiny" else InContextConfig(), ngram=tuner.choose_ngram())
    config = TeachingConfig(
        network=shape,
        episodes=EpisodeConfig(fewest=2, most_at_first=4, most=8) if size == "tiny" else EpisodeConfig(),
        learning_rate=learning_rate,
        seed=seed,
    )
    unfinished = out.with_name(f"{out.name}.unfinished")
    lock = lock_run(unfinished)
    texts = dict(FoldText(corpus, prior.mean.fold).training())
    teacher = Teacher(texts, prior.mean.vocabulary, config, amount, unfinished=unfinished)
    journal = _Journal(teacher, validation, out.with_name(f"{out.name}.lessons.jsonl"))
    with (
        stop_on_signals(lambda: _tell("stopping after this episode ...")) as stop_asked,
        progress_of_amount(1.0 - teacher.share_used(), "teaching") as journal.advance,
    ):
        finished = teacher.run(on_lesson=journal.write, stop_asked=stop_asked)
    if not finished:
        click.echo(f"{unfinished}: what is done so far. Go on with the same command.")
        return EXIT_INTERRUPTED
    provenance = {
        **prior.mean.provenance,
        "teaching": {**config.to_json(), "budget": str(amount), **asdict(teacher.state)},
    }
    taught = replace(prior, incontext=teacher.network, tuned=None, mean=replace(prior.mean, provenance=provenance))
    taught.save(out)
    lock.release()
    shutil.rmtree(unfinished, ignore_errors=True)
    click.echo(
        f"{out}: learns in context, taught with {teacher.state.num_characters:,} characters of "
        f"{len(teacher.texts)} languages; to be tuned next"
    )
    return 0


class _Journal:
    """Tells how teaching goes, on the screen and in a file.

    Args:
        teacher: whose network is examined ten times.
        validation: languages to examine it with.
        path: JSON lines.
    """

    def __init__(self, teacher: "Teacher", validation: "Mapping[str, Split]", path: Path) -> None:
        self.advance: Callable[[float], None] = lambda share: None
        self._teacher, self._validation, self._path = teacher, validation, path
        self._recent: list[Lesson] = []
        self._told = teacher.share_used()
        self._tenths_done = int(self._told * _NUM_EXAMINATIONS)
        if not teacher.state.step:
            path.unlink(missing_ok=True)  # of another prior that had this name

    def write(self, lesson: "Lesson") -> None:
        """Take note of a step."""
        from protoglot.incontext.examining import examine

        self.advance(lesson.share - self._told)
        self._told = lesson.share
        self._recent.append(lesson)
        tenth = int(lesson.share * _NUM_EXAMINATIONS)
        if tenth == self._tenths_done:
            return
        self._tenths_done = tenth
        marks = examine(self._teacher.network, self._teacher.vocabulary, self._validation)
        seconds = sum(each.seconds for each in self._recent)
        characters = sum(each.num_characters for each in self._recent)
        own, rival = (
            sum(getattr(each, name) for each in self._recent) / len(self._recent)
            for name in ("bits_per_character", "ngram_bits_per_character")
        )
        self._recent = []
        row = {
            "step": lesson.step,
            "characters": self._teacher.state.num_characters,
            "seconds": round(self._teacher.state.seconds, 1),
            "characters_per_second": round(characters / max(seconds, 1e-9)),
            "training_of_ngram": round(own / rival, 4),
            "validation": [asdict(mark) for mark in marks],
        }
        append_line(self._path, json.dumps(row))
        scores = ", ".join(
            f"{mark.network:.3f} ({mark.network / mark.ngram:.3f} of the n-gram) from {mark.num_sentences}"
            for mark in marks
        )
        _tell(f"{lesson.share:.0%}, {row['characters_per_second']:,} characters/s; unseen languages: {scores}")


def _tell(line: str) -> None:
    click.echo(line, err=True)
