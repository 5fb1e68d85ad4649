"""A lecturer's file: what is read, and the one sentence for everything that can be wrong in it."""

import re

import pytest

from bertcalc.lecture import LectureError, Show, Vocabulary, read

WORDS = Vocabulary(
    parts={"total": {}, "count": {"path": ("encoder", "pooler")}, "sum": {"terms": None}},
    sliders=("vocab_size", "hidden_size"),
    placeholders=("vocab_size", "parameters"),
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


def test_screens_are_in_the_order_of_the_file_and_notes_and_sliders_can_be_missing() -> None:
    last = '[[screen]]\nname = "last"\ntitle = "t"\ntext = "x"\nshow = []\n'
    one, two = read((FILE + last).encode(), WORDS).screens
    assert (one.name, two.name, two.notes, two.sliders, two.show) == ("sum", "last", "", (), ())
    assert [screen.name for screen in read(f'title = ""\n{last}{SCREEN}'.encode(), WORDS).screens] == ["last", "sum"]


def test_a_file_from_another_editor_is_read() -> None:
    assert read(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode(), WORDS).title == "Why?"
    chinese = FILE.replace('"sum"\n', '"总数"\n').replace("Why?", "为什么")
    assert read(chinese.encode(), WORDS).screens[0].name == "总数"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Why?"', "title = Why?", "This is no TOML file in UTF-8: .*line 1"),
        ('title = "Why?"', f"title = {'[' * 5000}", "This is no TOML file"),
        ('title = "Why?"', f"title = {'9' * 5000}", "This is no TOML file|the file: title must be a text"),
        ('title = "Why?"', "", "the file: title is missing"),
        ('title = "Why?"', "title = 5", "the file: title must be a text"),
        ('title = "Why?"', 'titel = "Why?"', "the file: there is no key titel, title may be meant"),
        ('title = "Why?"', '"" = "Why?"', "the file: there is no key , "),
        (SCREEN, "", "the file: screen is missing"),
        (SCREEN, "screen = []", "the file: screen must be a list of tables"),
        (SCREEN, 'screen = ["sum"]', "the file: screen must be a list of tables"),
        (SCREEN, SCREEN + SCREEN, "Two screens have the name sum"),
        ('name = "sum"', "", r"\[\[screen\]\] 1: name is missing"),
        ('name = "sum"', "name = 1", r"\[\[screen\]\] 1: name must be a text"),
        ('name = "sum"', 'name = "a b"', r"\[\[screen\]\] a b: name can have letters, digits and hyphens alone"),
        ('name = "sum"', 'name = ""', r"\[\[screen\]\] : name can have"),
        ('name = "sum"', f'name = "{"s" * 61}"', "name can have .* 60 at most"),
        ("text =", "txt =", r"\[\[screen\]\] sum: there is no key txt, text may be meant"),
        ('text = "{{{parameters}}} of them"', "text = []", r"\[\[screen\]\] sum: text must be a text"),
        ('text = "{{{parameters}}} of them"', "", r"\[\[screen\]\] sum: text is missing"),
        ("{vocab_size}", "{vocab_sise}", "sum: title has the unknown placeholder {vocab_sise}: vocab_size may be"),
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
        ('{part = "total"}', '{part = "totl"}', "sum, show: part totl is not possible, total may be meant"),
        ('{part = "total"}', '{part = "total", path = "x"}', "sum, show: there is no key path, part may be meant"),
        (', path = "encoder"', "", "sum, show: path is missing"),
        ('path = "encoder"', "path = 1", "sum, show: path must be a text"),
        ('path = "encoder"', 'path = "encode"', "sum, show: path encode is not possible, encoder may be meant"),
        ('["hidden_size", ', '["hiden_size", ', "sum: sliders hiden_size is not possible, hidden_size may be"),
        ('["hidden_size", "vocab_size"]', '"hidden_size"', "sum: sliders must be a list of texts"),
        ('["hidden_size", ', "[1, ", "sum: sliders must be a list of texts"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(LectureError) as error:
        read(FILE.replace(old, new, 1).encode(), WORDS)
    assert re.search(said, str(error.value))
    assert str(error.value) == error.value.problem.message.format(**error.value.problem.values)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


def test_what_is_no_text_is_no_lecture() -> None:
    with pytest.raises(LectureError, match=r"no TOML file in UTF-8: .*0xff"):
        read(b"\xff\xfe" + FILE.encode(), WORDS)
