"""Lines as users write them, in every family, compared with the tensors of the real model.

A verdict in ``typed_lines.csv`` is "right", "wrong", "problem" (the sides are not equal) or "nothing" (rightly without
parameters). ``counts`` is a pattern for the names of the tensors that the line means, and the divisor of their sum.
"""

import csv
import re
from pathlib import Path

import pytest

from bertcalc.diagnosis.count_lines import read
from bertcalc.diagnosis.hand_count import LineVerdict, check, judge
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from tests.diagnosis.planted import real_tensors

with Path(__file__).with_name("typed_lines.csv").open(encoding="utf-8") as _file:
    LINES = list(csv.DictReader(_file))


def verdict_on(preset: str, architecture: str, text: str) -> LineVerdict:
    config = PRESETS[preset].config
    [line] = read(text, config)
    return judge(line, Model(config, architecture), config)


@pytest.mark.parametrize("row", LINES, ids=lambda row: row["line"])
def test_a_line_is_judged_by_the_real_tensors(row: dict[str, str]) -> None:
    verdict = verdict_on(row["preset"], row["architecture"], row["line"])
    if row["verdict"] == "nothing":
        assert (verdict.kind, verdict.is_right) == ("no parameters", True)
        return
    pattern, _sign, divisor = row["counts"].partition("/")
    sizes = real_tensors(row["preset"], row["architecture"])
    assert verdict.counted
    assert verdict.counted.right * int(divisor or 1) == sum(
        size for name, size in sizes.items() if re.search(pattern, name)
    )
    assert verdict.is_right == (row["verdict"] != "wrong")
    assert bool(verdict.line.problem) == (row["verdict"] == "problem")
    if row["causes"]:
        causes = {cause.miscount for cause in verdict.explanation or ()}
        assert causes in [{name.strip() for name in cause.split("+")} for cause in row["causes"].split("|")]


@pytest.mark.parametrize(
    "text",
    [
        *("Softmax: 768", "dropout = 2*768", "GELU: 3072", "residual connections = 12*768", "rotary angles = 768"),
        *("rel norm = 2*768", "cross-attention = 2,362,368", "embedding projection = 768*768 + 768", "gate = 768*3072"),
        *(
            "rel_embeddings = 393216",
            "task type embeddings = 1536",
            "position keys = 590592",
            "position queries: 590592",
        ),
    ],
)
def test_what_bert_does_not_have_is_not_taken_for_another_part(text: str) -> None:
    """The real model has no tensor of this name, but other tensors have as many elements."""
    name = re.split(r"\W", text.lower().removeprefix("embedding "))[0]
    name = {"position": "pos_key", "task": "task_type"}.get(name, name)
    assert not any(name in tensor for tensor in real_tensors("bert-base-uncased", "BertModel"))
    verdict = verdict_on("bert-base-uncased", "BertModel", text)
    assert (verdict.counted, verdict.is_right) == (None, False)


@pytest.mark.parametrize("row", [row for row in LINES if row["preset"] == "bert-base-uncased"][::3])
def test_a_line_that_says_what_it_counts_is_judged_the_same_beside_others(row: dict[str, str]) -> None:
    """The other lines count one layer, or are a right count of another part."""
    config = PRESETS[row["preset"]].config
    model = Model(config, row["architecture"])
    alone = verdict_on(row["preset"], row["architecture"], row["line"])
    for others in ("pooler = H*H", "word embeddings = V*H\nfinal = 3", "dropout = 37"):
        beside = check(model, config, read(f"{others}\n{row['line']}", config)).verdicts[-1]
        assert (beside.counted, beside.explanation) == (alone.counted, alone.explanation)
