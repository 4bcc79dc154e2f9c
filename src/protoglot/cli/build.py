"""``protoglot build``."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import click

from protoglot.cli.computing import SEED, computing_options, prepare
from protoglot.errors import StorageError
from protoglot.storage import make_directory, write_atomically
from protoglot.training.budget import Budget

_RESULTS = {"trained": "run", "measured": "prior", "tuned": "tuned"}
"""What each stage makes, in their order."""


@click.command()
@click.option("--corpus", "corpus_name", metavar="NAME|PATH", required=True, help="Text to learn from.")
@click.option(
    "--leave-out", metavar="CODES", default="none", show_default=True, help="Languages not to read at all."
)
@click.option(
    "--conditioning",
    type=click.Choice(["bare", "oest"]),
    default="oest",
    show_default=True,
    help="Use of typology.",
)
@click.option(
    "--preset",
    type=click.Choice(["compact", "plain", "tiny"]),
    default="compact",
    show_default=True,
    help="Size of the model; the installed prior is plain.",
)
@click.option("--budget", metavar="AMOUNT", default="1h", show_default=True, help="Of training.")
@click.option("--validation-languages", type=click.IntRange(1), default=5, show_default=True, help="To tune on.")
@click.option(
    "--sequences", type=click.IntRange(1), default=60, show_default=True, help="Of each language, measured."
)
@click.option("--methods", default="fitu,univ", show_default=True, help="Methods to tune.")
@click.option(
    "--trials", type=click.IntRange(1, 7), default=3, show_default=True, help="Settings to try for each."
)
@click.option("--batch-size", type=click.IntRange(1), help="Sequences per step [default: the preset's].")
@click.option("--learning-rate", type=float, help="Of training [default: the preset's].")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the prior."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything that is drawn.")
@computing_options
def build(
    corpus_name: str,
    leave_out: str,
    conditioning: str,
    preset: str,
    budget: str,
    validation_languages: int,
    sequences: int,
    methods: str,
    trials: int,
    batch_size: int | None,
    learning_rate: float | None,
    out: Path,
    seed: int,
    device: str,
    threads: int | None,
) -> int:
    """Make a prior to be passed on: train, measure, tune and pack.

    The languages of --leave-out are not read, not even for their characters. What is done is kept in OUT.parts: after
    Ctrl-C the same command goes on; with a longer --budget, once OUT is moved away, it goes on training. The prior is
    packed: weights and precisions into a quarter of their size.

    \b
    Examples:
      protoglot build --corpus ~/bible77 --leave-out afr,tur --budget 1h --out priors/mine
    """
    from dataclasses import replace

    from protoglot.artefacts import HEADER
    from protoglot.prior.universal import UniversalPrior

    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    prepare(device, threads)
    parts = out.with_name(f"{out.name}.parts")
    make_directory(parts)
    results = {stage: parts / name for stage, name in _RESULTS.items()}
    run, prior, tuned = results.values()
    training = ["train", "--corpus", corpus_name, "--conditioning", conditioning, "--preset", preset]
    training += ["--hold-out", leave_out, "--inventory", "training", "--budget", budget, "--out", str(run)]
    training += ["--validation-languages", str(validation_languages), "--seed", str(seed)]
    training += ["--batch-size", str(batch_size)] if batch_size is not None else []
    training += ["--learning-rate", str(learning_rate)] if learning_rate is not None else []
    measuring = ["prior", str(run), "--corpus", corpus_name, "--sequences", str(sequences), "--no-spread"]
    measuring += ["--out", str(prior), "--seed", str(seed)]
    tuning = ["tune", str(prior), "--corpus", corpus_name, "--methods", methods, "--trials", str(trials)]
    tuning += ["--out", str(tuned), "--seed", str(seed)]
    stages = {"trained": training, "measured": measuring, "tuned": tuning}
    _forget_shorter_training(parts, stages)
    _refuse_other_arguments(parts, stages)
    where = [*(["--threads", str(threads)] if threads else []), "--device", device]
    for stage, arguments in stages.items():
        marker = parts / f"{stage}.json"
        if marker.exists():
            continue
        # A stage that was killed between its result and this marker: the result is whole, but not known to be ours.
        if stage != "trained":  # which goes on where it was
            _remove_result(results[stage])
        resumed = ["--resume"] if stage == "trained" and (run / "run.json").exists() else []
        status = _call([*arguments, *where, *resumed])
        if status:
            return status
        write_atomically(marker, json.dumps({"command": arguments}) + "\n")
    found = UniversalPrior.load(tuned)
    # Where the text was on this machine is nobody else's business.
    provenance = {**found.mean.provenance, "corpus": Path(corpus_name).name}
    replace(found, mean=replace(found.mean, provenance=provenance)).save(out, packed=True)
    size = sum(file.stat().st_size for file in out.iterdir())
    click.echo(f"{out}: {size / 1e6:.1f} MB in {len(list(out.iterdir()))} files, described in {HEADER}")
    return 0


def _forget_shorter_training(parts: Path, stages: Mapping[str, list[str]]) -> None:
    """Where nothing but the budget has grown, training is not done, nor what follows from it."""
    done = _command_of(parts / "trained.json")
    wanted = stages["trained"]
    if done is None or len(done) != len(wanted):
        return
    place = wanted.index("--budget") + 1
    if [*done[:place], *done[place + 1 :]] != [*wanted[:place], *wanted[place + 1 :]]:
        return
    before, now = Budget.parse(done[place]), Budget.parse(wanted[place])
    if before.kind is now.kind and before.amount < now.amount:
        for stage in reversed(_RESULTS):  # also those that this call does without
            (parts / f"{stage}.json").unlink(missing_ok=True)


def _command_of(marker: Path) -> list[str] | None:
    """The command that a stage was done with; ``None`` if it was not."""
    try:
        command = json.loads(marker.read_bytes())["command"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{marker}: damaged; wanted it, and all of {marker.parent}, removed") from error
    if not isinstance(command, list):
        raise StorageError(f"{marker}: damaged; wanted it, and all of {marker.parent}, removed")
    return [str(word) for word in command]


def _refuse_other_arguments(parts: Path, stages: Mapping[str, list[str]]) -> None:
    """What was done with other arguments must not become part of this prior."""
    for stage, arguments in stages.items():
        done = _command_of(parts / f"{stage}.json")
        if done is not None and done != arguments:
            raise click.UsageError(
                f"{parts}: {stage} by protoglot {' '.join(done)}; wanted the same arguments "
                f"({' '.join(arguments)}), a longer --budget, or another --out"
            )


def _remove_result(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _call(arguments: list[str]) -> int:
    """Run another command as if it had been typed."""
    from protoglot.cli.main import run

    click.echo(f"protoglot {' '.join(arguments)}", err=True)
    return run(arguments)
