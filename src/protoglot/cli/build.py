"""``protoglot build``."""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, prepare
from protoglot.cli.main import EXIT_INTERRUPTED
from protoglot.shipped import PRIOR, SCORER

if TYPE_CHECKING:
    from protoglot.corpus.interface import Corpus
    from protoglot.reading.episodes import MetaText
    from protoglot.training.budget import Budget
    from protoglot.training.runs import RunPlan

_SETTINGS = "build.json"
_FEWEST_SENTENCES = 10  # of a language, so that each of its parts has one
_NUM_SEQUENCES = 60  # of each language, measured
_METHODS = ("fitu", "univ")
_NUM_TRIALS = 3


@click.command()
@click.option(
    "--free",
    metavar="NAME|PATH",
    multiple=True,
    required=True,
    help="Corpus whose letters may be learned: its licence lets it be passed on. Can be given several times.",
)
@click.option(
    "--other",
    metavar="NAME|PATH",
    multiple=True,
    help="Corpus of which nothing but the use of evidence is learned, and no letter. Can be given several times.",
)
@click.option(
    "--leave-out", metavar="CODE,...", default="", help="Languages that are not to be read, under any code."
)
@click.option(
    "--budget", metavar="AMOUNT", help="Of meta-training: 20min, 2h, 60M-characters [default: 1h; --tiny: little]."
)
@click.option(
    "--network-budget", metavar="AMOUNT", help="Of training the network [default: 20min; --tiny: little]."
)
@click.option(
    "--preset",
    type=click.Choice(["compact", "plain"]),
    default="compact",
    show_default=True,
    help="Size of the network; that of the installed prior is plain.",
)
@click.option(
    "--conditioning",
    type=click.Choice(["bare", "oest"]),
    default="oest",
    show_default=True,
    help="Use of typology by the network.",
)
@click.option(
    "--validation-languages",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Free languages to tune on.",
)
@click.option("--tiny", is_flag=True, help="A very small scorer and network, to try the command.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the bundle."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything that is drawn.")
@computing_options
def build(
    free: tuple[str, ...],
    other: tuple[str, ...],
    leave_out: str,
    budget: str | None,
    network_budget: str | None,
    preset: str,
    conditioning: str,
    validation_languages: int,
    tiny: bool,
    out: Path,
    seed: int,
    device: str,
    threads: int | None,
) -> int:
    """Make all that protoglot installs from folders of text: a scorer and a prior.

    The scorer (OUT/scorer), which readers need, is meta-trained on all texts. The prior (OUT/prior), for the paper's
    methods, is of the free texts alone: a network is trained on them, its Fisher information is measured, and the
    settings of adaptation are chosen on the validation languages. The languages of --leave-out are not read, not even
    for their characters.

    What is done is kept in OUT.unfinished until all is done: after Ctrl-C the same command goes on.

    \b
    Examples:
      protoglot build --free bibles/free --other bibles/other --leave-out yor,cat --out bundle
      protoglot build --free eld --tiny --out trial
    """
    from protoglot.cli.meta_train import make_config, make_scorer, read_texts
    from protoglot.reading.meta_training import check_budget
    from protoglot.study.environment import find_commit
    from protoglot.training.budget import Budget
    from protoglot.training.checkpoints import lock_run

    unfinished = out.with_name(f"{out.name}.unfinished")
    if out.exists() and not (unfinished / _SETTINGS).exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    amount = Budget.parse(budget or ("20k-characters" if tiny else "1h"))
    network_amount = Budget.parse(network_budget or ("1epochs" if tiny else "20min"))
    check_budget(amount)
    chosen_device = prepare(device, threads)
    texts, facts = read_texts(free, other, leave_out)
    corpus = join_free_texts(texts, facts, with_typology=conditioning != "bare")
    plan = _make_plan(corpus, "tiny" if tiny else preset, conditioning, network_amount, validation_languages, seed)
    lock = lock_run(unfinished)
    _refuse_other_settings(
        unfinished / _SETTINGS,
        {
            "budget": str(amount),
            "network_budget": str(network_amount),
            "tiny": tiny,
            "network": plan.to_json(),
            "texts": facts,
        },
    )

    def meta_train() -> bool:
        return make_scorer(
            texts,
            {"texts": facts},
            make_config(seed=seed, tiny=tiny),
            amount,
            out / SCORER,
            unfinished / SCORER,
            unfinished / "steps.jsonl",
            num_threads=threads or os.cpu_count() or 1,
        )

    def make_prior() -> bool:
        provenance = {"commit": find_commit(), "texts": [fact for fact in facts if fact["free"]]}
        return _make_prior(
            corpus, plan, unfinished, out / PRIOR, provenance, device=chosen_device, tiny=tiny, seed=seed
        )

    stages: dict[str, tuple[Budget, Callable[[], bool]]] = {
        SCORER: (amount, meta_train),
        PRIOR: (network_amount, make_prior),
    }
    start = time.monotonic()
    for number, (name, (its_budget, make)) in enumerate(stages.items(), start=1):
        if (out / name).exists():
            continue
        click.echo(f"{number} of {len(stages)}: {name}, budget of training {its_budget}", err=True)
        if not make():
            click.echo(f"{unfinished}: what is done so far. Go on with the same command.")
            return EXIT_INTERRUPTED
    lock.release()
    shutil.rmtree(unfinished, ignore_errors=True)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    click.echo(f"{out}: {SCORER} and {PRIOR}, {size / 1e6:.1f} MB, in {time.monotonic() - start:.0f} s")
    return 0


def join_free_texts(
    texts: "Sequence[MetaText]", facts: Sequence[Mapping[str, object]], *, with_typology: bool
) -> "Corpus":
    """The free texts as a corpus to train a network on, one language for each code.

    Args:
        texts: all of them.
        facts: of each text, where it is from.
        with_typology: leave out languages of which the typological database knows nothing.
    """
    from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
    from protoglot.languages import language_name
    from protoglot.typology import Typology

    found: dict[str, list[tuple[Sequence[str], Mapping[str, object]]]] = {}
    for text, fact in zip(texts, facts, strict=True):
        if text.may_know_letters:
            found.setdefault(text.code, []).append((text.sentences, fact))
    few = {code for code, own in found.items() if sum(len(sentences) for sentences, _ in own) < _FEWEST_SENTENCES}
    unknown = {code for code in found if with_typology and not Typology.installed().knows(code)} - few
    for codes, reason in ((few, f"fewer than {_FEWEST_SENTENCES} sentences"), (unknown, "no typology")):
        if codes:
            click.echo(f"not for the network: {', '.join(sorted(codes))} ({reason})", err=True)
    kept = {code: own for code, own in found.items() if code not in few | unknown}

    if not kept:
        raise click.UsageError("--free: no language with text; wanted some")

    def joined(code: str, key: str) -> str:
        return "; ".join(dict.fromkeys(str(fact[key]) for _, fact in kept[code]))

    joined_texts = [
        (
            LanguageRecord(
                code=code,
                iso639_3=code,
                name=language_name(code) or code,
                source=joined(code, "corpus"),
                licence=joined(code, "licence"),
            ),
            [sentences for sentences, _ in own],
        )
        for code, own in kept.items()
    ]
    name = ", ".join(dict.fromkeys(str(fact["corpus"]) for own in kept.values() for _, fact in own))
    return TextsByLanguage(name, joined_texts, chain.from_iterable)


def _make_plan(
    corpus: "Corpus", preset: str, conditioning: str, budget: "Budget", num_validation: int, seed: int
) -> "RunPlan":
    """How the network is trained; refuses too few languages now, and not when the scorer is made."""
    from dataclasses import replace

    from protoglot.folds import fold_for
    from protoglot.model.config import PRESETS, Conditioning
    from protoglot.training.config import PRESETS as TRAINING_PRESETS
    from protoglot.training.data import Inventory
    from protoglot.training.runs import RunPlan

    codes = tuple(record.code for record in corpus.languages())
    fold_for(codes, "none", num_validation=num_validation, seed=seed)
    return RunPlan(
        model=replace(PRESETS[preset], conditioning=Conditioning(conditioning)),
        training=TRAINING_PRESETS[preset],
        budget=budget,
        hold_out="none",
        num_validation=num_validation,
        inventory=Inventory.TRAINING,
        seed=seed,
        corpus=corpus.name,
        languages=codes,
    )


def _refuse_other_settings(path: Path, settings: Mapping[str, object]) -> None:
    """What was begun with other settings or texts must not become part of this bundle."""
    from protoglot.errors import StorageError
    from protoglot.storage import write_atomically

    wanted = json.loads(json.dumps(settings))
    try:
        before = json.loads(path.read_bytes())
    except FileNotFoundError:
        write_atomically(path, json.dumps(wanted) + "\n")
        return
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: damaged; wanted it, and all of {path.parent}, removed") from error
    differing = [
        name for name, value in wanted.items() if not isinstance(before, dict) or before.get(name) != value
    ]
    if differing:
        raise click.UsageError(
            f"{path.parent}: begun with other {', '.join(differing)}; wanted the same, or another --out"
        )


def _make_prior(
    corpus: "Corpus",
    plan: "RunPlan",
    unfinished: Path,
    out: Path,
    provenance: Mapping[str, object],
    *,
    device: str,
    tiny: bool,
    seed: int,
) -> bool:
    """Train the network, measure it, tune the prior and pack it; returns whether it is finished."""
    from dataclasses import replace

    from protoglot.cli.prior import measure_prior
    from protoglot.cli.train import train_network
    from protoglot.cli.tune import tune_prior
    from protoglot.prior.laplace import FisherConfig
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.trained import load_trained
    from protoglot.tuning import TuningConfig

    run, measured = unfinished / "run", unfinished / "measured"
    if not measured.exists():
        if not train_network(corpus, plan, run, resume=True, device=device):
            return False
        config = FisherConfig(max_sequences=2 if tiny else _NUM_SEQUENCES, seed=seed)
        if not measure_prior(load_trained(run, device=device), corpus, config, measured, with_spread=False):
            return False
    prior = UniversalPrior.load(measured, device=device)
    tuning = TuningConfig(num_trials=1 if tiny else _NUM_TRIALS, seed=seed)
    if tiny:
        tuning = replace(tuning, num_sentences=10, scored_characters=300, calibration_characters=300)
    tuned = tune_prior(prior, corpus, [Method(name) for name in _METHODS], tuning, unfinished / "trials.jsonl")
    mean = replace(prior.mean, provenance={**prior.mean.provenance, **provenance})
    replace(prior, mean=mean, tuned=tuned).save(out, packed=True)
    return True
