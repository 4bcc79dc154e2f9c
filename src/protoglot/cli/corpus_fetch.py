"""``protoglot corpus fetch``: download a public corpus."""

import shlex
from pathlib import Path

import click

from protoglot.cli.output import progress_of_amount

_SOURCES = ("christos-c", "ebible")  # repeated here so that --help need not load what fetches


@click.command(
    epilog="Example: protoglot corpus fetch christos-c --to bibles, then protoglot corpus stats --corpus bibles"
)
@click.argument("source", type=click.Choice(_SOURCES))
@click.option(
    "--to",
    "destination",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory to make. It must not exist yet.",
)
@click.option(
    "--revision",
    metavar="COMMIT",
    help="Whole commit id, tag or branch to fetch instead of the commit protoglot knows.",
)
@click.option(
    "--url",
    "base_url",
    metavar="BASE",
    help="Mirror to fetch from, with GitHub's paths: BASE/OWNER/NAME. It is https://..., or file:///... for a copy "
    "on this machine.",
)
def fetch(source: str, destination: Path, revision: str | None, base_url: str | None) -> None:
    """Download a public corpus of Bible translations from GitHub. Needs git.

    \b
    christos-c  christos-c/bible-corpus: about 100 languages, XML. CC0.
    ebible      BibleNLP/ebible: more than 1,000 translations, one verse
                a line. Each has its own licence, many non-commercial.

    DIR appears only when everything is there; git checks all content against the commit. A download that is cut,
    by you or by the network, leaves nothing, and the same command starts afresh. fetch.json in DIR records what
    was fetched. What is downloaded lies beside the files until they are written: have room for both.
    """
    from protoglot.corpus import fetching

    receipt = fetching.fetch(
        source,
        destination,
        revision=revision,
        base_url=base_url or fetching.BASE_URL,
        progress=progress_of_amount,
    )
    click.echo(
        f"Fetched {source} at commit {receipt.commit[:12]} into {destination}: {receipt.files:,} files, "
        f"{receipt.bytes / 1e6:,.1f} MB. Licence: {receipt.licence}."
    )
    click.echo(f"Next: protoglot corpus stats --corpus {shlex.quote(str(destination))}")
