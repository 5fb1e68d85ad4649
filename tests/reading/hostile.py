"""Texts of a million characters that an inefficient parser would need minutes for."""

from collections.abc import Callable


def repeated(text: str) -> str:
    return text * (1_000_000 // len(text))


HOSTILE: dict[str, Callable[[], str]] = {
    "parentheses": lambda: repeated("("),
    "open modules": lambda: repeated("(a): B(\n"),
    "nested modules": lambda: "".join(f"{' ' * min(depth, 500)}(a): B(\n" for depth in range(3000)),
    "modules on one line": lambda: repeated("(a): B( "),
    "leaves on one line": lambda: "Model( " + repeated("(a): B(1) ) "),
    "lines of a log": lambda: repeated("INFO " + " " * 150 + "(a): B(1)\n"),
    "figures of a profiler": lambda: "% Params" + repeated("1 a, 1% Params, 2 b, 3% x, "),
    "digits of a profiler": lambda: "% Params" + repeated("1"),
    "states of optimizers": lambda: "".join(f"optimizer.state.{number}.exp_avg [2, 3]\n" for number in range(20_000)),
    "packed weights": lambda: "".join(f"a.{at}.qweight [2, 3]\na.{at}.scales [2, 3]\n" for at in range(10_000)),
    "rows of fvcore": lambda: "| name | #elements or shape |\n" + repeated("| a.a.a.a.a.a | (1, 2) |\n"),
    "closers": lambda: "Model(\n  (a): B(\n" + repeated(")\n"),
    "lines that go on": lambda: repeated("(a): Linear(in_features=1,\n"),
    "shapes": lambda: repeated("[1, 2] "),
    "digits": lambda: repeated("1"),
    "spaces": lambda: repeated(" "),
    "commas": lambda: "a.b [" + repeated("1,"),
    "crosses": lambda: repeated("1x"),
    "names": lambda: repeated("a.") + "weight [1]",
    "tensors": lambda: "".join(f"a.{number}.weight [2, 3]\n" for number in range(20_000)),
    "bars": lambda: "Layer (type:depth-idx) Param #\n" + repeated("│ "),
    "rows": lambda: "Layer (type) Param #\n" + repeated("a (B) 1\n"),
    "escapes": lambda: repeated("\x1b["),
    "braces": lambda: repeated("{"),
    "brackets": lambda: repeated("["),
    "quotes": lambda: repeated("'a': "),
    "words": lambda: repeated("word "),
    "slashes": lambda: repeated("a/") + "kernel (1, 2)",
    "breaks": lambda: "Model(<br>" + repeated("<br>"),
    "openers in one column": lambda: repeated("(a): B(\n(b): C(\n"),
    "objects": lambda: "a " + repeated("{} "),
    "ends of objects": lambda: 'a {"hidden_size": 1, "vocab_size": 2}' + repeated("}"),
    "keys": lambda: "Config: {" + repeated('"hidden_size": 1,\n'),
    "Chinese": lambda: '{"hidden_size": 1, ' + repeated("词"),
    "escaped lines": lambda: repeated("\\n"),
    "shapes without names": lambda: repeated("torch.Size([2, 3]) "),
    "dots": lambda: "a.b [1, 2]\n" + repeated("...."),
    "frozen rows": lambda: "Layer (type:depth-idx) Param #\n" + repeated("├─A: 1-1 (1,111)\n"),
    "backticks": lambda: repeated("```\n"),
    "one-line calculations": lambda: repeated("12*"),
    "article": lambda: repeated("768 x 768 = 589,824 parameters, so 12 layers have 85M. "),
    "models": lambda: "BERT-base 12 layers, " * 3_000,
    "sizes": lambda: "BERT-base. hidden_dim = 5, " * 4_000,
    "models in Chinese": lambda: "BERT-base有12层，" * 4_000,
    "formulas": lambda: repeated("$$4H^2+9H$$ "),
    "table": lambda: repeated("| attention | 2,362,368 |\n"),
    "tags": lambda: repeated("<td>"),
    "notebook": lambda: (
        '{"nbformat": 4, "cells": [' + '{"cell_type": "markdown", "source": ["768*768"]},' * 19_000 + "{}]}"
    ),
}
