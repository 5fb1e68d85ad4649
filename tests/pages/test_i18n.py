"""The catalogue: placeholders, terms and markup. test_update.py checks that it contains the messages of the source."""

import ast
import re
import tomllib
from functools import cache
from string import Formatter
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from pages.ui.shell.i18n import LANGUAGES, LOCALE, catalogue
from tests.pages.apptest import ROOT, charts, open_app, tables

OTHERS = LANGUAGES[1:]


@cache
def in_catalogue(language: str) -> Catalog:
    with (LOCALE / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def test_what_an_f_string_translates_is_in_the_catalogue() -> None:
    """``make messages`` does not find calls in f-strings."""
    calls = [
        call
        for folder in ("bertcalc", "pages")
        for path in (ROOT / folder).rglob("*.py")
        for joined in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(joined, ast.JoinedStr)
        for call in ast.walk(joined)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "_"
    ]
    messages = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    assert messages
    assert messages <= {message.id for message in in_catalogue("zh")}


def test_the_texts_of_the_lecture_are_messages() -> None:
    lecture = tomllib.loads((ROOT / "pages" / "lectures" / "why-110-million.toml").read_text(encoding="utf-8"))
    texts = {screen[key] for screen in lecture["screen"] for key in ("title", "text", "notes")}
    assert {lecture["title"], *texts} <= {message.id for message in in_catalogue("zh")}


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated_with_the_same_placeholders(language: str) -> None:
    for message in in_catalogue(language):
        if not message.id:
            continue
        assert message.string, message.id
        assert not message.fuzzy, message.id
        assert placeholders(message.string) == placeholders(message.id), message.id


# Words that Chinese texts avoid, and their replacements: one term for each concept.
TERMS = {
    "您": "你",
    "句段": "句子编号",
    "词元类型": "句子编号",
    "词片": "子词",
    "池化器": "池化层",
    "侧栏": "侧边栏",
    "讲座": "课堂演示",
    "隐藏维数": "隐藏层维度",
    "隐藏维度": "隐藏层维度",
    "隐藏单元": "隐藏层维度",
    "隐藏大小": "隐藏层维度",
    "中间维度": "前馈层维度",
    "前馈网络": "前馈层",
    "前馈部分": "前馈层",
    "前馈单元": "前馈层维度",
    "前馈维数": "前馈层维度",
    "每头维数": "每头维度",
    "批量": "批大小",
    "前向计算": "前向传播",
    "注意力分数": "注意力得分",
    "份额": "占比",
    "约定": "计数口径",
    "数法": "计数口径",
    "走查": "逐步前向过程",
    "带走": "导出",
    "矩阵共享": "权重共享",
    "矩阵不共享": "没有权重共享",
    "不可行": "不能是, 无效",
    "不可用": "不能是, 无效",
    "起始模型": "预设模型",
    "基线": "基准",
}
# Terms that are right only as part of a longer term.
PARTS = {
    r"(?<!讲者)备注": "讲者备注",
    "预设(?!模型)": "预设模型",
    r"前向(?!传播|过程)": "前向传播",
    r"重算": "重计算",
    r"(?<!权重)共享(?=与|：|张量)": "权重共享",
    r"(绝对|相对)位置(?!编码)": "位置编码",
    r"激活(?!值|函数)": "激活值, 激活函数",
    r"(?<=[\u4e00-\u9fff]) tokens?(?![\w=-])": "词元",
}
HAN, FULL = "[\u4e00-\u9fff]", "[，。：；？！（）“”、]"
# Punctuation is as wide as the characters around it, without a space beside it. Latin letters and digits are separated
# from a character by a space. A placeholder may hold either.
FORMS = {
    f'{HAN}[,:;?!()"]|[("]{HAN}': "full-width punctuation beside a Chinese character",
    f"{HAN}\\.": "。 after a Chinese character",
    f" {FULL}|{FULL} ": "no space beside full-width punctuation",
    f"{HAN} +{HAN}": "no space between Chinese characters",
    f"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}": "a space between Chinese and Latin",
    "  ": "one space",
    r"[\d}] %": "no space before %",
}


@pytest.mark.parametrize(
    ("pattern", "better"),
    [*((re.escape(term), better) for term, better in TERMS.items()), *PARTS.items(), *FORMS.items()],
)
def test_chinese_has_one_term_for_one_thing_and_its_own_punctuation(pattern: str, better: str) -> None:
    found = [message.string for message in in_catalogue("zh") if message.id and re.search(pattern, message.string)]
    assert not found, f"{pattern} -> {better}"


# Messages about the memory of the server, not of a GPU.
OF_THE_HOST = (
    "Building this model takes more than {size} GB of memory",
    "The process that builds this model crashed, probably because it ran out of memory",
    "The model does not fit into memory. Choose a smaller model, or run the app on a larger machine.",
    "The process that runs PyTorch was stopped, perhaps because it ran out of memory.",
)


def test_the_memory_of_a_gpu_is_called_so_in_chinese() -> None:
    hosts = {message.id for message in in_catalogue("zh") if message.id and "内存" in message.string}
    assert all(any(text.startswith(start) for start in OF_THE_HOST) for text in hosts), hosts


def placeholders(text: str) -> set[tuple[str, str]]:
    return {(name, form or "") for _text, name, form, _conversion in Formatter().parse(text) if name}


def test_nothing_stays_nothing() -> None:
    def script() -> None:
        import streamlit as st

        from pages.ui.shell.i18n import translator

        st.session_state["lang"] = "zh"
        st.text(repr(translator()("")))

    assert AppTest.from_function(script, default_timeout=60).run().text[0].value == "''"


def test_english_is_the_source_itself() -> None:
    assert catalogue("en").gettext("Architecture") == "Architecture"


@pytest.mark.parametrize("page", ["", "structure.py", "verify.py", "outputs.py", "compute.py", "any_model.py"])
def test_no_english_sentence_is_left_on_a_chinese_page(page: str) -> None:
    app: Any = open_app(page, lang="zh", hidden_size="770", tensors="true", num_labels="x")
    shown = [
        *(
            element.label
            for kind in ("metric", "selectbox", "button", "toggle", "number_input")
            for element in app.get(kind)
        ),
        *(
            element.value
            for kind in ("caption", "error", "warning", "success", "info", "text", "markdown")
            for element in app.get(kind)
        ),
        *(element.proto.delta_description for element in app.get("metric")),
        *(getattr(element.proto, "help", "") for kind in ("metric", "button_group") for element in app.get(kind)),
        *(str(cell) for table in tables(app) for cell in [*table.columns, *table.to_numpy().ravel()]),
    ]
    messages = {message.id for message in in_catalogue("zh") if message.id and message.id != message.string}
    whole = "\n".join(map(str, shown))
    assert not [message for message in messages if message in shown or (message.count(" ") > 1 and message in whole)]


def test_lists_and_sentences_have_the_punctuation_of_their_language() -> None:
    def script() -> None:
        import streamlit as st

        from pages.ui.shell.i18n import in_a_row, in_context, listed

        for st.session_state["lang"] in ("en", "zh"):
            st.text(listed(["a", "b"]) + in_a_row(["一。", "", "二。"]) + in_context("screen", "Next"))

    assert [text.value for text in AppTest.from_function(script, default_timeout=60).run().text] == [
        "a, b一。 二。Next",
        "a、b一。二。下一屏",
    ]


@pytest.mark.parametrize(
    ("page", "link", "said"),
    [
        ("memory.py", {"batch_size": "0"}, "批大小不能是 0"),
        ("memory.py", {"memory": "fit", "kept_free": "99999"}, "预留（GiB）不能是 99,999"),
        ("memory.py", {"memory": "activations"}, r"\text{字节} ="),
        ("memory.py", {"memory": "fit"}, r"\text{字节}(S) ="),
        ("exercises.py", {"exercise": "8", "solutions": "true"}, "33,920 字节"),
        ("sweep.py", {"sweep": "map", "x": "hidden_size", "y": "batch_size"}, "hidden_size 与批大小平面"),
        ("", {"architecture": "BertForPreTraining"}, "整个模型各部分的参数量"),
    ],
)
def test_chinese_words_have_no_space_between_them(page: str, link: dict[str, str], said: str) -> None:
    app: Any = open_app(page, lang="zh", **link)
    texts = [one.value for kind in ("error", "warning", "markdown", "caption", "latex") for one in app.get(kind)]
    whole = "\n".join([*texts, *(chart["alt"] for chart in charts(app))])
    assert said in whole
    chinese = "[\u3001-\u9fff\uff00-\uffef]"
    assert not re.findall(rf".*{chinese} {chinese}.*", whole)
    assert not re.findall(r"\bbytes\b", whole)


def test_units_are_said_in_the_readers_language() -> None:
    def script() -> None:
        import streamlit as st

        from bertcalc.text.amounts import typed
        from bertcalc.text.problem import InputError
        from pages.ui.shell.controls import sentence

        st.session_state["lang"] = "zh"
        try:
            typed("16 GB", "parameters")
        except InputError as error:
            st.text(sentence(error.problem, str))

    [said] = [text.value for text in AppTest.from_function(script, default_timeout=60).run().text]
    assert said.startswith("“16 GB”的单位是字节，这里需要的是参数。")


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_bold_in_a_translation_is_bold_on_the_page(language: str) -> None:
    """After a full-width colon, two asterisks do not end bold text if a digit follows."""
    for message in in_catalogue(language):
        text = re.sub(r"\{[^{}]*\}", "0", str(message.string))
        if text.count("**") % 2 == 0:
            assert "**" not in re.sub("<code>.*?</code>", "", MarkdownIt().render(text)), text
