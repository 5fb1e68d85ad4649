"""The time of a search for models within a budget: ``python -m benchmarks.design``.

Each figure is shown beside a floor from the same run: the sixteen counts that every search begins with.
"""

from benchmarks.core import microseconds
from bertcalc import BertConfig
from bertcalc.explore.design import RATIOS, Budget, Constraints, search
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.model.model import Model

BUDGETS = (
    Budget("parameters", 30_000_000),
    Budget("forward", 5 * 10**9),
    Budget("training_memory", 16 * 10**9),
)
SPACES = {
    "as the page opens": Constraints(),
    "any ratio": Constraints(ratios=RATIOS["any"]),
    "all that is possible": Constraints(32, RATIOS["any"], 8, 1, 1_000, 65_536),
}


def main() -> None:
    """Run each search, and print the table."""
    case = Case(Model(BertConfig()))
    for budget in BUDGETS:
        count = QUANTITIES[budget.quantity].of
        floor = 16 * microseconds(lambda count=count: count(case), 20)  # type: ignore[misc]  # binds ``count``
        for name, constraints in SPACES.items():
            candidates = search(case, budget, constraints).candidates
            time = microseconds(lambda b=budget, c=constraints: search(case, b, c, 60), 1)  # type: ignore[misc]
            label = f"{budget.quantity}, {name}, {candidates:,} candidates"
            print(f"{label:<70} {time / 1000:8.1f} ms {time / floor:7.1f} x sixteen counts")


if __name__ == "__main__":
    main()
