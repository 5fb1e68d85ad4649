"""CPU time of a start: ``python -m benchmarks.startup``.

Importing the library and running the command for one model are shown beside a Python process that does nothing. The
figure is the minimum of several runs: other programs on the machine can only add to it, and the first run compiles
modules.
"""

import os
import resource
import subprocess
import sys

RUNS = 15
# With this variable, which containers often set, each run would compile all modules.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
STARTS = {
    "import bertcalc": ("-c", "import bertcalc"),
    "python -m bertcalc bert-base-uncased": ("-m", "bertcalc", "bert-base-uncased"),
}


def milliseconds(*arguments: str) -> float:
    """Return the CPU time of a Python process with these arguments, in milliseconds: the minimum over all runs."""
    times = []
    for _run in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * min(times)


def main() -> None:
    """Measure each start, and print the table."""
    floor = milliseconds("-c", "pass")
    print(f"{'a Python that does nothing':40}{floor:6.0f} ms")
    for name, arguments in STARTS.items():
        time = milliseconds(*arguments)
        print(f"{name:40}{time:6.0f} ms {time / floor:6.1f} x")


if __name__ == "__main__":
    main()
