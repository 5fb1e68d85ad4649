"""The discovery command, and the data that it wrote."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import sympy

from bertcalc.discover import __main__ as command
from bertcalc.discover import discover
from bertcalc.discover.__main__ import (
    ClassOutcome,
    chosen,
    is_in,
    main,
    outcome_of,
    read,
    report,
    row_for,
    summary,
    write,
)
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import NOT_ASKED, Discovered, of_json
from bertcalc.discover.results.shipped import FILE, shipped, shipped_classes
from bertcalc.discover.results.types import types
from bertcalc.text.problem import InputError
from tests.discover.real import real
from tests.discover.stuck import crashing, forever
from tests.examples import sampled

HERE = Path(__file__).parents[2] / "bertcalc" / "discover" / "results" / FILE


@cache
def gpt2() -> ClassOutcome:
    return outcome_of(DiscoveryRequest("gpt2", "GPT2Model"))


def test_a_row_says_what_became_of_a_class() -> None:
    found = gpt2()
    assert (found.outcome, found.remark) == ("found", "n_embd is a multiple of n_head")
    assert outcome_of(DiscoveryRequest("deberta", "DebertaModel")).outcome == "regime"
    open_ = outcome_of(DiscoveryRequest("nemotron", "NemotronModel"))
    assert (open_.outcome, open_.remark) == (
        "found",
        "with num_key_value_heads = 48; num_attention_heads is at most hidden_size",
    )
    refused = outcome_of(DiscoveryRequest("reformer", "ReformerModelWithLMHead"))  # by default, it is not a decoder
    assert (refused.outcome, refused.data) == ("not built", None)
    assert "AssertionError" in refused.remark
    assert outcome_of(DiscoveryRequest("bert", "BertModel", seconds=0)).remark == "over 0 s"


def test_which_classes_there_are() -> None:
    assert chosen(["bert"]) == [("bert", "BertForMaskedLM")]
    assert chosen(["bert.BertModel"], classes=True) == [("bert", "BertModel")]
    every = [("bert", "BertForMaskedLM"), ("bert", "BertLMHeadModel"), ("bert", "BertModel")]
    assert chosen(["bert"], classes=True) == every
    assert chosen(["detr", "superpoint"]) == [("detr", "DetrModel"), ("superpoint", "SuperPointForKeypointDetection")]
    language, every_type = ({kind for kind, _cls in chosen([], [group])} for group in ("language", "all"))
    assert 200 < len(language) < 300
    assert language < every_type == types().keys()
    # T5 has neither a masked nor a causal language model, Splinter's base model reads text, and ViT's reads images.
    some = ["bert", "t5", "splinter", "whisper", "vit", "clip"]
    assert [kind for kind in some if is_in(kind, "text")] == ["bert", "t5", "splinter", "whisper"]


def test_a_process_that_never_looks_at_the_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MORE", 0)
    soon = DiscoveryRequest("bert", "BertModel", seconds=1)
    assert outcome_of(soon, forever).remark == "over 1 s"
    assert outcome_of(soon, crashing).remark == "its process ended"
    with monkeypatch.context() as impatient:
        impatient.setattr(command, "_PATIENCE", -19)
        assert outcome_of(soon, forever).remark == "over 1 s"  # measured in wall time
    assert outcome_of(DiscoveryRequest("bert", "BertModel")).outcome == "found"


def test_what_lacks_memory_is_tried_again_in_a_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    discovery = shipped("gpt2", "GPT2LMHeadModel")
    assert discovery is not None
    asked = []

    def run(*arguments: object) -> Discovered:
        asked.append(arguments)
        if len(asked) == 1:
            raise MemoryError
        return discovery

    monkeypatch.setattr(command._WORKER, "run", run)
    assert outcome_of(DiscoveryRequest("gpt2", "GPT2LMHeadModel")).outcome == "found"
    assert len(asked) == 2
    assert command._WORKER._process is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bert", "robrta"], "The installed transformers has no model type robrta: did you mean roberta?"),
        (["sometypethatdoesnotexist"], "The installed transformers has no model type sometypethatdoesnotexist."),
        (["bert.BertModl"], "bert has no class BertModl: did you mean BertModel?"),
        ([""], 'The installed transformers has no model type "".'),
        ([], "Name model types, such as bert, or a group of them, such as --all."),
        (
            ["bert", "--write", "/nowhere/formulas.json"],
            "/nowhere/formulas.json cannot be written: No such file or directory.",
        ),
        (["bert", "--report", "/"], "/ cannot be written: Is a directory."),
        (["bert", "--write", str(HERE.with_name("types.json"))], "was not written by this command."),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert said in error


def test_it_goes_on_with_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, table = tmp_path / FILE, tmp_path / "table.md"
    file.write_text(HERE.read_text(encoding="utf-8"), encoding="utf-8")
    before = {key: data for key, data in read(HERE).items() if key not in (("gpt2", "GPT2LMHeadModel"),)}
    write(before, file)
    refused = "| dbrx | DbrxForCausalLM | not built | as it was said before |  | 3.0 |"
    table.write_text(f"A table\n\n{refused}\n", encoding="utf-8")
    again = ["gpt2", "bert", "dbrx", "--missing", "--write", str(file), "--report", str(table)]
    assert main(again) == 0
    said = capsys.readouterr().out
    assert "| gpt2 | GPT2LMHeadModel | found |" in said
    assert "| bert |" not in said
    assert "| dbrx |" not in said
    assert "3 types: found 2, not built 1; 67 %" in said
    assert "| bert | BertForMaskedLM | found |" in table.read_text(encoding="utf-8")
    assert refused in table.read_text(encoding="utf-8")
    # The new data equals the shipped data, except for FLOPs, which were not requested, and the time taken.
    left = ("compute", "no_flops", "seconds", "builds")
    there, here = read(HERE), read(file)
    assert list(there) == list(here)
    for key, data in there.items():
        same = {name: value for name, value in data.items() if name not in left}
        assert {name: value for name, value in here[key].items() if name not in left} == same
    assert {key for key in there if here[key] != there[key]} == {("gpt2", "GPT2LMHeadModel")}


def test_what_is_known_makes_the_same_row() -> None:
    found = gpt2()
    assert found.data is not None
    again = row_for(of_json(found.data))
    assert again[:4] == found[:4]
    assert again.seconds == of_json(found.data).seconds


def test_the_report_counts() -> None:
    rows = [
        ClassOutcome("bert", "A", "found", "", 2, {}, "yes"),
        ClassOutcome("gpt2", "B", "regime", "", 4, {"": 0}),
        ClassOutcome("t5", "C", "partly", "", 9, {"": 0}, "it takes too long"),
        ClassOutcome("vit", "D", "found", "", 1, {"": 0}),
    ]
    assert summary(rows[:3]) == (
        "3 types: found 1, partly 1, regime 1; 67 % have a whole formula. "
        "Median 6.5 s, longest 9.0 s. FLOPs have a formula for 1."
    )
    assert "video and sound" not in report(rows, 60, ["text"])
    said = report(rows, 60, ["all"])
    assert "`python -m bertcalc.discover --all --missing" in said
    assert "language model: 2 types: found 1, regime 1; 100 %" in said
    assert "only text (`main_input_name`, `input_modalities`): 3 types: found 1, partly 1, regime 1; 67 %" in said
    assert "including images, video and sound: 4 types: found 2, partly 1, regime 1; 75 %" in said
    assert "| t5 | C | partly |  | it takes too long | 9.0 |" in said


def test_what_is_written_is_read_and_kept(tmp_path: Path) -> None:
    data = gpt2().data
    assert data is not None
    file = tmp_path / FILE
    write({("gpt2", "GPT2Model"): data}, file)
    assert read(file) == {("gpt2", "GPT2Model"): data}
    assert read(None) == read(tmp_path / "nothing.json") == {}


def test_the_data_is_small_and_its_classes_are_what_they_say() -> None:
    assert HERE.stat().st_size < 2 * 2**20
    assert len(shipped_classes()) > 150
    assert shipped("no_such_type", "NoSuchModel") is None
    for kind, cls in shipped_classes():
        found = shipped(kind, cls)
        assert found is not None
        assert (found.model_type, found.cls) == (kind, cls)
        if not found.unexplained:
            assert found.count() == found.parameters
            assert found.checked.agreed == found.checked.of >= 10
            assert found.checked.all_changed >= 4
        else:
            assert found.total is None


# Drawn once from the classes with a complete formula: finding them by reading all data would take a second at each
# start.
HANDFUL = [
    ("ernie", "ErnieForCausalLM"),
    ("gpt_neox_japanese", "GPTNeoXJapaneseForCausalLM"),
    ("beam", "BeamForCausalLM"),
]


@pytest.mark.parametrize("case", sampled(HANDFUL, 3), ids=lambda case: case[1])
def test_a_handful_is_found_again(case: tuple[str, str]) -> None:
    written, found = shipped(*case), discover(DiscoveryRequest(*case))
    assert written is not None
    assert not found.unexplained
    assert sympy.expand(written.total - found.total) == 0
    assert written.parameters == found.parameters
    assert set(written.fields) == set(found.fields)
    assert set(written.regime) == set(found.regime)


def test_old_formulas_for_flops_stay_as_long_as_they_agree() -> None:
    earlier = shipped("gpt2", "GPT2LMHeadModel")
    assert earlier is not None
    assert earlier.compute is not None
    request = DiscoveryRequest("gpt2", "GPT2LMHeadModel", earlier=earlier, again="examine")
    kept = discover(request)
    assert (kept.compute, kept.no_flops) == (earlier.compute, None)
    first, *others = earlier.compute.tensors
    mistaken = replace(earlier.compute, tensors=(first._replace(copies=first.copies + 1), *others))
    lost = discover(request._replace(earlier=replace(earlier, compute=mistaken)))
    assert lost.compute is None
    assert "FlopCounterMode counts" in str(lost.no_flops)


def test_where_old_formulas_hold_is_looked_for_again() -> None:
    """A search restores the conditions that were removed from a formula.

    These are the conditions without which the count is wrong, or there is no model.
    """
    earlier = shipped("electra", "ElectraForMaskedLM")
    assert earlier is not None
    earlier = replace(earlier, regime=(), compute=None)
    again = discover(DiscoveryRequest("electra", "ElectraForMaskedLM", earlier=earlier, again="examine"))
    assert not again.unexplained
    with pytest.raises(InputError):
        again.count(embedding_size=256)  # without a projection
    with pytest.raises(InputError):
        again.count(hidden_size=257)
    assert again.count(embedding_size=64) == real("electra", "ElectraForMaskedLM", embedding_size=64)


def test_what_is_known_is_kept_and_only_what_lacks_is_searched() -> None:
    earlier = shipped("gpt2", "GPT2LMHeadModel")
    assert earlier is not None
    request = DiscoveryRequest("gpt2", "GPT2LMHeadModel", earlier=earlier, seconds=0)  # no time for a search
    assert discover(request) is earlier
    assert discover(request._replace(flops=True)) is earlier
    late = discover(request._replace(flops=True, earlier=replace(earlier, compute=None, no_flops=NOT_ASKED)))
    assert (late.total, str(late.no_flops)) == (earlier.total, "the time limit was reached")
