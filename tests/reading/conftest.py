import pytest

from protoglot.reading.scorer import Scorer
from tiny_scorer import tiny_scorer


@pytest.fixture(scope="session")
def scorer() -> Scorer:
    return tiny_scorer()
