"""Infer formulas for model types of the installed transformers, print the outcomes, and save the formulas.

    python -m bertcalc.discover bert roberta.RobertaModel
    python -m bertcalc.discover --all --write bertcalc/discover/results/formulas.json

Without --classes, one class of each type is used: its sequence-to-sequence, masked or causal language model, or else
its base model, or else the first class that transformers lists. With --missing, classes that are already in the files
are skipped, so that an interrupted run can be continued.
"""

import argparse
import atexit
import json
import sys
from collections.abc import Collection, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, NoReturn

from bertcalc.discover import discover
from bertcalc.discover.discovery_worker import STARTING, Search, run_search, too_large
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import NOT_ASKED, Discovered, of_json
from bertcalc.discover.results.search_errors import Ended
from bertcalc.discover.results.shipped import by_class
from bertcalc.discover.results.types import BASE, LANGUAGE, SEQ2SEQ, installed, listed
from bertcalc.processes.worker import SlowError, StoppedError, Worker
from bertcalc.text import shorten
from bertcalc.text.digits import fixed, on_paper, share
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

_SECONDS = 60
_PATIENCE = 10  # wall-clock time as a multiple of the CPU limit, because other processes share the core
_MORE = 5  # seconds of grace before a process that ignores the limit is killed
_WORKER = Worker()
atexit.register(_WORKER.kill)
HEAD = "| type | class | outcome | where it holds, or what is missing | FLOPs | seconds |\n|---|---|---|---|---|---|"

REPORT = """
Made on {date} with transformers {version} by `python -m bertcalc.discover{groups} --missing --write
bertcalc/discover/results/formulas.json --report benchmarks/discovery.md`: one class of each model type at its default
configuration. Outcomes: "found": the formula was right at every size that was tried and that meets the conditions, over
a wide range of each field, alone and together (conditions include fields that must follow another field); "regime":
some fields must keep their value; "partly": some tensors have no formula; "not built": transformers refuses its own
default or needs a library that is not installed, or the time or memory limit was reached. "with" lists sizes that we
chose because the default configuration lacks them. Seconds are CPU time for the parameters; those of types in neither
of the first two groups were measured on a busy machine and are longer. A formula for FLOPs equals PyTorch's
FlopCounterMode at sizes, batches and lengths that were not used to find it; otherwise, if FLOPs were requested, the
table gives the reason. Results that were already in the files are repeated; the others had a limit of {seconds} s each.
"""


class ClassOutcome(NamedTuple):
    """The outcome for a class, as one row of the table.

    ``outcome`` is "found", "regime" (found, but some fields must keep their value), "partly" (some tensors have no
    formula) or "not built".
    """

    model_type: str
    cls: str
    outcome: str
    remark: str
    seconds: float
    data: dict[str, Any] | None
    flops: str = ""  # "yes", or the reason why there is no formula; "" if it was not requested


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: print the table and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bertcalc.discover", description=__doc__)
    parser.add_argument("types", nargs="*", help="model types, such as bert, or with a class: bert.BertModel")
    parser.add_argument("--all", action="store_true", help="every type for which transformers lists a class")
    parser.add_argument("--language", action="store_true", help="every type with a masked or causal language model")
    parser.add_argument("--text", action="store_true", help="every type that reads only text, or is encoder-decoder")
    parser.add_argument("--classes", action="store_true", help="the base model and each language model of a type")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="limit of CPU time for one class")
    parser.add_argument("--flops", action="store_true", help="also infer FLOPs, with the same time limit again")
    parser.add_argument("--write", type=Path, help="JSON file for the formulas; its other classes are kept")
    parser.add_argument(
        "--missing", action="store_true", help="only classes that the files lack; for named types, also missing FLOPs"
    )
    parser.add_argument(
        "--again",
        choices=("discover", "examine"),
        help="infer the parameters again, or only where the formulas hold; FLOPs in the file are kept if still right",
    )
    parser.add_argument("--report", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    groups = [name for name in ("all", "text", "language") if getattr(options, name)]
    try:
        entries, refused = read(options.write), read_refused(options.report)
        wanted = chosen(options.types, groups, classes=options.classes)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    named = {text.partition(".")[0] for text in options.types}
    rows = {key: refused[key] for key in wanted if options.missing and key in refused}
    print(HEAD)
    for key in wanted:
        entry = entries.get(key) if options.missing or options.again else None
        if entry and not options.again and not (options.flops and (key[0] in named or not is_tried(entry))):
            rows[key] = row_for(of_json(entry))
        elif key not in rows:
            earlier, again = of_json(entry) if entry else None, options.again if entry else None
            wish = {"flops": options.flops, "earlier": earlier, "again": again, "seconds": options.seconds}
            rows[key] = outcome_of(DiscoveryRequest(*key, **wish))
            print(line(rows[key]), flush=True)
            if options.write and (data := rows[key].data):
                entries[key] = data
                write(entries, options.write)
        if options.report and (rows[key].data is None or key == wanted[-1]):
            table = report([rows[key] for key in wanted if key in rows], options.seconds, groups)
            options.report.write_text(table, encoding="utf-8")
    print(f"\n{summary([rows[key] for key in wanted])}")
    return 0


def is_tried(data: dict[str, Any]) -> bool:
    """Whether FLOPs were searched for: the entry has formulas for them, or a reason why there are none."""
    return bool(data.get("compute") or (data.get("no_flops") or [NOT_ASKED.message])[0] != NOT_ASKED.message)


def chosen(types: Collection[str], groups: Collection[str] = (), *, classes: bool = False) -> list[tuple[str, str]]:
    """Return the (model type, class) pairs for these types and groups.

    By default, each type contributes one class. With ``classes``, it contributes its base model and all its language
    models. A type can be named with a class: bert.BertModel. Raises InputError for types and classes that do not exist.
    """
    available, named = installed(), set[tuple[str, str]]()
    if not (types or groups):
        raise wrong("Name model types, such as bert, or a group of them, such as --all.")
    for text in types:
        kind, _dot, cls = text.partition(".")
        if kind not in available:
            _unknown("The installed transformers has no model type {name}", kind, available)
        if cls and cls not in available[kind]:
            _unknown(f"{kind} has no class {{name}}", cls, available[kind])
        named.add((kind, cls))
    named |= {(kind, "") for kind in available if any(is_in(kind, group) for group in groups)}
    every = {kind: listed(kind, *SEQ2SEQ, *LANGUAGE, BASE) if classes else [] for kind, _cls in named}
    return [
        (kind, name) for kind, cls in sorted(named) for name in ([cls] if cls else every[kind] or available[kind][:1])
    ]


def _unknown(message: str, name: str, options: Collection[str]) -> NoReturn:
    near = nearest(name, options)
    hint = f": did you mean {near}?" if near else "."
    raise wrong(message + "{more}", name=shorten(name) or '""', more=hint)


def is_in(kind: str, group: str) -> bool:
    """Whether a model type is in a group.

    The groups are "all", "language" (it has a masked or causal language model), and "text" (it has a language model or
    an encoder-decoder, or its base model reads only text).
    """
    import transformers

    if group == "all" or listed(kind, *LANGUAGE):
        return True
    if group == "language" or listed(kind, *SEQ2SEQ):
        return group != "language"
    try:
        base: Any = getattr(transformers, next(iter(listed(kind, BASE)), ""))
        modalities = base.input_modalities
        return base.main_input_name == "input_ids" and modalities in ("text", ("text",), ["text"])
    except (AttributeError, ImportError):  # no base model, or its libraries are not installed
        return False


def outcome_of(request: DiscoveryRequest, search: Search = discover) -> ClassOutcome:
    """Run a search in a separate process and return the row for the class.

    The process ends if it exceeds the limits on time or memory.
    """
    _WORKER.limit = _PATIENCE * request.seconds + STARTING
    cpu_seconds = (2 if request.flops or request.again else 1) * request.seconds + _MORE
    try:
        try:
            return row_for(_WORKER.run(run_search, search, request, cpu_seconds))
        except MemoryError:  # try again in a fresh process, without memory left over from other classes
            _WORKER.stop()
            return row_for(_WORKER.run(run_search, search, request, cpu_seconds))
    except (Ended, SlowError):
        return _late(request)
    except InputError as error:
        return _not_built(request, _cell(str(error)))
    except MemoryError:
        return _not_built(request, str(too_large()))
    except StoppedError as stopped:
        late = _late(request)
        return late if stopped.late else late._replace(remark="its process ended")


def _late(request: DiscoveryRequest) -> ClassOutcome:
    return _not_built(request, f"over {on_paper(Fraction(request.seconds))} s", request.seconds)


def _not_built(request: DiscoveryRequest, why: str, seconds: float = 0) -> ClassOutcome:
    return ClassOutcome(request.model_type, request.cls or "", "not built", why, seconds, None)


def row_for(discovery: Discovered) -> ClassOutcome:
    """Return the table row for a discovered class."""
    if discovery.unexplained:
        first, reason = next(iter(discovery.unexplained.items()))
        outcome = "partly"
        explained = share(discovery.explained, discovery.parameters or 1)
        remark = f"{explained} %; {len(discovery.unexplained)} without, such as {first}: {reason}"
    else:
        outcome = "regime" if any(condition.kind == "is" for condition in discovery.regime) else "found"
        remark = "; ".join(map(str, discovery.regime))
    if discovery.given:  # sizes that we chose for fields without a default
        remark = f"with {', '.join(f'{name} = {value}' for name, value in discovery.given.items())}; {remark}".strip(
            "; "
        )
    flops = "yes" if discovery.compute else "" if discovery.no_flops == NOT_ASKED else str(discovery.no_flops)
    kind, cls = discovery.model_type, discovery.cls
    return ClassOutcome(kind, cls, outcome, _cell(remark), discovery.seconds, discovery.json(), _cell(flops))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:300]


def line(row: ClassOutcome) -> str:
    return f"| {row.model_type} | {row.cls} | {row.outcome} | {row.remark} | {row.flops} | {fixed(row.seconds)} |"


def summary(rows: list[ClassOutcome]) -> str:
    """Return a sentence with the number of classes per outcome, and the median and longest search time."""
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
    """Return the report as Markdown: an explanation, a summary, and the table.

    ``seconds`` is the time limit per class, and ``groups`` are the groups of types in the run.
    """
    import transformers

    def within(group: str) -> str:
        return summary([row for row in rows if is_in(row.model_type, group)])

    options = "".join(f" --{group}" for group in groups)
    every = f"- All types for which transformers lists a class, including images, video and sound: {summary(rows)}\n"
    return f"""# Any model: what discovery finds

{" ".join(REPORT.split()).format(date=date.today(), version=transformers.__version__, seconds=seconds, groups=options)}

- Types with a causal or masked language model: {within("language")}
- These, and all types that transformers lists as sequence-to-sequence models (of text or speech), and
  those whose base model reads only text (`main_input_name`, `input_modalities`): {within("text")}
{every if "all" in groups else ""}
{HEAD}
{chr(10).join(map(line, rows))}
"""


def read(path: Path | None) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the entries of a formula file, keyed by model type and class; without a path, there are none.

    Raises InputError if this command did not write the file, or if the file is not writable.
    """
    _check(path)
    try:
        return by_class((path.read_text(encoding="utf-8") if path else "") or "[]")
    except (ValueError, TypeError, KeyError):
        raise wrong("{path} was not written by this command.", path=shorten(str(path))) from None


def read_refused(path: Path | None) -> dict[tuple[str, str], ClassOutcome]:
    """Return the "not built" rows of an earlier report, keyed by model type and class; without a path, there are none.

    Raises InputError if the file is not writable.
    """
    _check(path)
    text = path.read_text(encoding="utf-8") if path else ""
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if "| not built |" in row]
    return {
        (kind, cls): ClassOutcome(kind, cls, outcome, remark, float(seconds), None)
        for kind, cls, outcome, remark, _flops, seconds in rows
    }


def _check(path: Path | None) -> None:
    """Raise InputError if a file is not writable: a long run must not fail at its end."""
    try:
        if path:
            path.open("a").close()
    except OSError as error:
        raise wrong("{path} cannot be written: {why}.", path=shorten(str(path)), why=error.strerror or "") from None


def write(entries: dict[tuple[str, str], dict[str, Any]], path: Path) -> None:
    """Write one entry per line, sorted by model type and class, so that diffs are readable."""
    lines = [json.dumps(entries[key], separators=(",", ":"), ensure_ascii=False) for key in sorted(entries)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
