"""``protoglot probe``: characters, prior."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.corpus import corpus_options, open_selected
from protoglot.cli.output import (
    Row,
    format_option,
    make_table,
    out_option,
    print_rows,
    print_table,
    progress_over,
    to_json,
    write_rows,
)

if TYPE_CHECKING:
    from collections import Counter

    from protoglot.corpus.interface import Corpus
    from protoglot.probing import LayerSignal, Scores, SignalDensity
    from protoglot.statistics import Correlation

_PLOT_ENDING = ".svg"
# Colour-blind safe (Okabe and Ito); layers beyond the seventh repeat them in another line style.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B3A500")
_LINE_STYLES = ("-", "--", ":")


@click.group()
def probe() -> None:
    """Look into what makes a language hard, and into a prior.

    These are the probes of the paper's appendices: how far a language's characters are from those of the others,
    and how sure a prior is of each weight.
    """


@probe.command()
@corpus_options
@click.option(
    "--scores",
    "scores_path",
    metavar="FILE.csv",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Bits per character, as evaluate --out writes them, to correlate with.",
)
@out_option
@format_option
def characters(
    corpus_name: str,
    languages: str | None,
    script: str | None,
    scores_path: Path | None,
    out: Path | None,
    form: str,
) -> None:
    """How exotic the characters of each language are.

    Exoticness is the cosine distance between a language's counts of characters, in the training part of its text,
    and the mean of those of all other languages: 0 is the same distribution, 1 no character in common. With
    --scores it is correlated (Pearson) with bits per character, role by role.

    \b
    Examples:
      protoglot probe characters --corpus ~/bible77
      protoglot probe characters --corpus ~/bible77 --scores zero-shot.csv --out exoticness.csv
    """
    from protoglot.probing import correlate, exoticness, read_scores

    scores = read_scores(scores_path) if scores_path is not None else {}
    opened = open_selected(corpus_name, languages, script)
    counts = _count(opened)
    distances = exoticness(counts)
    _check_overlap(scores, distances, scores_path, opened)
    rows = _language_rows(opened, counts, distances, scores)
    correlations = correlate(distances, scores)
    if out is not None:
        write_rows(out, rows)
    if form == "json":
        found = [{"role": role, **_correlation_row(value)} for role, value in correlations.items()]
        click.echo(to_json({"corpus": opened.name, "languages": rows, "correlations": found}), nl=False)
    elif form == "csv":
        print_rows(rows, "csv")
    else:
        _print_exoticness(rows, f"characters of the training text of {opened.name}", correlations)


def _count(opened: "Corpus") -> "dict[str, Counter[str]]":
    """Characters of every language that has some."""
    from protoglot.probing import count_training_characters

    records = opened.languages()
    counts = {}
    with progress_over(len(records), "counting") as step:
        for record in records:
            step(record.code)
            counts[record.code] = count_training_characters(opened, record.code)
    empty = [code for code, of_language in counts.items() if not of_language]
    if empty:
        click.echo(f"protoglot: left out, without text: {', '.join(empty)}", err=True)
    return {code: of_language for code, of_language in counts.items() if of_language}


def _check_overlap(
    scores: "Scores", distances: dict[str, float], scores_path: Path | None, opened: "Corpus"
) -> None:
    """Say which languages have a score and no text; none in common is an error."""
    from protoglot.errors import CorpusError

    scored = {code for of_role in scores.values() for code in of_role}
    if scored and not scored & set(distances):
        raise CorpusError(f"{scores_path}: no language of corpus {opened.name}; wanted scores of some")
    missing = sorted(scored - set(distances))
    if missing:
        click.echo(f"protoglot: left out, not in the corpus: {', '.join(missing)}", err=True)


def _language_rows(
    opened: "Corpus", counts: "dict[str, Counter[str]]", distances: dict[str, float], scores: "Scores"
) -> list[Row]:
    """The most exotic language first; one row for each role in which it was scored, and one if in none."""
    names = {record.code: record.name for record in opened.languages()}
    rows: list[Row] = []
    for code in sorted(distances, key=lambda code: (-distances[code], code)):
        facts = {
            "code": code,
            "language": names[code],
            "characters": counts[code].total(),
            "distinct_characters": len(counts[code]),
            "exoticness": distances[code],
        }
        roles = [role for role in scores if code in scores[role]]
        rows += [{**facts, "role": role, "bits_per_character": scores[role][code]} for role in roles]
        if not roles:
            rows.append({**facts, "role": None, "bits_per_character": None} if scores else facts)
    return rows


def _correlation_row(found: "Correlation") -> Row:
    """A correlation for a program; what is not a number is null, for which JSON has a word."""
    coefficient, p_value = (None if math.isnan(value) else value for value in (found.coefficient, found.p_value))
    return {"languages": found.num_pairs, "coefficient": coefficient, "p_value": p_value}


def _print_exoticness(rows: list[Row], title: str, correlations: "dict[str, Correlation]") -> None:
    numbers = ["characters", "distinct", "exoticness"]
    headings = ["code", "language", *numbers]
    if correlations:
        numbers.append("bits/character")
        headings += ["role", "bits/character"]
    table = make_table(*headings, numeric=numbers, whole=("code",))
    for row in rows:
        cells = [
            str(row["code"]),
            str(row["language"]),
            f"{row['characters']:,}",
            f"{row['distinct_characters']:,}",
            f"{row['exoticness']:.4f}",
        ]
        if correlations:
            bits = row["bits_per_character"]
            cells += [str(row["role"] or "").replace("_", " "), "" if bits is None else f"{bits:.3f}"]
        table.add_row(*cells)
    closing = "\n".join(_describe(role, found) for role, found in correlations.items())
    print_table(title, table, closing)


def _describe(role: str, found: "Correlation") -> str:
    """A correlation in words."""
    name = f"{found.num_pairs} {role.replace('_', ' ')} language{'' if found.num_pairs == 1 else 's'}"
    if math.isnan(found.p_value):
        return f"exoticness and bits/character of {name}: no correlation can be told"
    return (
        f"exoticness and bits/character of {name}: "
        f"Pearson's r = {found.coefficient:.3f}, p = {found.p_value:.2g} (two-sided)"
    )


def _check_plot(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse what cannot be drawn before any work is done."""
    if path is not None and path.suffix != _PLOT_ENDING:
        raise click.BadParameter(f"{path}: ending {path.suffix!r}; wanted a name that ends in {_PLOT_ENDING}")
    return path


@probe.command("prior")
@click.argument("prior_path", metavar="PRIOR", type=click.Path(path_type=Path))
@click.option(
    "--plot",
    metavar="FILE.svg",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_check_plot,
    help="Also draw the density.",
)
@out_option
@format_option
def probe_prior(prior_path: Path, plot: Path | None, out: Path | None, form: str) -> None:
    """How sure a prior is of its weights: signal-to-noise ratios.

    The ratio of a weight is its absolute mean over its standard deviation, where the precision is that of one
    sequence of text: the mean Fisher information of sequences, plus the share of the Gaussian of training. The
    table has a line for each layer; --out writes the density of log10 of the ratio, bin by bin.

    \b
    Examples:
      protoglot probe prior priors/bare2
      protoglot probe prior priors/bare2 --out density.csv --plot density.svg
    """
    from protoglot.prior.universal import UniversalPrior
    from protoglot.probing import check_ratios, signal_density, summarise_signal

    prior = UniversalPrior.load(prior_path)
    ratios = {layer: values.numpy() for layer, values in prior.signal_to_noise().items()}
    check_ratios(ratios, name=str(prior_path))
    summaries = summarise_signal(ratios)
    density = signal_density(ratios)
    if out is not None:
        write_rows(out, _density_rows(density))
    if plot is not None:
        _draw(plot, density)
    if form == "table":
        _print_layers(summaries, f"signal-to-noise ratios of the weights of {prior_path}")
    else:
        print_rows([_layer_row(summary) for summary in summaries], form)


def _layer_row(summary: "LayerSignal") -> Row:
    return {
        "layer": summary.layer,
        "weights": summary.num_weights,
        "zero": summary.num_zero,
        "percentile_5": summary.low,
        "median": summary.median,
        "percentile_95": summary.high,
        "share_below_one": summary.share_below_one,
    }


def _density_rows(density: "SignalDensity") -> list[Row]:
    """A row for each layer and bin, and for each layer one without bounds that counts its weights at zero."""
    rows: list[Row] = []
    for layer, counts in density.num_weights.items():
        zero = density.num_zero[layer]
        rows.append({"layer": layer, "log10_from": None, "log10_to": None, "weights": zero, "density": None})
        bins = zip(density.edges[:-1], density.edges[1:], counts, density.density(layer), strict=True)
        rows += [
            {
                "layer": layer,
                "log10_from": round(float(low), 6),
                "log10_to": round(float(high), 6),
                "weights": int(number),
                "density": float(value),
            }
            for low, high, number, value in bins
        ]
    return rows


def _print_layers(summaries: "list[LayerSignal]", title: str) -> None:
    numbers = ("weights", "zero", "5 %", "median", "95 %", "below 1")
    table = make_table("layer", *numbers, numeric=numbers, whole=("layer",))
    for position, summary in enumerate(summaries):
        if position == len(summaries) - 1:
            table.add_section()
        table.add_row(
            summary.layer,
            f"{summary.num_weights:,}",
            f"{summary.num_zero:,}",
            f"{summary.low:.3g}",
            f"{summary.median:.3g}",
            f"{summary.high:.3g}",
            f"{summary.share_below_one:.2%}",
        )
    print_table(title, table)


def _draw(path: Path, density: "SignalDensity") -> None:
    """The density of every layer and of all weights, both axes logarithmic as in the paper."""
    import io

    import matplotlib as mpl
    from matplotlib.figure import Figure

    from protoglot.probing import ALL_LAYERS
    from protoglot.storage import write_atomically

    # The same rows give the same file; text stays text.
    with mpl.rc_context({"font.size": 11, "svg.hashsalt": "protoglot", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 5), layout="constrained")
        axes = figure.add_subplot()
        bounds = 10.0**density.edges
        for position, layer in enumerate(density.num_weights):
            is_all = layer == ALL_LAYERS
            turn, colour = divmod(position, len(_COLOURS))
            zero = density.num_zero[layer]
            axes.stairs(
                density.density(layer),
                bounds,
                baseline=None,
                label=f"{layer} ({zero:,} at zero)" if zero else layer,
                color="black" if is_all else _COLOURS[colour],
                linestyle="-" if is_all else _LINE_STYLES[turn % len(_LINE_STYLES)],
                linewidth=2.5 if is_all else 1.2,
            )
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="signal-to-noise ratio |μ| / σ",
            ylabel="density of its logarithm (base 10)",
        )
        axes.grid(alpha=0.3)
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    write_atomically(path, buffer.getvalue())
