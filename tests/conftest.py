"""Shared fixtures. Tests that read the research corpora skip, and say so, where these are absent."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The research corpora: PROTOGLOT_CORPORA, or ../shared/corpora beside the checkout."""
    path = Path(os.environ.get("PROTOGLOT_CORPORA", ROOT.parent / "shared" / "corpora"))
    if not (path / "bible77" / "manifest.csv").is_file():
        pytest.skip(f"research corpora not found at {path} (set PROTOGLOT_CORPORA)")
    return path
