"""Shared fixtures. Tests that read the research corpora skip, and say so, where these are absent."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# Before anything imports torch, and for child processes too: models in tests are so small that a second thread
# only costs time, and the same number of threads everywhere makes the same sums to the last bit.
os.environ["OMP_NUM_THREADS"] = "1"

# A law does not fail because the machine has other things to do.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _numbers_as_they_are():
    """Commands flush denormal numbers to zero, for the whole process; tests after them must not notice."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The research corpora: PROTOGLOT_CORPORA, or ../shared/corpora beside the checkout."""
    path = Path(os.environ.get("PROTOGLOT_CORPORA", ROOT.parent / "shared" / "corpora"))
    if not (path / "bible77" / "manifest.csv").is_file():
        pytest.skip(f"research corpora not found at {path} (set PROTOGLOT_CORPORA)")
    return path
