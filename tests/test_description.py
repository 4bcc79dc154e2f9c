import json

import numpy as np
import pytest
import torch

from protoglot import description, trained
from protoglot.adapted import KIND as ADAPTED
from protoglot.description import describe, flatten
from protoglot.errors import StorageError
from protoglot.exporting.facts import to_json_facts
from protoglot.ngram import KIND as NGRAM
from protoglot.prior.universal import KIND as PRIOR
from protoglot.prior.universal import UniversalPrior
from protoglot.reader_model import OWN_LINES, PREDICTED, read_page
from protoglot.reading.reader import KIND as READER
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import KIND as SCORER
from protoglot.trained import save_trained
from protoglot.training import runs
from tiny import babble, tiny_adapted, tiny_trained
from tiny_scorer import tiny_scorer


def save_prior(path):
    mean = tiny_trained("oest")
    UniversalPrior(
        mean=mean,
        fisher={name: torch.ones_like(weight).detach() for name, weight in mean.model.named_parameters()},
        prior_variance=2.0,
        num_training_sequences=10,
        num_sequences={"eus": 3, "fra": 4},
        frequencies=np.ones(len(mean.vocabulary) - 1, dtype=np.float32),
    ).save(path)


def reader():
    made = Reader(tiny_scorer(), language="wol", with_letters=False)
    made.read("ab ba\nжab\n")
    return made


def save_run(path):
    save_trained(path / "checkpoints" / "step-00000007", tiny_trained(), state={"step": 7})
    (path / "latest.json").write_text(json.dumps({"checkpoint": "step-00000007"}))
    (path / "run.json").write_text(json.dumps({"format": "protoglot-run", "seed": 5}))


SAVERS = {
    "reader": lambda path: reader().save(path, provenance={"text": "mine.txt", "seed": 1}),
    "scorer": lambda path: tiny_scorer().save(path, provenance={"note": "tiny"}),
    "adapted model": lambda path: tiny_adapted("oest").save(path),
    "n-gram": lambda path: tiny_adapted().ngram.save(path, provenance={"text": "mine"}),
    "model": lambda path: save_trained(path, tiny_trained()),
    "prior": save_prior,
    "run": save_run,
}


@pytest.fixture(params=SAVERS, ids=str)
def saved(request, tmp_path):
    SAVERS[request.param](tmp_path / "thing")
    return request.param, tmp_path / "thing"


def test_every_kind_is_described_in_json_values(saved):
    kind, path = saved
    facts = describe(path)
    assert facts["kind"] == kind
    assert json.loads(json.dumps(facts)) == facts
    assert all(not isinstance(value, dict | list) for value in flatten(facts).values())
    of_model = facts["model"] if kind == "run" else facts
    assert "verified" in of_model["checksums"]
    assert {*of_model["files"]} == {file.name for file in path.rglob("*.safetensors")}


def test_every_kind_that_is_damaged_is_refused(saved):
    _, path = saved
    file = sorted(path.rglob("*.safetensors"))[0]
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match="damaged"):
        describe(path)


def test_facts_of_a_reader(tmp_path):
    SAVERS["reader"](tmp_path / "thing")
    facts = describe(tmp_path / "thing")
    assert facts["language"] == "wol"
    assert facts["read"] == {"text": "mine.txt", "sentences": 2, "characters": 10, "distinct_characters": 5}
    assert facts["network_of_letters"] is False
    assert facts["scorer"] == tiny_scorer().identity
    assert facts["made_from"] == {"seed": 1}
    value = json.loads(to_json_facts(tmp_path / "thing"))
    assert value["facts"] == facts
    assert [entry["character"] for entry in value["vocabulary"]] == ["\n", " ", "a", "b", "ж"]
    assert [entry["id"] for entry in value["vocabulary"]] == [0, 1, 2, 3, 4]


def test_facts_of_a_reader_begin_with_what_it_measured(tmp_path):
    model, reading = read_page(Reader(tiny_scorer()), babble("abd", 12, seed=0), {"text": "p"})
    model.save(tmp_path / "thing")
    facts = describe(tmp_path / "thing")
    assert list(facts)[:4] == ["kind", "path", "predicted", "own_lines"]
    assert facts["predicted"] == {
        "bits_per_character": reading.bits_per_character,
        "last_quarter": reading.bits[-(len(reading.bits) // 4) :].mean(),
    }
    assert facts["own_lines"] == model.own_lines.to_json()
    assert facts["made_from"] == {}
    empty, _ = read_page(Reader(tiny_scorer()), [], {})
    empty.save(tmp_path / "empty")
    assert "predicted" not in describe(tmp_path / "empty")


def test_facts_of_an_adapted_model(tmp_path):
    model = tiny_adapted(
        provenance={"num_sentences": 30, "adaptation": {"method": "fitu"}, "licences": {"eus": "CC0"}}
    )
    model.save(tmp_path / "model")
    facts = describe(tmp_path / "model")
    assert facts["language"] == "wol"
    assert facts["learned_from"] == {"text": "unknown", "sentences": 30, "characters": model.num_characters}
    assert facts["adaptation"] == {"method": "fitu"}
    assert facts["licences"] == {"eus": "CC0"}
    assert facts["inventory"] == len(model.vocabulary.characters)
    assert facts["network"]["weights"] == sum(weight.numel() for weight in model.network.parameters())
    assert facts["ngram"]["order"] == 3
    assert facts["ngram"]["ngrams"][0] <= len(model.vocabulary)


def test_a_run_without_a_checkpoint_and_one_that_stops_early(tmp_path):
    save_run(tmp_path)
    assert describe(tmp_path)["model"]["trained"] == {"step": 7}
    save_trained(tmp_path / "best", tiny_trained(seed=1), state={"step": 3})
    assert describe(tmp_path)["model"]["trained"] == {"step": 3}
    (tmp_path / "latest.json").unlink()
    assert describe(tmp_path)["has_model"] is False


@pytest.mark.parametrize("wrong", ["[]", "{}", '{"checkpoint": "../elsewhere"}', "{"])
def test_a_pointer_to_nowhere_is_refused(tmp_path, wrong):
    save_run(tmp_path)
    (tmp_path / "latest.json").write_text(wrong)
    with pytest.raises(StorageError, match="damaged run"):
        describe(tmp_path)


def test_names_are_those_of_the_modules_that_write():
    """They are written down twice, because these modules need PyTorch and a description does not."""
    assert {ADAPTED, NGRAM, PRIOR, READER, SCORER, trained.KIND} == set(description._BY_KIND)
    assert description.RUN == runs.RUN
    assert description._MEASURED == (PREDICTED, OWN_LINES)
    names = (description._LATEST, description._CHECKPOINTS, description._BEST)
    assert names == (trained.LATEST, trained.CHECKPOINTS, trained.BEST)


def test_facts_as_json_have_the_whole_vocabulary(tmp_path):
    model = tiny_adapted()
    model.save(tmp_path / "model")
    value = json.loads(to_json_facts(tmp_path / "model"))
    assert value["format"] == "protoglot-facts"
    assert value["facts"]["kind"] == "adapted model"
    assert [entry["id"] for entry in value["vocabulary"]] == [*range(len(model.vocabulary))]
    assert [entry["character"] for entry in value["vocabulary"][3:]] == list(model.vocabulary.characters)


def test_facts_want_a_vocabulary(tmp_path):
    save_run(tmp_path)
    with pytest.raises(StorageError, match=r"a run of protoglot train; wanted the directory of a model or prior"):
        to_json_facts(tmp_path)
