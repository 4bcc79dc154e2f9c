import re
from pathlib import Path

import pytest

from protoglot.errors import ConfigError
from protoglot.study.config import parse_config, read_config
from study.fake import CONFIG

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem)
def test_the_studies_that_come_with_the_project_are_valid(path):
    assert read_config(path).name == path.stem


def test_what_is_left_out_has_a_default():
    config = parse_config(CONFIG, name="x.toml")
    assert config.seeds == (0,)
    assert config.scoring.characters == 20_000
    assert config.training.joint_budget == config.training.budget == "1000 characters"
    assert config.few_shot[0].languages == "all"
    assert config.held_out == (1, 2)
    assert parse_config(change("held_out = [1, 2]\n", ""), name="x.toml").held_out == (1, 2)
    assert parse_config(change('preset = "tiny"\n', ""), name="x.toml").preset == "compact"


def change(old: str, new: str) -> str:
    assert old in CONFIG
    return CONFIG.replace(old, new, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (change("preset", "prest"), "x.toml: prest: unknown; wanted preset"),
        (change("preset", '"pre\\nset"'), "x.toml: 'pre\\nset': unknown; wanted preset"),
        (change("num_validation", "num_validatoin"), "training.num_validatoin: unknown; wanted num_validation"),
        (change("samples = 2", "sampels = 2"), "few_shot[1].sampels: unknown; wanted samples"),
        (CONFIG + "zzzzz = 1", "joint[1].zzzzz: unknown; wanted one of conditionings, languages"),
        (change('"tiny"', '"tiniest"'), "preset: 'tiniest'; wanted one of compact, paper, plain, tiny"),
        (change('"fitu", "univ"', '"fitu", "unvi"'), "few_shot[1].methods: 'unvi'; wanted univ"),
        (change("samples = 2", 'samples = "2"'), "few_shot[1].samples: '2'; wanted a whole number from 1"),
        (change("samples = 2", "samples = true"), "few_shot[1].samples: True; wanted a whole number from 1"),
        (change("samples = 2", "samples = 0"), "few_shot[1].samples: 0; wanted a whole number from 1"),
        (
            change("sentences = [5]", "sentences = 5"),
            "few_shot[1].sentences: 5; wanted a list of different numbers",
        ),
        (change("sentences = [5]", "sentences = [5, 5]"), "[5, 5]; wanted a list of different numbers"),
        (change("sentences = [5]", ""), "few_shot[1].sentences: missing; wanted a list"),
        (change("held_out = [1, 2]", "held_out = [3]"), "held_out: 3; wanted a list of different numbers, each"),
        (change("partitions = 2", "partitions = 1"), 'partitions: 1; wanted a whole number from 2, or "paper"'),
        (change('"1000-characters"', '"soon"'), "training.budget: budget 'soon'; wanted a form like"),
        (
            change("[training]", "[adaptation.fitu]\ndropout = 1\n[training]"),
            "fitu.dropout: 1; wanted a number from",
        ),
        (change("[training]", "[adaptation.fit]\n[training]"), "adaptation.fit: unknown; wanted fitu"),
        (
            change('methods = ["univ"]', 'methods = ["calibrated"]'),
            "zero_shot.methods: calibrated: learned by tuning, and tuning.trials is 0",
        ),
        (change('"fitu", "univ"', '"fitu", "hier"'), "few_shot.methods: hier, and prior.spread lacks bare"),
        (
            change("[training]", "[tuning]\ntrials = 1\n[training]"),
            "tuning.languages: 3; wanted at most training.num",
        ),
        (change("[training]", "training = 3\n[prior]"), "training: 3; wanted a table, as in [training]"),
        (change("[[joint]]", "[joint]"), "wanted tables, as in [[joint]]"),
        ("joint = [3]\n" + CONFIG.split("[[joint]]")[0], "joint[1]: 3; wanted a table, as in [[joint]]"),
        (change("preset =", "guests = [1]\npreset ="), "guests: 1; wanted a list of texts"),
        (change("preset =", "languages = []\npreset ="), "languages: []; wanted a list of texts, none empty"),
        (
            change("preset =", 'languages = "some"\npreset ='),
            "'some'; wanted a list of texts, none empty and none",
        ),
        (change("preset =", 'corpus = " "\npreset ='), "corpus: ' '; wanted a text in quotes, not empty"),
        (
            change("preset =", 'guests = ["a", "a"]\npreset ='),
            "guests: ['a', 'a']; wanted a list with nothing twice",
        ),
        (
            change('conditionings = ["bare"]\nmethods = ["fitu"', 'methods = ["fitu"'),
            "few_shot[1].conditionings: none",
        ),
        (change('["bare", "oest"]', "[]"), "zero_shot[1].conditionings: []; wanted a list of some of"),
        (change("[scoring]", f"[scoring]\ntemperature = 1{'0' * 400}"), "0...; wanted a number from 0"),
        (CONFIG.split("[[zero_shot]]")[0], "nothing to score"),
        ("name = ", "not TOML"),
        (change('name = "fake"', "name = 1"), "name: 1; wanted a text in quotes"),
        (change("[scoring]", "[scoring]\ntemperature = inf"), "temperature: inf; wanted a number from 0"),
    ],
)
def test_wrong_keys_and_values_are_refused_with_what_was_wanted(content, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        parse_config(content, name="x.toml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("x.toml: ")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read"):
        read_config(tmp_path / "nowhere.toml")
