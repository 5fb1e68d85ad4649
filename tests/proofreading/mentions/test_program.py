"""Programs in a text: their values are Python's, and nothing in them is executed."""

import contextlib
import io
import re
from fractions import Fraction
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bertcalc
from bertcalc import BertConfig
from bertcalc.proofreading.mentions.program import counted_lines, unread_lines
from bertcalc.proofreading.proofread import proofread
from tests.examples import examples
from tests.oracle import Case

REAL = Case(BertConfig(), "BertModel").real().num_parameters()
PROGRAM = """
from transformers import BertModel
model = BertModel.from_pretrained("bert-base-uncased")
vocab_size, width = 30522, 768
V = 30522
H = 768
layers = 12
I = 4 * H
embeddings = V * H + 512 * H + 2 * H + 2 * H
attention = 4 * (H * H + H) + 2 * H
feed_forward = 2 * H * I + I + H + 2 * H
encoder = (attention + feed_forward) * layers
pooler = H * H + H
total_params = embeddings + encoder + \\
    pooler
"""


def test_every_line_of_a_right_program_is_right() -> None:
    claims = proofread(PROGRAM).claims
    computed = {claim.text: claim for claim in claims if re.search(r"[a-zA-Z] [*+]|[*+] [a-zA-Z(]", claim.text)}
    assert len(computed) == 7  # 4 * H is a size, not a count
    assert {claim.verdict for claim in computed.values()} == {"right"}, computed
    assert claims[-1].value == REAL


@pytest.mark.parametrize(
    ("line", "slip"),
    [
        ("(attention + feed_forward) * layers", "attention + feed_forward"),
        ("embeddings + encoder + \\", "encoder + \\"),
    ],
)
def test_a_mistake_in_a_program_makes_its_total_wrong(line: str, slip: str) -> None:
    total = proofread(PROGRAM.replace(line, slip)).claims[-1]
    assert total.verdict == "wrong"
    assert total.right_value == REAL


def test_a_total_that_a_line_adds_to_is_the_total_before_the_line() -> None:
    first, second = counted_lines("h = 768\ntotal = 5 * h\ntotal = total + 8 * h\n")
    assert [str(first.value), str(second.value)] == ["3840", "9984"]
    assert second.best.text == "3840 + 8 * 768"


@examples(100)
@given(st.integers(1, 4096), st.integers(1, 48), st.sampled_from(["+", "-", "*", "//"]), st.integers(1, 99))
def test_values_are_those_of_python(width: int, layers: int, sign: str, other: int) -> None:
    expression = f"(width * width {sign} {other}) * layers + 2 ** 3"
    expected = eval(expression, {"width": width, "layers": layers})  # safe: the text is from this test
    lines = counted_lines(f"width = {width}\nlayers = {layers}\ncount = {expression}\n")
    assert [entry.value for entry in lines] == ([Fraction(expected)] if expected >= 1000 else [])


@pytest.mark.parametrize(
    "line",
    [
        "count = __import__('os').system('true') + h * h * 9999",
        "count = h ** h ** h ** h",
        "count = h * unknown * 4",
        "count = (" * 200 + "h" + ")" * 200,
        "count = h * 10 ** 999",
        "count = [h for _ in range(10 ** 9)]",
        "count = h / 0 * 4000",
        "count = " + "-" * 700 + "h * 4000",
        "count = " + "(h + " * 150 + "h" + ")" * 150 + " * 4000",
    ],
)
def test_what_is_no_arithmetic_has_no_value(line: str) -> None:
    assert counted_lines(f"h = 768\nlayers = 12\n{line}\nother = count * 4000\n") == []


LOOP = """h, layers = 768, 12
total = 0
for layer in range(layers):
    total += 4 * h * h
    for norm in range(2):
        total += 2 * h
print(total)
if total > 1:
    total += 9 * h
q = h * h
"""


def test_a_loop_adds_as_often_as_it_runs() -> None:
    names: dict[str, int] = {}
    exec(LOOP.replace("print(total)", "printed = total"), names)  # safe: the text is from this test
    terms, norms, total, q = counted_lines(LOOP)
    assert [int(terms.value), int(norms.value), int(q.value)] == [4 * 768**2, 2 * 768, 768**2]
    assert int(total.value) == names["printed"]
    assert LOOP[total.start : total.end] == "total"


def test_a_loop_without_a_known_number_of_runs_adds_nothing() -> None:
    text = "h = 768\ntotal = 0 * h\nfor layer in model.layers:\n    total += 4 * h * h\nprint(total)\nq = h * h\n"
    assert [entry.before for entry in counted_lines(text)] == ["q"]


def test_lines_that_cannot_be_evaluated_are_named() -> None:
    text = "h = 768\nffn = 8 * h * h\n\nlayers = sum(parts.values()) + 12 * ffn\n"
    assert unread_lines(text) == [4]
    assert "Lines that were not evaluated: 4." in str(bertcalc.read(text))


def test_values_that_are_unpacked_are_no_numbers_of_the_text() -> None:
    claims = proofread("# BERT-base\nV,H,L,I,P=30522,768,12,3072,512\nwords = V*H\n").claims
    assert [(claim.text, int(claim.value)) for claim in claims] == [("V*H", 30522 * 768)]


def test_defaults_of_arguments_are_values() -> None:
    text = (
        "def count(vocab=30522,\n          hidden=768):\n    words = vocab * hidden\n    return words + 512 * hidden\n"
    )
    assert [int(entry.value) for entry in counted_lines(text)] == [30522 * 768, (30522 + 512) * 768]


def test_the_positions_are_those_of_the_calculation() -> None:
    text = "h = 768\n\nffn = 2 * h * 4 * h  # both matrices\n"
    [entry] = counted_lines(text)
    assert text[entry.start : entry.end] == "2 * h * 4 * h"
    assert (entry.before, entry.after, entry.line) == ("ffn", "both matrices", 2)


@pytest.mark.parametrize(
    "text",
    [
        "def count(width, layers):\n    ffn = 8 * width * width\n    both = ffn * layers\n\nprint(count(768, 12))\n",
        "def count(width, layers=12):\n    ffn = 8 * width * width\n    return ffn * layers\n\nx = count(width=768)\n",
        "def count(width, layers):\n    ffn = 8 * width * width\n    return ffn\n\nwidth = 768\nlayers = 12\n",
        "layers = 12\nffn = 8 * config['hidden_size'] * config.hidden_size\n",
        "layers = 12\nffn = (8 * hidden_size *\n       hidden_size)\n",
    ],
)
def test_names_have_the_values_of_arguments_constants_and_the_configuration(text: str) -> None:
    values = {entry.before: entry.value for entry in counted_lines(text, {"hidden_size": 768})}
    assert values["ffn"] == 8 * 768 * 768


@pytest.mark.parametrize(
    ("line", "name", "calculation"),
    [
        ('print("词嵌入:", V * h)', "词嵌入", "V * h"),
        ('print(f"word embeddings = {V * h:,} in all")', "word embeddings", "V * h"),
        ("print(V * h + 512 * h)", "", "V * h + 512 * h"),
        ("def embedding_params(V, h):\n    return V * h  # words", "embedding params", "V * h"),
    ],
)
def test_what_a_program_prints_or_returns_is_counted(line: str, name: str, calculation: str) -> None:
    text = f"V = 30522\nh = 768\n{line}\n"
    [entry] = counted_lines(text)
    assert (entry.before, text[entry.start : entry.end]) == (name, calculation)
    assert entry.value == eval(calculation, {"V": 30522, "h": 768})  # safe: the text is from this test


def test_a_name_with_two_values_has_none_before_they_are_assigned() -> None:
    text = (
        "def count(width):\n    return 4 * width\n\nwidth = 768\nfour = 4000 * width\nwidth = 1024\nq = width * 4096\n"
    )
    assert [entry.value for entry in counted_lines(text)] == [4000 * 768, 1024 * 4096]


@pytest.mark.parametrize(
    "piece", ["a = (\n", "def f(a):\n", "a = b * 2\n", "a = 12\n", "x = " + "-" * 60 + "1\n", "for a in b:\n"]
)
def test_the_time_is_proportional_to_the_text(piece: str) -> None:
    before = perf_counter()
    counted_lines((piece * 100_000)[:100_000])
    assert perf_counter() - before < 10


SIZES = "V, H, L, I = 30522, 768, 12, 3072\n"
LAYER = "12*H*H + 13*H"
PROGRAMS = {
    "a loop in a line": f"total = V*H + 516*H\nfor _ in range(L): total += {LAYER}\ntotal += H*H + H\nprint(total)\n",
    "a range of two": f"total = V*H\nfor i in range(1, L + 1):\n    total += {LAYER}\nprint(total)\n",
    "less": f"total = V*H + 516*H\nfor _ in range(L):\n    total += {LAYER}\ntotal -= V*H\nprint(total)\n",
    "times": f"total = V*H + 516*H\nfor _ in range(L):\n    total += {LAYER}\ntotal *= 4\nprint(total)\n",
    "break": f"total = V*H\nfor _ in range(L):\n    total += {LAYER}\n    break\nprint(total)\n",
    "if": f"total = V*H\nfor i in range(L):\n    if i % 2 == 0:\n        total += {LAYER}\nprint(total)\n",
    "while": f"total = V*H\nwhile L > 0:\n    total += {LAYER}\n    L -= 1\nprint(total)\n",
    "locals": "total = V*H\ndef f(h):\n    total = 0\n    total += h*h\n    return 3 * h\nf(H)\nprint(total)\n",
    "global": "total = V*H\ndef add():\n    global total\n    total += H*H + H\nadd()\nadd()\nprint(total)\n",
    "a default": f"def f(H=1024):\n    total = {LAYER}\n    return total\nx = 4 * V * H\nprint(f())\n",
    "a quoted text": '"""\nH = 1024\n"""\ntotal = 0\ntotal += V*H\nprint(total)\n',
    "another case": "total = 0\nfor i in range(L):\n    total += i * H\nprint(total)\n",
    "a new L": f"total = 0\nfor _ in range(L):\n    L = 3\n    total += {LAYER}\ntotal += L * H\nprint(total)\n",
    "an object": 'c = {\n    "h": 768,\n    "n": 12,\n}\ntotal = 0\ntotal += c["n"] * c["h"] * 99\nprint(total)\n',
    "a changed entry": 'c = {"h": 768}\nc["h"] = 1024\ntotal = 0\ntotal += c["h"] * c["h"]\nprint(total)\n',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_total_is_the_one_that_python_prints_or_is_not_known(name: str) -> None:
    program = SIZES + PROGRAMS[name]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})  # safe: the text is from this test
    totals = {
        int(entry.value) for entry in counted_lines(program) if program[entry.start : entry.end] in ("total", LAYER)
    }
    layer = 12 * 768 * 768 + 13 * 768
    assert totals - {layer} <= {int(printed.getvalue())}
    known = ("a loop in a line", "a range of two", "less", "times", "a new L", "an object")
    assert name not in known or int(printed.getvalue()) in totals
    for claim in proofread(program).claims:
        assert claim.text not in ("i * H", "2 == 0")


def test_the_prompts_of_a_console_are_no_part_of_a_program() -> None:
    text = ">>> h = 768\n>>> total = 0\n>>> for _ in range(12):\n...     total += 4 * h * h\n...\n>>> print(total)\n"
    assert [int(entry.value) for entry in counted_lines(text)] == [4 * 768**2, 12 * 4 * 768**2]
    assert bertcalc.read(text).kind == "program"
