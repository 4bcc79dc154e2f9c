"""``protoglot train``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, prepare
from protoglot.cli.corpus import corpus_options, open_selected
from protoglot.cli.main import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from protoglot.corpus.interface import Corpus
    from protoglot.training.runs import RunPlan


@click.command()
@corpus_options
@click.option(
    "--conditioning",
    type=click.Choice(["bare", "oest", "plat"]),
    default="bare",
    show_default=True,
    help="Use of typology: none, concatenated to hidden states, or through a hyper-network.",
)
@click.option(
    "--preset",
    type=click.Choice(["paper", "compact", "plain", "tiny"]),
    default="compact",
    show_default=True,
    help="Size and settings: the paper's, its kind of network for two CPU cores (compact), a smaller one (plain), or "
    "one for trying things out.",
)
@click.option(
    "--hold-out",
    metavar="WHICH",
    default="none",
    show_default=True,
    help="Languages never trained on: partition:N (the paper's), partition:N/M (by seed), codes, or none.",
)
@click.option(
    "--validation-languages", type=click.IntRange(0), default=5, show_default=True, help="Watched, not learned."
)
@click.option("--budget", metavar="AMOUNT", help="20min, 2h, 30M-characters or 6epochs [default: the preset's].")
@click.option(
    "--inventory",
    type=click.Choice(["corpus", "training"]),
    default="corpus",
    show_default=True,
    help="Whose characters get ids: of all languages' training text (the paper), or of training languages.",
)
@click.option("--learning-rate", type=float, help="Instead of the preset's.")
@click.option("--batch-size", type=click.IntRange(1), help="Sequences per step, instead of the preset's.")
@click.option(
    "--out", "run", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the run."
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@computing_options
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--tensorboard", is_flag=True, help="Also write TensorBoard logs (extra protoglot[tensorboard]).")
def train(
    corpus_name: str,
    languages: str | None,
    script: str | None,
    conditioning: str,
    preset: str,
    hold_out: str,
    validation_languages: int,
    budget: str | None,
    inventory: str,
    learning_rate: float | None,
    batch_size: int | None,
    run: Path,
    resume: bool,
    device: str,
    threads: int | None,
    seed: int,
    tensorboard: bool,
) -> int:
    """Train a language model on many languages.

    Ctrl-C saves and stops; the same command with --resume goes on, to the last bit as if it had not been
    stopped. Metrics are in metrics.jsonl of the run's directory.

    \b
    Examples:
      protoglot train --script Latin --budget 3min --out runs/quick
      protoglot train --corpus ~/bible77 --hold-out partition:2 --budget 20min --out runs/bare2
      protoglot train --corpus ~/bible77 --conditioning oest --hold-out partition:2 --out runs/oest2
    """
    from dataclasses import replace

    from protoglot.model.config import PRESETS, Conditioning
    from protoglot.training.budget import Budget
    from protoglot.training.config import PRESETS as TRAINING_PRESETS
    from protoglot.training.data import Inventory
    from protoglot.training.runs import RUN, RunPlan

    if resume and not (run / RUN).exists():
        raise click.UsageError(f"--resume: no run in {run}; wanted the directory of one as --out, or no --resume")
    settings = TRAINING_PRESETS[preset]
    if learning_rate is not None:
        settings = replace(settings, learning_rate=learning_rate)
    if batch_size is not None:
        settings = replace(settings, batching=replace(settings.batching, batch_size=batch_size))
    if conditioning == "plat" and settings.batching.mixed:
        # A hyper-network makes weights of its own for each language, so batches cannot mix languages.
        settings = replace(settings, batching=replace(settings.batching, mixed=False))
    chosen = prepare(device, threads)
    opened = open_selected(corpus_name, languages, script)
    plan = RunPlan(
        model=replace(PRESETS[preset], conditioning=Conditioning(conditioning)),
        training=settings,
        budget=Budget.parse(budget or settings.default_budget),
        hold_out=hold_out,
        num_validation=validation_languages,
        inventory=Inventory(inventory),
        seed=seed,
        corpus=corpus_name,
        languages=tuple(record.code for record in opened.languages()),
    )
    if not train_network(opened, plan, run, resume=resume, device=chosen, tensorboard=tensorboard):
        click.echo("Go on with the same command and --resume.")
        return EXIT_INTERRUPTED
    click.echo(f"Score it: protoglot evaluate {run} --corpus {corpus_name}")
    return 0


def train_network(
    corpus: "Corpus", plan: "RunPlan", run: Path, *, resume: bool, device: str, tensorboard: bool = False
) -> bool:
    """Train a model, or go on training it, and show how it goes; Ctrl-C saves and stops.

    Args:
        corpus: text.
        plan: settings.
        run: directory of the run.
        resume: go on with what is there, if anything is.
        device: where to compute.
        tensorboard: also write TensorBoard logs.

    Returns:
        Whether it is finished.
    """
    from protoglot.cli.stopping import stop_on_signals
    from protoglot.training.loop import Ending
    from protoglot.training.monitor import format_seconds, watch, with_tensorboard
    from protoglot.training.runs import train as train_run

    with (
        watch() as screen,
        with_tensorboard(screen, run, enabled=tensorboard) as monitor,
        stop_on_signals(lambda: monitor.message("stopping after this step, and saving ...")) as stop_asked,
    ):
        monitor.message(f"reading {len(plan.languages)} languages of {corpus.name}")
        trained, ending, state = train_run(
            corpus, plan, run, resume=resume, device=device, monitor=monitor, stop_asked=stop_asked
        )
    num_weights = sum(weight.numel() for weight in trained.model.parameters())
    click.echo(
        f"{run}: {ending} after {state['characters'] / 1e6:.2f} M characters "
        f"in {format_seconds(state['seconds'])}; {num_weights / 1e6:.2f} M weights, "
        f"{len(trained.fold.training)} languages"
    )
    return ending is not Ending.INTERRUPTED
