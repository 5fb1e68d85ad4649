"""Distortions of pasted text by terminals, notebooks, editors and users."""

import re
from collections.abc import Callable

Noise = Callable[[str], str]


def wrapped(width: int) -> Noise:
    """Return a distortion that breaks lines at a width, as a terminal does."""

    def noise(text: str) -> str:
        lines = (
            line[start : start + width] for line in text.split("\n") for start in range(0, max(1, len(line)), width)
        )
        return "\n".join(lines)

    return noise


def coloured(text: str) -> str:
    return "\n".join(f"\x1b[1;32m{line}\x1b[0m" for line in text.split("\n"))


def numbered(text: str) -> str:
    return "\n".join(f"{number:4} | {line}" for number, line in enumerate(text.split("\n"), 1))


def in_a_notebook(text: str) -> str:
    return f"In [3]:\nmodel\n\nOut[3]: {text}\n\nIn [4]:\nsum(p.numel() for p in model.parameters())\n"


def in_a_shell(text: str) -> str:
    return f">>> from transformers import AutoModel\n>>> model\n{text}\n>>> exit()"


def in_markdown(text: str) -> str:
    return (
        f"# 模型结构\n\n打印模型,可以看到 (如下) 各层。\n\n```\n{text}\n```\n\nEach layer has 12 heads (see above).\n"
    )


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def with_tabs(text: str) -> str:
    return "\n".join("\t" * ((len(line) - len(line.lstrip())) // 2) + line.lstrip() for line in text.split("\n"))


def without_indentation(text: str) -> str:
    return "\n".join(line.lstrip() for line in text.split("\n"))


def with_windows_line_ends(text: str) -> str:
    return text.replace("\n", "\r\n")


def with_blank_lines(text: str) -> str:
    return text.replace("\n", "\n\n")


def logged(text: str) -> str:
    lines = enumerate(text.split("\n"))
    return "\n".join(f"2023-05-01 12:00:{10 + number % 50},123 - INFO - __main__ -   {line}" for number, line in lines)


def from_a_rank(text: str) -> str:
    return "\n".join(f"[rank0]: {line}" for line in text.split("\n"))


def on_one_line(text: str) -> str:
    return "New var:....... model = " + " ".join(line.strip() for line in text.split("\n"))


def on_one_line_without_spaces(text: str) -> str:
    return "".join(line.strip() for line in text.split("\n")) + " on cuda:0"


def with_line_numbers(text: str) -> str:
    return "\n".join(f"{number:4}  {line}" for number, line in enumerate(text.split("\n"), 1))


def commented(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.split("\n"))


def with_hard_spaces(text: str) -> str:
    return text.replace(" ", "\u00a0")


def with_breaks(text: str) -> str:
    return text.replace("\n", "<br>")


def with_points(text: str) -> str:
    return re.sub("(?<=[0-9]),(?=[0-9]{3})", ".", text)


def with_narrow_spaces(text: str) -> str:
    return re.sub("(?<=[0-9]),(?=[0-9]{3})", "\u202f", text)


NOISES: tuple[Noise, ...] = (
    *(coloured, numbered, in_a_notebook, in_a_shell, in_markdown, quoted),
    *(with_tabs, without_indentation, with_windows_line_ends, with_blank_lines),
    *(logged, from_a_rank, on_one_line, on_one_line_without_spaces),
)
