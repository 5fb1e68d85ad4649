"""How much of a device's memory is available, and what limits the batch size."""

import pytest

from bertcalc import BertConfig, build
from bertcalc.config import Problem
from bertcalc.memory.devices import DEFAULT, DEVICES, KEPT_FREE, Device, kept_free
from bertcalc.memory.fit import Polynomial, most
from bertcalc.memory.peak import training_peak_bytes


def test_a_device_has_about_what_its_name_says_and_room_for_something() -> None:
    for name, num_bytes in DEVICES.items():
        marketed = int(name.rpartition("-")[2].removesuffix("GB"))
        assert 0.93 * marketed * 2**30 <= num_bytes <= 1.01 * marketed * 2**30
    smallest = kept_free(Device("", min(DEVICES.values())), KEPT_FREE)
    assert isinstance(smallest, Device)
    assert training_peak_bytes(build(BertConfig()), 1, 128) < smallest.usable
    assert DEFAULT in DEVICES


@pytest.mark.parametrize("gibibytes", [-0.5, 1.0, float(10**300)])
def test_no_device_has_less_than_nothing_or_more_than_it_has(gibibytes: float) -> None:
    found = kept_free(Device("", 2**30), gibibytes)
    assert isinstance(found, Problem)
    [remedy] = found.remedies
    assert kept_free(Device("", 2**30), remedy["kept_free"]) == Device("", 2**30)


def test_what_is_kept_free_is_not_usable() -> None:
    assert kept_free(Device("", 3 * 2**30), 0.25) == Device("", 3 * 2**30, 2**28)
    assert Device("", 100, 30).usable == 70


def test_a_run_on_a_gpu_needs_more_than_its_tensors() -> None:
    """Each pair is bertcalc's peak and the least memory that a run needs, in MiB.

    Measured on an H100 with expandable segments (benchmarks/gpu_memory.md).
    """
    for ours, needed in ((7_046, 7_146), (7_156, 7_527), (7_166, 7_450), (7_145, 7_430), (7_164, 7_420)):
        assert Device("", needed * 2**20).for_tensors <= ours * 2**20
    assert Device("", 206, 100).for_tensors == 100


@pytest.mark.parametrize(
    ("growth", "positions", "number", "limit"),
    [
        (Polynomial(8, 5, 3, 0), None, 31, "memory"),
        (Polynomial(8, 5, 3, 0), 30, 30, "positions"),
        (Polynomial(8, 5, 3, 0), 31, 31, "positions"),
        (Polynomial(8, 5, 3, 0), 32, 31, "memory"),
        (Polynomial(5, 5, 0, 0), 32, 32, "positions"),
        (Polynomial(5, 5, 0, 0), None, None, "nothing"),
        (Polynomial(200, 200, 3, 0), 32, 0, "memory"),
    ],
)
def test_the_first_limit_counts(growth: Polynomial, positions: int | None, number: int | None, limit: str) -> None:
    found = most([growth, Polynomial(1, 0, 1, 0)] if number is not None else [growth], 100, positions)
    assert (found.number, found.limit) == (number, limit)


@pytest.mark.parametrize(
    ("growth", "limit", "expected"),
    [
        (Polynomial(5, 5, 0, 0), 4, 0),
        (Polynomial(5, 5, 0, 0), 5, None),
        (Polynomial(8, 5, 3, 0), 13, 2),
        (Polynomial(8, 5, 3, 0), 14, 3),
        (Polynomial(8, 5, 3, 0), 10, 1),
        (Polynomial(8, 5, 3, 0), 7, 0),
        (Polynomial(4, 5, 3, 0), 7, 1),
        (Polynomial(4, 5, 3, 0), 4, 1),
        (Polynomial(4, 5, 3, 0), 3, 0),
        (Polynomial(1, 0, 0, 1), 10**40, 10**20),
        (Polynomial(1, 0, 0, 1), 10**40 - 1, 10**20 - 1),
        (Polynomial(6, 1, 2, 3), 1 + 2 * 7 + 3 * 49 - 1, 6),
        (Polynomial(8, 5, 3, 0, end=4), 13, 2),
        (Polynomial(8, 5, 3, 0, end=4), 14, None),  # the whole range of the polynomial
        (Polynomial(8, 5, 3, 0, start=4), 17, 4),
        (Polynomial(8, 5, 3, 0, start=4), 16, 3),
    ],
)
def test_the_root_is_exact(growth: Polynomial, limit: int, expected: int | None) -> None:
    assert growth.largest(limit) == expected
