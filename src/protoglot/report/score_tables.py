"""The paper's three tables with ours beside them, and the averages."""

import math
from collections.abc import Collection, Sequence

from protoglot.report import paper
from protoglot.report.rows import CONDITIONINGS
from protoglot.report.settings import FEW_SHOT_SENTENCES, NETWORKS, Setting, few_shot, joint, zero_shot
from protoglot.report.study import Study
from protoglot.report.tables import BAR, Cell, Row, Table, mark_best, number, words

_SHARED_CAPTION = (
    "Bits per character, lower is better. Bold: the best of ours in a row, and the best of the paper's. "
    "± is the standard error over samples of sentences and seeds; (n) after an average says that it is over n "
    "languages only. The paper's averages are over the languages that ours are over."
)


def score_tables(study: Study) -> list[Table]:
    """The paper's three tables with ours beside them; methods that the paper does not have come last, or by themselves.

    Zero-shot: without a sentence of the language. Few-shot: each network, its mixture with the n-gram, the n-gram.
    Joint: with all of the language's training text, the ceiling.
    """
    sentences = study.few_shot_sentences
    ngram = few_shot("n-gram", sentences=sentences)
    zero = [setting for setting in paper.COLUMNS if setting.regime == "zero-shot"]
    few = _paper_few_shot(sentences)
    whole = [setting for setting in paper.COLUMNS if setting.regime == "joint"]
    others = _others(study, "few-shot", sentences, {ngram, *few, *(setting.mixed() for setting in few)})
    read = f"Few-shot: {sentences} sentences of the language"
    mixed = "+ n-gram: the network mixed with the n-gram of the same sentences."
    of_zero = ("zero-shot", "Zero-shot", "Zero-shot: no sentence of the language was read.")
    of_few = ("few-shot", "Few-shot", f"{read}, the paper's columns. {mixed}")
    of_others = ("few-shot-further", "Few-shot, other methods", f"{read}, methods beyond the paper's table.")
    of_whole = ("joint", "Joint", "Joint: one network trained on all languages, the ceiling of transfer.")
    return [
        _score_table(study, *of_zero, [*zero, *_others(study, "zero-shot", 0, zero)]),
        _score_table(study, *of_few, [ngram, *few]),
        *([_score_table(study, *of_others, [ngram, *others])] if others else []),
        _score_table(study, *of_whole, [*whole, *_others(study, "joint", None, whole)]),
    ]


def averages_table(study: Study) -> Table:
    """Averages over languages: ours, with the n-gram, the n-gram's own, the paper's."""
    sentences = study.few_shot_sentences
    ngram = few_shot("n-gram", sentences=sentences)
    networks = [setting for setting in study.settings if setting.method in (*NETWORKS, "joint", "calibrated")]
    settings = [
        zero_shot("ninf", "bare"),
        *(zero_shot("univ", kind) for kind in CONDITIONINGS),
        *(setting for setting in networks if setting.regime == "zero-shot"),
        *_paper_few_shot(sentences),
        few_shot("univ", "plat", sentences=sentences),
        *(setting for setting in networks if (setting.regime, setting.sentences) == ("few-shot", sentences)),
        *(joint("bare"), joint("oest")),
    ]
    rows = []
    for setting in dict.fromkeys(settings):
        rival = {"zero-shot": None, "few-shot": ngram, "joint": joint(None, "n-gram")}[setting.regime]
        scored = [language for language in study.languages if language in study.by_language(setting)]
        languages = scored or study.languages
        regime = setting.regime if setting.sentences is None else f"{setting.regime}, {setting.sentences}"
        row = {
            "regime, sentences": words(regime),
            "model": words(setting.label),
            "languages": number(len(scored), digits=0),
            "ours": _our_score(study, setting, languages),
            "ours + n-gram": _our_score(study, setting.mixed(), languages) if rival else Cell(),
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


def _paper_few_shot(sentences: int) -> list[Setting]:
    return [setting.with_sentences(sentences) for setting in paper.COLUMNS if setting.regime == "few-shot"]


def _other_number(sentences: int) -> str:
    return "" if sentences == FEW_SHOT_SENTENCES else " The paper's few-shot figures are from 100 sentences."


def _others(study: Study, regime: str, sentences: int | None, shown: Collection[Setting]) -> list[Setting]:
    """Settings of a regime that have scores and are not shown yet."""
    return [s for s in study.settings if (s.regime, s.sentences) == (regime, sentences) and s not in shown]


def _score_table(study: Study, name: str, title: str, caption: str, settings: Sequence[Setting]) -> Table:
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
        caption=f"{caption} {_SHARED_CAPTION}{_other_number(study.few_shot_sentences) if name == 'few-shot' else ''}",
        rows=[row(code, study.names.get(code, ""), partitions.get(code), [code]) for code in study.languages],
        summary=[
            *(row("mean", f"{len(members)} languages", part, members) for part, members in groups.items()),
            row("mean", f"all {len(study.languages)} languages", None, study.languages),
        ],
        forms=("md", "csv", "tex") if name in ("zero-shot", "few-shot", "joint") else ("md", "csv"),
    )


def _our_score(study: Study, setting: Setting, members: Sequence[str]) -> Cell:
    """The mean of ours over languages, or of the one language."""
    measure = study.average(setting, members)
    if measure is None:
        return Cell()
    note = "" if measure.number == len(members) else str(measure.number)
    return number(measure.mean, standard_error=measure.standard_error, note=note)


def _paper_score(study: Study, setting: Setting, members: Sequence[str]) -> Cell:
    """The paper's mean over the languages that ours is over; over all, where we have none."""
    ours = [language for language in members if language in study.by_language(setting)]
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
