"""Go over model types of the installed transformers, print what was found, and write it down.

    python -m bertcalc.discover bert roberta.RobertaModel
    python -m bertcalc.discover --all --write bertcalc/discover/results/formulas.json

Without --classes it is one class of each type, the first that is offered: its sequence-to-sequence, masked or causal
language model, else its base model, else the first that transformers lists. With --missing, what the files have is
taken from there: so a run that was interrupted goes on.
"""

import argparse
import importlib
import json
import resource
import signal
import sys
from collections.abc import Collection, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, Literal, NamedTuple, NoReturn

from bertcalc.discover import discover, examined, with_flops, with_flops_of
from bertcalc.discover.discovery_worker import limit_memory, too_large
from bertcalc.discover.results.result import NOT_ASKED, Discovered, of_json
from bertcalc.discover.results.shipped import by_class
from bertcalc.discover.results.types import BASE, LANGUAGE, SEQ2SEQ, installed, listed
from bertcalc.discover.search.build import Ended, Refused
from bertcalc.text import shorten
from bertcalc.text.digits import fixed, share
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

_SECONDS = 60
_PATIENCE = 10  # times the limit, in wall time: other processes use the core, too
_MORE = 5  # seconds after which a process that does not stop by itself is killed
HEAD = "| type | class | outcome | where it holds, or what is missing | FLOPs | seconds |\n|---|---|---|---|---|---|"

REPORT = """
Made on {date} with transformers {version} by `python -m bertcalc.discover{groups} --missing --write
bertcalc/discover/results/formulas.json --report benchmarks/discovery.md`: one class of each model type at its default
configuration. Found: the formula was right at every size that was tried and that meets the conditions, over a wide
range of each field, alone and together; a field that has to follow another one is a condition, too; regime: some
fields have to keep their value; partly: not all tensors have a formula; not built: transformers refuses its own
default, or needs a library that is not installed, or the limit of time or memory was met first. "with": the default
leaves open what the class needs, and sizes of ours are given. Seconds are those of a core, for the parameters; those of
types in neither of the first two groups were taken on a busy machine, which makes them longer. A formula for FLOPs
equals PyTorch's FlopCounterMode at sizes, batches and lengths that were not used to find it; else the table says why
there is none, if FLOPs were asked for. Of what the files had before, the table repeats the results; what they had not
was given {seconds} s.
"""


class ClassOutcome(NamedTuple):
    """The outcome for a class: found, regime (found, but some fields have to keep their value), partly or not built."""

    model_type: str
    cls: str
    outcome: str
    remark: str
    seconds: float
    data: dict[str, Any] | None
    flops: str = ""  # yes, or why not


class ClassSearch(NamedTuple):
    """What is searched for a class: formulas for its parameters, or, if there is data, only what is asked for."""

    model_type: str
    cls: str
    seconds: int  # the most, for parameters and for FLOPs
    flops: bool = False
    data: dict[str, Any] | None = None  # what the file has
    again: Literal["discover", "examine"] | None = None

    def not_built(self, why: str, seconds: int = 0) -> ClassOutcome:
        return ClassOutcome(self.model_type, self.cls, "not built", why, seconds, None)

    def late(self) -> ClassOutcome:
        return self.not_built(f"over {self.seconds} s", self.seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table and return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m bertcalc.discover", description=__doc__)
    parser.add_argument("types", nargs="*", help="model types, such as bert, or with a class: bert.BertModel")
    parser.add_argument("--all", action="store_true", help="every type that transformers lists a class for")
    parser.add_argument("--language", action="store_true", help="every type with a masked or causal language model")
    parser.add_argument("--text", action="store_true", help="every type that reads text alone, or is encoder-decoder")
    parser.add_argument("--classes", action="store_true", help="the base model and each language model of a type")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="the most for one class, of a core")
    parser.add_argument("--flops", action="store_true", help="FLOPs, too, for which there is as much time once more")
    parser.add_argument("--write", type=Path, help="a JSON file for what was found; what it has of other classes stays")
    parser.add_argument(
        "--missing", action="store_true", help="only what the files do not have; of a type that is named, FLOPs again"
    )
    parser.add_argument(
        "--again",
        choices=("discover", "examine"),
        help="parameters anew, or where the file's formulas hold; FLOPs that the file has stay if they still agree",
    )
    parser.add_argument("--report", type=Path, help="a file for the table")
    asked = parser.parse_args(arguments)
    groups = [name for name in ("all", "text", "language") if getattr(asked, name)]
    try:
        found, refused = read(asked.write), read_refused(asked.report)
        wanted = chosen(asked.types, groups, classes=asked.classes)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    importlib.import_module("transformers.modeling_utils")  # once, and not in each process
    named = {text.partition(".")[0] for text in asked.types}
    rows = {key: refused[key] for key in wanted if asked.missing and key in refused}
    print(HEAD)
    for key in wanted:
        here = found.get(key) if asked.missing or asked.again else None
        if here and not asked.again and not (asked.flops and (key[0] in named or not is_tried(here))):
            rows[key] = row_for(of_json(here))
        elif key not in rows:
            rows[key] = in_a_process(ClassSearch(*key, asked.seconds, asked.flops, here, asked.again))
            print(line(rows[key]), flush=True)
            if asked.write and (data := rows[key].data):
                found[key] = data
                write(found, asked.write)
        if asked.report and (rows[key].data is None or key == wanted[-1]):
            table = report([rows[key] for key in wanted if key in rows], asked.seconds, groups)
            asked.report.write_text(table, encoding="utf-8")
    print(f"\n{summary([rows[key] for key in wanted])}")
    return 0


def is_tried(data: dict[str, Any]) -> bool:
    """Whether FLOPs were looked for."""
    return bool(data.get("compute") or (data.get("no_flops") or [NOT_ASKED.message])[0] != NOT_ASKED.message)


def chosen(types: Collection[str], groups: Collection[str] = (), *, classes: bool = False) -> list[tuple[str, str]]:
    """Return the classes of these types and groups: one for each type, or its base model and all language models.

    A type can be named with a class, as bert.BertModel. Raises InputError for what transformers does not have.
    """
    known, named = installed(), set[tuple[str, str]]()
    if not (types or groups):
        raise wrong("Name model types, such as bert, or a group of them, such as --all.")
    for text in types:
        kind, _dot, cls = text.partition(".")
        if kind not in known:
            _unknown("The installed transformers has no model type {name}", kind, known)
        if cls and cls not in known[kind]:
            _unknown(f"{kind} has no class {{name}}", cls, known[kind])
        named.add((kind, cls))
    named |= {(kind, "") for kind in known if any(is_in(kind, group) for group in groups)}
    every = {kind: listed(kind, *SEQ2SEQ, *LANGUAGE, BASE) if classes else [] for kind, _cls in named}
    return [(kind, each) for kind, cls in sorted(named) for each in ([cls] if cls else every[kind] or known[kind][:1])]


def _unknown(message: str, name: str, known: Collection[str]) -> NoReturn:
    near = nearest(name, known)
    more = f": did you mean {near}?" if near else "."
    raise wrong(message + "{more}", name=shorten(name) or '""', more=more)


def is_in(kind: str, group: str) -> bool:
    """Whether a type is in a group: all, text (language, encoder-decoder, or a base that reads text), or language."""
    import transformers

    if group == "all" or listed(kind, *LANGUAGE):
        return True
    if group == "language" or listed(kind, *SEQ2SEQ):
        return group != "language"
    try:
        base: Any = getattr(transformers, next(iter(listed(kind, BASE)), ""))
        modalities = base.input_modalities
        return base.main_input_name == "input_ids" and modalities in ("text", ("text",), ["text"])
    except (AttributeError, ImportError):  # there is none, or its libraries are not installed
        return False


def in_a_process(search: ClassSearch) -> ClassOutcome:
    """ClassSearch in a process of its own, which is killed if it does not stop by itself."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, search), daemon=True)
    process.start()
    there.close()
    row = search.late()
    try:
        if here.poll(_PATIENCE * search.seconds + 10):
            row = here.recv()
    except EOFError:
        process.join()
        late = process.exitcode == -signal.SIGXCPU
        row = row if late else row._replace(remark="its process ended")
    process.kill()
    process.join()
    return row


def _work(pipe: Any, search: ClassSearch) -> None:
    import torch

    torch.set_num_threads(1)
    limit_memory()
    most = (2 if search.flops or search.again else 1) * search.seconds + _MORE
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))  # stops code that does not check the time
    pipe.send(row_of(search))


def row_of(search: ClassSearch) -> ClassOutcome:
    """ClassSearch and return the row of the class."""
    start, seconds = thread_time(), search.seconds
    try:
        before = of_json(search.data) if search.data else None
        if before and search.again == "examine" and not before.unexplained:
            found = examined(before, seconds=seconds)
        elif before and not search.again:
            found = before
        else:
            found = discover(search.model_type, search.cls, seconds=seconds)
        if before and search.again:
            found = with_flops_of(found, before, seconds=seconds / 4)
        if search.flops and not found.compute:
            found = with_flops(found, seconds=seconds)
    except Refused as error:
        return search.not_built(_cell(str(error)))
    except MemoryError:
        return search.not_built(str(too_large()))
    except Ended:
        return search.late()
    return row_for(found, thread_time() - start)


def row_for(found: Discovered, seconds: float = 0) -> ClassOutcome:
    """Return the row of a class that was discovered."""
    if found.unexplained:
        first, reason = next(iter(found.unexplained.items()))
        outcome = "partly"
        explained = share(found.explained, found.parameters or 1)
        remark = f"{explained} %; {len(found.unexplained)} without, such as {first}: {reason}"
    else:
        outcome = "regime" if any(each.kind == "is" for each in found.regime) else "found"
        remark = "; ".join(map(str, found.regime))
    if found.given:  # sizes for fields that the default leaves open
        remark = f"with {', '.join(f'{name} = {value}' for name, value in found.given.items())}; {remark}".strip("; ")
    flops = "yes" if found.compute else "" if found.no_flops == NOT_ASKED else str(found.no_flops)
    kind, cls = found.model_type, found.cls
    return ClassOutcome(kind, cls, outcome, _cell(remark), seconds or found.seconds, found.json(), _cell(flops))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:300]


def line(row: ClassOutcome) -> str:
    return f"| {row.model_type} | {row.cls} | {row.outcome} | {row.remark} | {row.flops} | {fixed(row.seconds)} |"


def summary(rows: list[ClassOutcome]) -> str:
    """Return the number of classes with each outcome, and the time they took."""
    outcomes = [row.outcome for row in rows]
    counts = ", ".join(f"{outcome} {outcomes.count(outcome)}" for outcome in dict.fromkeys(sorted(outcomes)))
    times = [row.seconds for row in rows if row.data] or [0.0]
    whole = outcomes.count("found") + outcomes.count("regime")
    flops = f" FLOPs have a formula for {sum(row.flops == 'yes' for row in rows)}."
    return (
        f"{len(rows)} types: {counts}; {share(whole, max(1, len(rows)), 0)} % have a whole formula. "
        f"Median {fixed(median(times))} s, longest {fixed(max(times))} s."
        f"{flops if any(row.flops for row in rows) else ''}"
    )


def report(rows: list[ClassOutcome], seconds: int, groups: Sequence[str] = ()) -> str:
    """Return the table, below its summary."""
    import transformers

    def within(group: str) -> str:
        return summary([row for row in rows if is_in(row.model_type, group)])

    said = "".join(f" --{group}" for group in groups)
    every = f"- All types that it lists a class for, such as those of images, video and sound: {summary(rows)}\n"
    return f"""# Any model: what discovery finds

{" ".join(REPORT.split()).format(date=date.today(), version=transformers.__version__, seconds=seconds, groups=said)}

- Types with a causal or masked language model: {within("language")}
- With them, all types that transformers lists as sequence-to-sequence models (of text or speech), and
  those whose base model reads text alone (`main_input_name`, `input_modalities`): {within("text")}
{every if "all" in groups else ""}
{HEAD}
{chr(10).join(map(line, rows))}
"""


def read(path: Path | None) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the file has. Raises InputError if this command has not written it, or cannot write it."""
    _check(path)
    try:
        return by_class((path.read_text(encoding="utf-8") if path else "") or "[]")
    except (ValueError, TypeError, KeyError):
        raise wrong("{path} is no file that this command has written.", path=shorten(str(path))) from None


def read_refused(path: Path | None) -> dict[tuple[str, str], ClassOutcome]:
    """Return the "not built" rows of an earlier report. Raises InputError if the file cannot be written."""
    _check(path)
    text = path.read_text(encoding="utf-8") if path else ""
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if "| not built |" in row]
    return {
        (kind, cls): ClassOutcome(kind, cls, outcome, remark, float(seconds), None)
        for kind, cls, outcome, remark, _flops, seconds in rows
    }


def _check(path: Path | None) -> None:
    """Raise InputError if a file cannot be written, before an hour of work and not after it."""
    try:
        if path:
            path.open("a").close()
    except OSError as error:
        raise wrong("{path} cannot be written: {why}.", path=shorten(str(path)), why=error.strerror or "") from None


def write(found: dict[tuple[str, str], dict[str, Any]], path: Path) -> None:
    """Write one line for each class, sorted by name, so that a diff is readable."""
    lines = [json.dumps(found[key], separators=(",", ":"), ensure_ascii=False) for key in sorted(found)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
