"""The Other tools page: the figures of its sources, and a sum that ends at the real model's count."""

from itertools import pairwise

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import ARCHITECTURES, BertConfig, Config
from bertcalc.diagnosis.other_tools import TOOLS
from pages.ui.shell.i18n import catalogue
from tests.oracle import Case
from tests.pages.apptest import open_app, tables, texts


def shown(app: AppTest) -> dict[str, list[str]]:
    """The rows of the first table, keyed by the name of the tool, without Markdown."""
    rows = tables(app)[0].to_numpy().tolist()
    return {row[0].strip("*").replace("\\", ""): row[1:] for row in rows}


def number(text: str) -> int:
    return 0 if text == "±0" else int(text.strip("*").replace(",", "").replace("−", "-"))


def real(architecture: str, config: Config | None = None) -> int:
    model = Case(config or BertConfig(), architecture).real()
    return sum(tensor.numel() for tensor in model.parameters())


def test_every_tool_has_its_count_its_error_and_a_reason() -> None:
    app = open_app("tools.py")
    rows = shown(app)
    assert list(rows) == list(TOOLS)
    assert rows["llm-analysis"][:3] == ["108,394,752", "−1,087,488", "−0.993\N{NO-BREAK SPACE}%"]
    assert rows["gpu_poor"][:3] == ["160,128,000", "+50,645,760", "+46.3\N{NO-BREAK SPACE}%"]
    assert "the pooler is left out" in rows["nanoGPT"][4]
    assert "gated" in rows["gpu_poor"][4]
    assert "109,482,240" in app.markdown[1].value


def test_the_main_reason_goes_in_the_direction_of_the_difference() -> None:
    """12 · L · H² uses 4 H for I, which adds more than any other term here. Its count is still too small."""
    row = shown(open_app("tools.py", intermediate_size="800", num_hidden_layers="2", vocab_size="8000"))["12LH2"]
    assert number(row[1]) == 14_155_776 - real("BertModel", SMALL) < 0
    assert "left out" in row[4]


def test_which_tools_leave_out_the_biases_is_a_column() -> None:
    """Korthikanti and Narayanan's formula includes the biases: 12 L H² (1 + 13 / 12 H + ...)."""
    counted = {name for name, row in shown(open_app("tools.py")).items() if row[3] == "counted"}
    assert counted == {"Narayanan"}
    assert tables(open_app("tools.py"))[0]["Biases"].isin(["counted", "left out"]).all()


SMALL = BertConfig(intermediate_size=800, num_hidden_layers=2, vocab_size=8000)


def test_a_family_that_is_not_like_bert_has_no_empty_column_of_reasons() -> None:
    columns = [*tables(open_app("tools.py", preset="gpt2", architecture="GPT2Model"))[0]]
    assert columns == ["Tool", "Parameters", "Difference", "%"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tool", ["nanoGPT", "EleutherAI"])
def test_the_sum_can_be_followed_line_by_line_to_the_real_count(architecture: str, tool: str) -> None:
    app = open_app("tools.py", architecture=architecture, tool=tool, intermediate_size="2000")
    table = tables(app)[1]
    amounts = [number(text) for text in table["Parameters"] if text]
    lines = [number(text) for text in table["So far"]]
    assert f"{lines[0]:,}" == shown(app)[tool][0]
    assert [after - before for before, after in pairwise(lines[:-1])] == amounts
    assert lines[-2] == lines[-1] == real(architecture, BertConfig(intermediate_size=2000))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_shown_with_its_formula_and_its_source(tool: str) -> None:
    app = open_app("tools.py", tool=tool)
    latex = app.latex[0].value
    assert shown(app)[tool][0].replace(",", "{,}") in latex
    assert TOOLS[tool].source.split(",")[0] in app.caption[0].value.replace("\\", "")
    table = tables(app)[1]
    assert table["Where it differs"].iloc[0] == f"**{tool} gives**".replace("_", r"\_")
    assert not app.error


def test_what_is_noted_of_a_tool_is_in_the_language_of_the_page() -> None:
    translate = catalogue("zh").gettext
    name, tool = next((name, tool) for name, tool in TOOLS.items() if tool.notes)
    [said] = [str(one.value) for one in open_app("tools.py", tool=name, lang="zh").caption if "来源" in str(one.value)]
    for note in tool.notes:
        assert translate(note) in said


def test_a_padded_vocabulary_is_in_the_numbers() -> None:
    app = open_app("tools.py", tool="Megatron")
    assert "30{,}592" in app.latex[0].value
    assert any("30{,}592" in cell for cell in tables(app)[1]["In numbers"])


def test_what_holds_here_is_a_reason_of_nothing() -> None:
    assert "±0" in list(tables(open_app("tools.py", tool="nanoGPT"))[1]["Parameters"])
    assert "±0" not in list(tables(open_app("tools.py", tool="nanoGPT", intermediate_size="3000"))[1]["Parameters"])


def test_another_tool_in_the_link_is_refused() -> None:
    app = open_app("tools.py", tool="nanogpt")
    assert texts(app) == ["tool=nanogpt in the link is invalid: it must be one of the options, such as nanoGPT."]
    assert "Source: karpathy/nanoGPT" in app.caption[0].value
