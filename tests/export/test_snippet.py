"""The exported program runs: it rebuilds the model with transformers, and its check can fail."""

import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.export.snippet import snippet
from tests.examples import sampled
from tests.oracle import Case, ask_transformers4
from tests.strategies import ACTIVATIONS_OF_4

CONFIGS = [
    BertConfig(),
    BertConfig(num_hidden_layers=2, tie_word_embeddings=False),
    BertConfig(num_hidden_layers=2, is_decoder=True, num_labels=5),
    BertConfig(num_hidden_layers=2, is_decoder=True, add_cross_attention=True, vocab_size=21128, hidden_act="relu"),
    BertConfig(
        num_hidden_layers=2,
        pad_token_id=None,
        classifier_dropout=0.0,
        layer_norm_eps=1e-5,
        num_labels=1,
        hidden_act="xielu",
    ),
]
CASES = [Case(config, architecture) for architecture, config in product(ARCHITECTURES, CONFIGS)]
CASES += [Case(config, "BertModel", add_pooling_layer=False) for config in CONFIGS]


def program(case: Case) -> str:
    return snippet(case.model)


@pytest.mark.parametrize("case", sampled(CASES, 3))
def test_the_program_counts_what_is_counted_here(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(program(case), "program", "exec"), {})
    assert f"{case.architecture}: {case.ours().num_parameters():,} parameters" in capsys.readouterr().out


@pytest.mark.parametrize("changed", ["vocab_size=30523", "num_hidden_layers=11"])
def test_the_check_fails_for_another_model(changed: str) -> None:
    name, _equals, _value = changed.partition("=")
    source = program(Case(BertConfig())).replace(f"{name}={getattr(BertConfig, name)}", changed)
    assert changed in source
    with pytest.raises(AssertionError):
        exec(compile(source, "program", "exec"), {})


def test_as_a_program_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(program(Case(BertConfig(), "BertForPreTraining")), encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "BertForPreTraining: 110,106,428 parameters in 206 tensors\n"


def test_relative_positions_with_transformers_4() -> None:
    cases = [
        Case(
            BertConfig(num_hidden_layers=2, position_embedding_type="relative_key_query", tie_word_embeddings=False),
            architecture,
        )
        for architecture in ARCHITECTURES
    ]
    # Small, since xielu has parameters and needs memory.
    few = BertConfig(vocab_size=90, hidden_size=24, num_hidden_layers=2, intermediate_size=40)
    cases += [
        Case(replace(few, position_embedding_type="relative_key", hidden_act=name))
        for name in sorted({"gelu", "xielu"} & set(ACTIVATIONS_OF_4))
    ]
    programs = [program(case) for case in cases]
    printed = ask_transformers4([{"program": text} for text in programs])
    assert all(len(said.splitlines()) == 1 for said in printed)
    assert all('"transformers<5"' in text for text in programs)
