"""A lecturer's file: what it may contain, and the message for each possible fault."""

import re

import pytest

from bertcalc.teach.lecture_screens import Show, Vocabulary, read
from bertcalc.text.problem import InputError

WORDS = Vocabulary(
    parts={"total": {}, "count": {"path": ("encoder", "pooler")}, "sum": {"terms": None}},
    sliders=("vocab_size", "hidden_size"),
    placeholders=("vocab_size", "parameters"),
    presets=("base", "large"),
)
SCREEN = """
[[screen]]
name = "sum"
title = "All {vocab_size} words"
text = "{{{parameters}}} of them"
show = [{part = "total"}, {part = "count", path = "encoder"}, {part = "sum", terms = '''
a = 1'''}]
sliders = ["hidden_size", "vocab_size"]
notes = "Say {parameters}."
preset = "base"
"""
FILE = f'title = "Why?"\n{SCREEN}'


def test_everything_is_read() -> None:
    lecture = read(FILE.encode(), WORDS)
    [screen] = lecture.screens
    assert lecture.title == "Why?"
    assert (screen.name, screen.title, screen.notes) == ("sum", "All {vocab_size} words", "Say {parameters}.")
    assert screen.text.format(parameters=3) == "{3} of them"
    assert screen.show == (
        Show("total", {}),
        Show("count", {"path": "encoder"}),
        Show("sum", {"terms": "a = 1"}),
    )
    assert screen.sliders == ("hidden_size", "vocab_size")
    assert screen.preset == "base"


def test_screens_are_in_the_order_of_the_file_and_notes_and_sliders_can_be_missing() -> None:
    last = '[[screen]]\nname = "last"\ntitle = "t"\ntext = "x"\nshow = []\n'
    one, two = read((FILE + last).encode(), WORDS).screens
    assert (one.name, two.name, two.notes, two.sliders, two.show, two.preset) == ("sum", "last", "", (), (), "")
    assert [screen.name for screen in read(f'title = ""\n{last}{SCREEN}'.encode(), WORDS).screens] == ["last", "sum"]


def test_a_file_from_another_editor_is_read() -> None:
    assert read(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode(), WORDS).title == "Why?"
    chinese = FILE.replace('"sum"\n', '"总数"\n').replace("Why?", "为什么")
    assert read(chinese.encode(), WORDS).screens[0].name == "总数"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Why?"', "title = Why?", "This is not a TOML file in UTF-8: .*line 1"),
        ('title = "Why?"', f"title = {'[' * 5000}", "This is not a TOML file"),
        ('title = "Why?"', f"title = {'9' * 5000}", "This is not a TOML file|the file: title must be a string"),
        ('title = "Why?"', "", "the file: title is missing"),
        ('title = "Why?"', "title = 5", "the file: title must be a string"),
        ('title = "Why?"', 'titel = "Why?"', "the file: unknown key titel: did you mean title\\?"),
        ('title = "Why?"', '"" = "Why?"', "the file: unknown key : "),
        (SCREEN, "", "the file: screen is missing"),
        (SCREEN, "screen = []", "the file: screen must be a list of tables"),
        (SCREEN, 'screen = ["sum"]', "the file: screen must be a list of tables"),
        (SCREEN, SCREEN + SCREEN, "Two screens have the name sum"),
        ('name = "sum"', "", r"\[\[screen\]\] 1: name is missing"),
        ('name = "sum"', "name = 1", r"\[\[screen\]\] 1: name must be a string"),
        ('name = "sum"', 'name = "a b"', r"\[\[screen\]\] a b: name can contain only letters, digits and hyphens"),
        ('name = "sum"', 'name = ""', r"\[\[screen\]\] : name can contain"),
        ('name = "sum"', f'name = "{"s" * 61}"', "name can contain .* at most 60"),
        ("text =", "txt =", r"\[\[screen\]\] sum: unknown key txt: did you mean text\\?"),
        ('text = "{{{parameters}}} of them"', "text = []", r"\[\[screen\]\] sum: text must be a string"),
        ('text = "{{{parameters}}} of them"', "", r"\[\[screen\]\] sum: text is missing"),
        (
            "{vocab_size}",
            "{vocab_sise}",
            "sum: title has the unknown placeholder {vocab_sise}: did you mean vocab_size",
        ),
        ("{vocab_size}", "{}", "title has the unknown placeholder {}"),
        ("{vocab_size}", "{0}", "title has the unknown placeholder {0}"),
        ("{vocab_size}", "{vocab_size.real}", "title has the unknown placeholder {vocab_size.real}"),
        ("{vocab_size}", "{vocab_size:>9}", "title has the unknown placeholder {vocab_size:>9}"),
        ("{vocab_size}", "{vocab_size!r}", "title has the unknown placeholder {vocab_size!r}"),
        ("Say {parameters}", "Say {wrong}", "sum: notes has the unknown placeholder {wrong}"),
        ("{vocab_size}", "{", "sum: title has a single brace"),
        ("{vocab_size}", "}", "sum: title has a single brace"),
        ("show = [{part =", "show = [{prt =", r"sum, show: part is missing"),
        ('{part = "total"}', '"total"', "sum: show must be a list of tables"),
        ('{part = "total"}', '{part = "totl"}', "sum, show: part totl is invalid: did you mean total\\?"),
        ('{part = "total"}', '{part = "total", path = "x"}', "sum, show: unknown key path: did you mean part\\?"),
        (', path = "encoder"', "", "sum, show: path is missing"),
        ('path = "encoder"', "path = 1", "sum, show: path must be a string"),
        ('path = "encoder"', 'path = "encode"', "sum, show: path encode is invalid: did you mean encoder\\?"),
        ('preset = "base"', 'preset = "bass"', "sum: preset bass is invalid: did you mean base"),
        ('["hidden_size", ', '["hiden_size", ', "sum: sliders hiden_size is invalid: did you mean hidden_size"),
        ('["hidden_size", "vocab_size"]', '"hidden_size"', "sum: sliders must be a list of strings"),
        ('["hidden_size", ', "[1, ", "sum: sliders must be a list of strings"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(InputError) as error:
        read(FILE.replace(old, new, 1).encode(), WORDS)
    assert re.search(said, str(error.value))
    assert str(error.value) == error.value.problem.message.format(**error.value.problem.values)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


def test_what_is_no_text_is_no_lecture() -> None:
    with pytest.raises(InputError, match=r"not a TOML file in UTF-8: .*0xff"):
        read(b"\xff\xfe" + FILE.encode(), WORDS)
