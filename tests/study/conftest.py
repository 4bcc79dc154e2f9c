"""A started study on made-up text."""

import pytest

from protoglot.study.session import start_study
from study.fake import write_study


@pytest.fixture
def fake_study(tmp_path):
    """A study and its store, with nothing done yet."""
    config, corpus = write_study(tmp_path)
    return start_study(config, str(corpus), tmp_path / "study")
