"""The paper's three tables with ours beside them, and the averages."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from protoglot.report import paper
from protoglot.report.measures import Measure
from protoglot.report.settings import FEW_SHOT_SENTENCES, NETWORKS, Setting, few_shot, joint, zero_shot
from protoglot.report.study import Study
from protoglot.report.tables import Cell, Column, Table, mark_best, number, words

_SHARED_CAPTION = (
    "Bits per character, lower is better. Bold: the best of ours in a row, and the best of the paper's. "
    "± is the standard error over samples of sentences and seeds; (n) after an average says that it is over n "
    "languages only. The paper's averages are over the languages that ours are over."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the numbers of one column come from."""

    column: Column
    setting: Setting
    is_paper: bool = False


def zero_shot_table(study: Study) -> Table:
    """Scores without a sentence of the language."""
    wanted = [zero_shot("ninf", "bare"), zero_shot("univ", "bare"), zero_shot("univ", "oest")]
    return _score_table(
        study,
        name="zero-shot",
        title="Zero-shot",
        caption=f"Zero-shot: no sentence of the language was read. {_SHARED_CAPTION}",
        settings=[*wanted, *_others(study, "zero-shot", 0, wanted)],
    )


def few_shot_table(study: Study) -> Table:
    """Scores from a few sentences, with the n-gram, and each network's mixture with it, beside each network."""
    sentences = study.measures.few_shot_sentences
    return _score_table(
        study,
        name="few-shot",
        title="Few-shot",
        caption=(
            f"Few-shot: {sentences} sentences of the language, the paper's columns. + n-gram: the network mixed with "
            f"the n-gram of the same sentences. {_SHARED_CAPTION}{_other_number(sentences)}"
        ),
        settings=[few_shot("n-gram", sentences=sentences), *_paper_few_shot(sentences)],
    )


def further_few_shot_table(study: Study) -> Table | None:
    """Few-shot scores of methods that the paper's table does not have, or ``None`` without any."""
    sentences = study.measures.few_shot_sentences
    ngram = few_shot("n-gram", sentences=sentences)
    shown = {ngram, *_paper_few_shot(sentences), *(setting.mixed() for setting in _paper_few_shot(sentences))}
    others = _others(study, "few-shot", sentences, shown)
    if not others:
        return None
    return _score_table(
        study,
        name="few-shot-further",
        title="Few-shot, other methods",
        caption=f"Few-shot: {sentences} sentences of the language, methods beyond the paper's table. {_SHARED_CAPTION}",
        settings=[ngram, *others],
    )


def joint_table(study: Study) -> Table:
    """Scores with all of the language's training text, the ceiling."""
    wanted = [joint("bare"), joint("oest")]
    return _score_table(
        study,
        name="joint",
        title="Joint",
        caption=f"Joint: one network trained on all languages, the ceiling of transfer. {_SHARED_CAPTION}",
        settings=[*wanted, *_others(study, "joint", None, wanted)],
    )


def averages_table(study: Study) -> Table:
    """Averages over languages: ours, with the n-gram, the n-gram's own, the paper's."""
    measures, sentences = study.measures, study.measures.few_shot_sentences
    ngram = few_shot("n-gram", sentences=sentences)
    zero = [zero_shot("ninf", "bare"), *(zero_shot("univ", kind) for kind in ("bare", "oest", "plat"))]
    few = [*_paper_few_shot(sentences), few_shot("univ", "plat", sentences=sentences)]
    networks = {setting for setting in measures.settings if setting.method in (*NETWORKS, "joint", "calibrated")}
    zero += sorted({s for s in networks if s.regime == "zero-shot"} - set(zero), key=lambda s: s.order)
    few += sorted(
        {s for s in networks if s.regime == "few-shot" and s.sentences == sentences} - set(few), key=_order
    )
    rows = []
    for setting in [*zero, *few, joint("bare"), joint("oest")]:
        rival = {"zero-shot": None, "few-shot": ngram, "joint": joint(None, "n-gram")}[setting.regime]
        scored = [language for language in study.languages if measures.of(language, setting)]
        languages = scored or list(study.languages)
        mixed = setting.mixed() if setting.regime != "zero-shot" else None
        cells = [
            words("joint" if setting.regime == "joint" else f"{setting.regime}, {setting.sentences}"),
            words(setting.label),
            number(float(len(scored)), digits=0),
            _average(measures.average(setting, languages), None),
            _average(measures.average(mixed, languages), len(languages)) if mixed else Cell(),
            _average(measures.average(rival, languages), len(languages)) if rival else Cell(),
            _paper_average(setting, languages),
        ]
        rows.append(mark_best(cells, [(3, 4, 5)]))
    return Table(
        name="averages",
        title="Averages",
        caption=(
            "Average bits per character over languages, lower is better; in each row all numbers are over the same "
            "languages unless (n) says over how many. Bold: the best of ours, our mixture and the n-gram. "
            "± is the standard error over samples of sentences and seeds." + _other_number(sentences)
        ),
        columns=(
            Column(key="regime", heading="regime, sentences", numeric=False),
            Column(key="model", heading="model", numeric=False),
            Column(key="languages", heading="languages"),
            Column(key="ours", heading="ours"),
            Column(key="mixture", heading="ours + n-gram"),
            Column(key="ngram", heading="n-gram"),
            Column(key="paper", heading="paper"),
        ),
        rows=tuple(rows),
    )


def _order(setting: Setting) -> tuple[int, ...]:
    return setting.order


def _paper_few_shot(sentences: int) -> list[Setting]:
    return [setting.with_sentences(sentences) for setting in paper.COLUMNS if setting.regime == "few-shot"]


def _other_number(sentences: int) -> str:
    return "" if sentences == FEW_SHOT_SENTENCES else " The paper's few-shot figures are from 100 sentences."


def _others(study: Study, regime: str, sentences: int | None, shown: Iterable[Setting]) -> list[Setting]:
    """Settings of a regime that have scores and are not shown yet."""
    left = set(study.measures.settings) - set(shown)
    return sorted((s for s in left if s.regime == regime and s.sentences == sentences), key=_order)


def _sources(settings: Sequence[Setting]) -> list[_Source]:
    """The columns of each setting: ours, mixed with the n-gram, the paper's."""
    sources = []
    for setting in settings:
        label, key = setting.label, setting.key
        companions = setting.as_in_paper in paper.COLUMNS
        group = label if companions else ""
        ours = Column(key=key, heading="ours" if companions else label, group=group)
        sources.append(_Source(column=ours, setting=setting))
        if companions and setting.regime == "few-shot":
            column = Column(key=setting.mixed().key, heading="+ n-gram", group=group)
            sources.append(_Source(column=column, setting=setting.mixed()))
        if companions:
            column = Column(key=f"{key}_paper", heading="paper", group=group)
            sources.append(_Source(column=column, setting=setting, is_paper=True))
    return sources


def _score_table(study: Study, *, name: str, title: str, caption: str, settings: Sequence[Setting]) -> Table:
    sources = _sources(settings)
    languages = study.languages
    first = len(_LANGUAGE_COLUMNS)
    groups = [
        [first + index for index, source in enumerate(sources) if source.is_paper == is_paper]
        for is_paper in (False, True)
    ]
    rows = []
    for language in languages:
        partition = study.partitions.get(language)
        scores = [_score(study, language, source) for source in sources]
        heading = (words(language), words(study.names.get(language, "")), number(partition, digits=0))
        rows.append(mark_best((*heading, *scores), groups))
    summary = [
        mark_best((*heading, *(_average_of(study, source, members) for source in sources)), groups)
        for heading, members in _groups_of_languages(languages, study.partitions)
    ]
    return Table(
        name=name,
        title=title,
        caption=caption,
        columns=(*_LANGUAGE_COLUMNS, *(source.column for source in sources)),
        rows=tuple(rows),
        summary=tuple(summary),
    )


_LANGUAGE_COLUMNS = (
    Column(key="code", heading="code", numeric=False),
    Column(key="language", heading="language", numeric=False),
    Column(key="partition", heading="part"),
)


def _groups_of_languages(
    languages: Sequence[str], partitions: Mapping[str, int]
) -> list[tuple[tuple[Cell, Cell, Cell], list[str]]]:
    """Headings and members of the rows of averages: each partition, then all."""
    groups = []
    for partition in sorted(set(partitions.values())):
        members = [language for language in languages if partitions.get(language) == partition]
        heading = (words("mean"), words(f"{len(members)} languages"), number(partition, digits=0))
        groups.append((heading, members))
    groups.append(((words("mean"), words(f"all {len(languages)} languages"), Cell()), list(languages)))
    return groups


def _score(study: Study, language: str, source: _Source) -> Cell:
    if source.is_paper:
        return number(paper.paper_score(language, source.setting))
    measure = study.measures.of(language, source.setting)
    return Cell() if measure is None else number(measure.mean, standard_error=measure.standard_error)


def _average_of(study: Study, source: _Source, members: Sequence[str]) -> Cell:
    if not source.is_paper:
        return _average(study.measures.average(source.setting, members), len(members))
    ours = [language for language in members if study.measures.of(language, source.setting)]
    scores = [paper.paper_score(language, source.setting) for language in ours or members]
    present = [score for score in scores if score is not None]
    return _mean(present, len(members))


def _average(measure: Measure | None, expected: int | None) -> Cell:
    if measure is None:
        return Cell()
    note = "" if expected in (None, measure.number) else str(measure.number)
    return number(measure.mean, standard_error=measure.standard_error, note=note)


def _paper_average(setting: Setting, languages: Sequence[str]) -> Cell:
    if setting.as_in_paper in paper.AVERAGES:
        total = len(next(iter(paper.paper_scores().values())))
        whole = {paper.paper_code(language) for language in languages} == set(
            paper.paper_scores()[zero_shot("univ", "oest")]
        )
        return number(paper.AVERAGES[setting.as_in_paper], note="" if whole else str(total))
    scores = [paper.paper_score(language, setting) for language in languages]
    return _mean([score for score in scores if score is not None], len(languages))


def _mean(scores: Sequence[float], expected: int) -> Cell:
    if not scores:
        return Cell()
    note = "" if len(scores) == expected else str(len(scores))
    return number(math.fsum(scores) / len(scores), note=note)
