import pytest
from tests.report import made_up

from protoglot.report.rows import read_rows
from protoglot.report.study import Study


@pytest.fixture(scope="session")
def rows():
    return made_up.whole_study()


@pytest.fixture(scope="session")
def rows_path(rows, tmp_path_factory):
    return made_up.write(tmp_path_factory.mktemp("rows") / "rows.jsonl.gz", rows)


@pytest.fixture(scope="session")
def study(rows_path):
    return Study(read_rows(rows_path))


@pytest.fixture
def study_of(tmp_path):
    """Makes a study of rows."""

    def make(rows):
        return Study(read_rows(made_up.write(tmp_path / "rows.jsonl", rows)))

    return make
