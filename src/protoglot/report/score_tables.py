"""The paper's three tables with ours beside them, and the averages."""

import math
from collections.abc import Iterable, Sequence

from protoglot.report import paper
from protoglot.report.settings import FEW_SHOT_SENTENCES, NETWORKS, Setting, few_shot, joint, zero_shot
from protoglot.report.study import Study
from protoglot.report.tables import BAR, Cell, Row, Table, mark_best, number, words

_SHARED_CAPTION = (
    "Bits per character, lower is better. Bold: the best of ours in a row, and the best of the paper's. "
    "± is the standard error over samples of sentences and seeds; (n) after an average says that it is over n "
    "languages only. The paper's averages are over the languages that ours are over."
)


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
        row = {
            "regime, sentences": words(
                "joint" if setting.regime == "joint" else f"{setting.regime}, {setting.sentences}"
            ),
            "model": words(setting.label),
            "languages": number(float(len(scored)), digits=0),
            "ours": _our_score(study, setting, languages),
            "ours + n-gram": _our_score(study, mixed, languages) if mixed else Cell(),
            "n-gram": _our_score(study, rival, languages) if rival else Cell(),
            "paper": _paper_average(study, setting, languages),
        }
        rows.append(mark_best(row, [("ours", "ours + n-gram", "n-gram")]))
    return Table(
        name="averages",
        title="Averages",
        caption=(
            "Average bits per character over languages, lower is better; in each row all numbers are over the same "
            "languages unless (n) says over how many. Bold: the best of ours, our mixture and the n-gram. "
            "± is the standard error over samples of sentences and seeds." + _other_number(sentences)
        ),
        rows=rows,
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


def _score_table(study: Study, *, name: str, title: str, caption: str, settings: Sequence[Setting]) -> Table:
    columns: dict[str, tuple[Setting, bool]] = {}  # whose scores, and whether they are the paper's
    for setting in settings:
        if setting.as_in_paper not in paper.COLUMNS:
            columns[setting.label] = setting, False
            continue
        columns[f"{setting.label}{BAR}ours"] = setting, False
        if setting.regime == "few-shot":
            columns[f"{setting.label}{BAR}+ n-gram"] = setting.mixed(), False
        columns[f"{setting.label}{BAR}paper"] = setting, True
    compared = [[key for key, (_, is_paper) in columns.items() if is_paper == theirs] for theirs in (False, True)]

    def row(code: str, language: str, partition: int | None, members: Sequence[str]) -> Row:
        heading = {"code": words(code), "language": words(language), "part": number(partition, digits=0)}
        scores = {
            key: (_paper_score if is_paper else _our_score)(study, setting, members)
            for key, (setting, is_paper) in columns.items()
        }
        return mark_best(heading | scores, compared)

    partitions = study.partitions
    groups = {
        part: [language for language in study.languages if partitions.get(language) == part]
        for part in sorted(set(partitions.values()))
    }
    return Table(
        name=name,
        title=title,
        caption=caption,
        rows=[row(code, study.names.get(code, ""), partitions.get(code), [code]) for code in study.languages],
        summary=[
            *(row("mean", f"{len(members)} languages", part, members) for part, members in groups.items()),
            row("mean", f"all {len(study.languages)} languages", None, study.languages),
        ],
        forms=("md", "csv", "tex") if name in ("zero-shot", "few-shot", "joint") else ("md", "csv"),
    )


def _our_score(study: Study, setting: Setting, members: Sequence[str]) -> Cell:
    """The mean of ours over languages, or of the one language."""
    measure = study.measures.average(setting, members)
    if measure is None:
        return Cell()
    note = "" if measure.number == len(members) else str(measure.number)
    return number(measure.mean, standard_error=measure.standard_error, note=note)


def _paper_score(study: Study, setting: Setting, members: Sequence[str]) -> Cell:
    """The paper's mean over the languages that ours is over; over all, where we have none."""
    ours = [language for language in members if study.measures.of(language, setting)]
    found = [paper.paper_score(language, setting) for language in ours or members]
    scores = [score for score in found if score is not None]
    if not scores:
        return Cell()
    return number(math.fsum(scores) / len(scores), note="" if len(scores) == len(members) else str(len(scores)))


def _paper_average(study: Study, setting: Setting, languages: Sequence[str]) -> Cell:
    """The paper's average over languages, or over all of its own where it gives no other."""
    if setting.as_in_paper not in paper.AVERAGES:
        return _paper_score(study, setting, languages)
    its_own = paper.paper_scores()[zero_shot("univ", "oest")].keys()
    whole = {paper.paper_code(language) for language in languages} == its_own
    return number(paper.AVERAGES[setting.as_in_paper], note="" if whole else str(len(its_own)))
