"""From a configuration and a corpus to a plan with keys, and from a study's directory back to them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from protoglot.corpus.interface import Corpus, LanguageRecord
from protoglot.corpus.opening import open_corpus
from protoglot.corpus.selection import select_languages, select_script
from protoglot.errors import ConfigError, StorageError
from protoglot.folds import paper_partitions
from protoglot.study.config import StudyConfig, parse_config, read_config
from protoglot.study.doing import PlanFacts
from protoglot.study.environment import describe_machine, describe_versions, find_commit
from protoglot.study.plan import Unit, make_plan, with_keys
from protoglot.study.rows import gather_rows, write_rows
from protoglot.study.store import CONFIG, ENVIRONMENT, ROWS, STUDY, Environment, Store, StudyText
from protoglot.study.text import digest_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study with its text known: what to do, and under which keys."""

    config: StudyConfig
    text: StudyText
    plan: tuple[Unit, ...]

    def facts(self, num_threads: int) -> PlanFacts:
        """What whoever does its units must know, with the CPU threads of each process."""
        digests = tuple(sorted(self.text.digests.items()))
        return PlanFacts(corpus=self.text.corpus, digests=digests, num_threads=num_threads)

    def write_rows(self, store: Store, path: Path | None = None) -> int:
        """Gather all rows into one file, by default in the study's directory; return how many."""
        return write_rows(path or store.path / ROWS, gather_rows(store, self.plan, self.config.to_json()))


def plan_study(config_path: Path, corpus_name: str | None) -> tuple[StudyConfig, tuple[Unit, ...]]:
    """The units of a study, without reading any text but what tells scripts apart.

    Without a corpus, a study of the paper's partitions is planned for its 77 languages.
    """
    config = read_config(config_path)
    if corpus_name is None and config.corpus is None and config.partitions == "paper":
        codes = sorted({*(code for codes in paper_partitions().values() for code in codes), *config.guests})
        records = [LanguageRecord(code=code, iso639_3=code, name=code) for code in codes]
        return config, make_plan(config, records)
    return config, make_plan(config, _open(config, corpus_name, str(config_path))[1].languages())


def start_study(
    config_path: Path,
    corpus_name: str | None,
    directory: Path,
    *,
    on_language: Callable[[str], None] = lambda code: None,
    on_languages: Callable[[int], None] = lambda number: None,
) -> tuple[Study, Store]:
    """Read a study and the text it needs, and make or continue its directory.

    Args:
        config_path: the study.
        corpus_name: its corpus, unless the configuration names one.
        directory: of the study.
        on_language: called with each code as its text is read.
        on_languages: called before with their number.
    """
    config = read_config(config_path)
    name, corpus = _open(config, corpus_name, str(config_path))
    records = corpus.languages()
    plan = make_plan(config, records)
    wanted = sorted({code for unit in plan for code in unit.texts})
    on_languages(len(wanted))
    digests = {}
    for code in wanted:
        on_language(code)
        digests[code] = digest_of(corpus.sentences(code))
    store = Store.create(directory, config_path.read_text(encoding="utf-8"))
    text = StudyText(corpus=name, languages=records, digests=digests)
    store.write(STUDY, text)
    return Study(config=config, text=text, plan=with_keys(plan, digests)), store


def open_study(directory: Path) -> tuple[Study, Store]:
    """A study that was started, as its directory describes it; no text is read.

    Raises:
        StorageError: if the directory is not that of a study, or damaged.
    """
    store = Store.open(directory)
    config = parse_config((directory / CONFIG).read_text(encoding="utf-8"), name=str(directory / CONFIG))
    text = store.text()
    plan = make_plan(config, text.languages)
    for code in {code for unit in plan for code in unit.texts} - set(text.digests):
        raise StorageError(
            f"{directory / STUDY}: no digest of {code}; wanted one, as protoglot study run writes it"
        )
    return Study(config=config, text=text, plan=with_keys(plan, text.digests)), store


def note_environment(store: Store, *, num_workers: int, finished: bool) -> None:
    """Write down where a study runs, when it was started first, and when it ended last."""
    before = store.environment()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    store.write(
        ENVIRONMENT,
        Environment(
            commit=find_commit(),
            versions=describe_versions(),
            machine=describe_machine(),
            started=before.started or now,
            finished=now if finished else before.finished,
            workers=num_workers,
        ),
    )


def _open(config: StudyConfig, corpus_name: str | None, where: str) -> tuple[str, Corpus]:
    """The languages of a study in its corpus."""
    name = corpus_name or config.corpus
    if name is None:
        raise ConfigError(f"{where}: names no corpus; wanted --corpus NAME|PATH")
    corpus = open_corpus(name)
    if not isinstance(config.languages, str):
        return name, select_languages(corpus, (*config.languages, *config.guests))
    if config.script is not None:
        codes = [record.code for record in select_script(corpus, config.script).languages()]
        return name, select_languages(corpus, {*codes, *config.guests})
    return name, corpus
