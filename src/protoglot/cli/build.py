"""``protoglot build``."""

from pathlib import Path

import click

from protoglot.cli.computing import computing_options, prepare
from protoglot.cli.main import EXIT_INTERRUPTED


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
    type=click.Choice(["compact", "tiny"]),
    default="compact",
    show_default=True,
    help="Size of the model.",
)
@click.option("--budget", metavar="AMOUNT", default="1h", show_default=True, help="Of training.")
@click.option("--validation-languages", type=click.IntRange(1), default=5, show_default=True, help="To tune on.")
@click.option(
    "--sequences", type=click.IntRange(1), default=60, show_default=True, help="Of each language, measured."
)
@click.option("--methods", default="fitu,univ", show_default=True, help="Methods to tune.")
@click.option("--trials", type=click.IntRange(1), default=3, show_default=True, help="Settings to try for each.")
@click.option("--batch-size", type=click.IntRange(1), help="Sequences per step [default: the preset's].")
@click.option("--learning-rate", type=float, help="Of training [default: the preset's].")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the prior."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything that is drawn.")
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
    """Make a prior to be passed on: train, measure, tune and pack, one after the other.

    The languages of --leave-out are not read, not even for their characters. What is done is kept in OUT.parts: after
    Ctrl-C the same command goes on. The prior is packed into a quarter of its size.

    \b
    Examples:
      protoglot build --corpus ~/bible77 --leave-out afr,tur --budget 1h --out priors/mine
    """
    import json
    from dataclasses import replace

    from protoglot.artefacts import HEADER
    from protoglot.prior.universal import UniversalPrior

    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    prepare(device, threads)
    parts = out.with_name(f"{out.name}.parts")
    parts.mkdir(parents=True, exist_ok=True)
    run, prior, tuned = parts / "run", parts / "prior", parts / "tuned"
    shared = [*(["--threads", str(threads)] if threads else []), "--device", device]
    training = ["train", "--corpus", corpus_name, "--conditioning", conditioning, "--preset", preset]
    training += ["--hold-out", leave_out, "--inventory", "training", "--budget", budget, "--out", str(run)]
    training += ["--validation-languages", str(validation_languages), "--seed", str(seed), *shared]
    training += ["--batch-size", str(batch_size)] if batch_size else []
    training += ["--learning-rate", str(learning_rate)] if learning_rate else []
    training += ["--resume"] if run.exists() else []
    measuring = ["prior", str(run), "--corpus", corpus_name, "--sequences", str(sequences), "--no-spread"]
    measuring += ["--out", str(prior), *shared]
    tuning = ["tune", str(prior), "--corpus", corpus_name, "--methods", methods, "--trials", str(trials)]
    tuning += ["--out", str(tuned), *shared]
    marker = parts / "trained.json"
    for arguments, done in ((training, marker), (measuring, prior), (tuning, tuned)):
        if done.exists():
            continue
        status = _call(arguments)
        if status:
            return EXIT_INTERRUPTED if status == EXIT_INTERRUPTED else status
        if done is marker:
            marker.write_text(json.dumps({"command": arguments}) + "\n", encoding="utf-8")
    found = UniversalPrior.load(tuned)
    # Where the text was on this machine is nobody else's business.
    provenance = {**found.mean.provenance, "corpus": Path(corpus_name).name}
    replace(found, mean=replace(found.mean, provenance=provenance)).save(out, packed=True)
    size = sum(file.stat().st_size for file in out.iterdir())
    click.echo(f"{out}: {size / 1e6:.1f} MB in {len(list(out.iterdir()))} files, described in {HEADER}")
    return 0


def _call(arguments: list[str]) -> int:
    """Run another command as if it had been typed."""
    from protoglot.cli.main import run

    click.echo(f"protoglot {' '.join(arguments)}", err=True)
    return run(arguments)
