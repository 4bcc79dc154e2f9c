"""The page: whole, safe, self-contained, and the same for the same rows."""

import base64
import hashlib
import random
import re
from html.parser import HTMLParser

import pytest
from tests.report import made_up

from protoglot.report.texts import text_tables
from protoglot.report.write import write_report

FIGURES = ("sentences", "families", "exoticness", "characters", "signal")
VOID = {"meta", "br", "hr", "col"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></svg></table><b>",
    "javascript:alert(1)",
    "\u202eabc\x00\x1b[31m",
    "&lt;b&gt;",
    "a\nb\rc\td",
    "',);--",
]


class Page(HTMLParser):
    """Checks that elements are closed in order, and gathers what a browser would act upon."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.ids, self.links, self.errors, self.text = [], [], [], [], [], []
        self.policy = ""
        self.feed(text)
        self.close()
        if self.stack:
            self.errors.append(f"not closed: {self.stack}")

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.stack.append(tag)
        names = [name for name, _ in attrs]
        self.errors += [f"{tag}: {name} twice" for name in set(names) if names.count(name) > 1]
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in {"href", "src", "srcset", "action", "data", "poster", "xlink:href", "background", "ping"}:
                self.links.append(value)
            if name.startswith("on"):
                self.errors.append(f"{tag}: {name}={value}")
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.errors.append(f"</{tag}> out of place at {self.getpos()}")

    def handle_data(self, data):
        self.text.append(data)


def files_of(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def out(rows_path, tmp_path_factory):
    directory = tmp_path_factory.mktemp("report") / "out"
    assert write_report(rows_path, directory) == directory / "index.html"
    return directory


def check(directory):
    """The page, after checking that it is well-formed and needs nothing but its own files."""
    text = (directory / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.errors
    assert len(page.ids) == len(set(page.ids))
    assert set(re.findall(r"url\(#(\w+)\)", text)) <= set(page.ids)
    for link in page.links:
        if link.startswith("#"):
            assert link.removeprefix("#") in page.ids
        elif not link.startswith("data:image/png;base64,"):
            assert (directory / link).is_file(), link
    assert page.policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not {"iframe", "object", "embed", "link", "base", "form", "img"} & set(page.tags)
    assert page.tags.count("script") == 1
    assert not re.search(r"@import|url\((?!#)|https?://", text)
    return page


def test_the_page_is_well_formed_and_self_contained(out):
    page = check(out)
    assert page.tags.count("svg") == 5
    assert {"averages", "claims", "scores", "figures", "texts", "making"} <= set(page.ids)


def test_the_script_is_the_one_that_may_run(out):
    text = (out / "index.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    assert f"'sha256-{digest}'" in Page(text).policy


def test_each_table_has_its_files_and_nothing_else_is_written(out):
    tables = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - {"index.html"}
    forms = {
        ("zero-shot", "few-shot", "joint"): ("md", "csv", "tex"),
        ("averages", "claims", "against-the-n-gram", "few-shot-further"): ("md", "csv"),
        ("cost", "failures", "texts", *(f"figure-{figure}" for figure in FIGURES)): ("csv",),
    }
    assert tables == {f"tables/{name}.{form}" for names, ends in forms.items() for name in names for form in ends}


@pytest.mark.parametrize("name", ["zero-shot", "few-shot", "few-shot-further", "joint"])
def test_tables_of_scores_have_one_row_for_each_language(out, name):
    found = made_up.read_csv((out / "tables" / f"{name}.csv").read_text(encoding="utf-8"))
    assert [row["code"] for row in found] == sorted(made_up.LANGUAGES)


def test_the_order_of_rows_changes_nothing(rows, out, tmp_path):
    shuffled = random.Random(7).sample(rows, len(rows))
    write_report(made_up.write(tmp_path / "shuffled.jsonl", shuffled), tmp_path / "out")
    assert files_of(tmp_path / "out") == files_of(out)


@pytest.mark.parametrize(
    "keep",
    [
        lambda row: row["kind"] != "score" or row["partition"] == 2,
        lambda row: row["kind"] == "score" and row["partition"] == 2 and row["regime"] == "few-shot",
        lambda row: row["kind"] == "score" and row["method"] == "n-gram" and row["sentences"] == 10,
        lambda row: row["kind"] == "score" and row["language"] == "aaa" and row["regime"] == "joint",
        lambda row: row["kind"] != "score",
        lambda row: row["kind"] == "environment",
        lambda row: row["kind"] == "score" and row["regime"] == "zero-shot",
        lambda row: row["kind"] == "failure",
    ],
)
def test_part_of_the_rows_gives_a_whole_page(rows, tmp_path, keep):
    write_report(made_up.write(tmp_path / "rows.jsonl", [row for row in rows if keep(row)]), tmp_path / "out")
    page = check(tmp_path / "out")
    assert not [piece for piece in page.text if re.search(r"\bnan\b|\bNone\b", piece)]


def test_hostile_strings_are_only_words(tmp_path):
    rows = []
    for place, string in enumerate(HOSTILE * 2):
        language = f"{string}{place // len(HOSTILE)}"
        rows += [
            made_up.zero(language, "univ", "bare", 4.0 + place, partition=1, unit=string),
            made_up.few(language, "univ", "oest", 3.0, partition=1),
            made_up.few(language, "n-gram", None, 3.5, partition=1),
            made_up.unigram(language, {"<": 3, "&": 2, '"': place + 1, string[0]: 5}, name=string, family=string),
            made_up.text(language, string, partition=1),
            made_up.failure(what=string, reason=string),
            made_up.environment(
                commit=string, config={string: [string]}, machine={string: string}, started=string
            ),
            made_up.signal(1, layer=string),
            {"kind": string},
        ]
    write_report(made_up.write(tmp_path / "rows.jsonl", rows), tmp_path / "out")
    page = check(tmp_path / "out")
    assert "b" not in page.tags
    text = "".join(page.text)
    assert "<script>alert(1)</script>" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    contents = b"".join(files_of(tmp_path / "out").values())
    assert b"&lt;script&gt;" in contents
    assert b"\x00" not in contents


def test_a_study_of_one_language_and_one_score(tmp_path):
    write_report(made_up.write(tmp_path / "rows.jsonl", [made_up.score("aaa", 0.0)]), tmp_path / "out")
    check(tmp_path / "out")


def test_an_environment_may_know_nothing(tmp_path):
    keys = ("commit", "versions", "machine", "config", "started", "finished", "seconds", "unit")
    unknown = {"kind": "environment", **dict.fromkeys(keys)}
    write_report(made_up.write(tmp_path / "rows.jsonl", [unknown]), tmp_path / "out")
    assert "None" not in "".join(check(tmp_path / "out").text)


def test_tables_of_an_earlier_report_are_removed_and_other_files_stay(tmp_path):
    tables = tmp_path / "out" / "tables"
    tables.mkdir(parents=True)
    for name in ("texts-99.csv", "texts.csv", "failures.tex", "figure-signal.md", "mine.csv", "my-texts.csv"):
        (tables / name).write_text("old", encoding="utf-8")
    write_report(made_up.write(tmp_path / "rows.jsonl", [made_up.score("aaa", 1.0)]), tmp_path / "out")
    left = {path.name for path in tables.iterdir()}
    assert {"mine.csv", "my-texts.csv", "zero-shot.csv"} <= left
    assert not {"texts-99.csv", "texts.csv", "failures.tex", "figure-signal.md"} & left


def test_the_page_says_how_it_was_made(out):
    text = "".join(Page((out / "index.html").read_text(encoding="utf-8")).text)
    for fact in ("f" * 40, "torch 2.13.0", "cores 2", '"samples": 3', "1.00 hours", "adapt aaa", "out of memory"):
        assert fact in text
    assert "protoglot study run" in text


def test_generated_text_is_of_languages_seen_and_held_out(out):
    found = made_up.read_csv((out / "tables" / "texts.csv").read_text(encoding="utf-8"))
    held_out = [row for row in found if row["model"].endswith(", partition 4 held out")]
    assert [row["code"] for row in held_out] == ["aaa", "bbb", "ccc", "eee", "fff", "ggg", "ddd", "hhh"]
    assert [row["the model has"] for row in held_out] == ["seen it"] * 6 + ["not seen it"] * 2
    assert len(found) == 2 * len(made_up.LANGUAGES)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "git checkout ffff"),
        ({"commit": "abc-dirty"}, "git checkout abc\n"),
        ({"commit": "abc-dirty"}, "changes that are in no commit"),
        ({"config": {"name": "mine", "corpus": None}}, "study run configs/mine.toml --corpus PATH --out study"),
        ({"config": {"name": "mine", "corpus": "eld"}}, "study run configs/mine.toml --out study"),
    ],
)
def test_how_to_run_it_again_can_be_typed(tmp_path, changes, wanted):
    rows = [made_up.environment(**changes), made_up.score("aaa", 1.0)]
    write_report(made_up.write(tmp_path / "rows.jsonl", rows), tmp_path / "out")
    assert wanted in "".join(check(tmp_path / "out").text)


def test_a_text_that_a_model_writes_for_all_languages_is_shown_once(study_of):
    rows = [
        made_up.text(code, "same", partition=None, regime="joint", conditioning="bare") for code in ("aaa", "bbb")
    ]
    rows += [made_up.text(code, f"of {code}", partition=None, regime="joint") for code in ("aaa", "bbb")]
    tables = text_tables(study_of(rows))
    texts = [[row["text"].text for row in table.rows] for table in tables]
    assert texts == [["same"], ["of aaa", "of bbb"]]
    first = tables[0].rows[0]
    assert (first["code"].text, first["language"].text) == ("aaa to bbb", "2 languages")
    assert ["for all" in table.caption for table in tables] == [True, False]
