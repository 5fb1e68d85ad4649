"""Devices by name, and how much of their memory a model can use."""

from typing import NamedTuple

from bertcalc.config import Problem
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.digits import brief, fixed
from bertcalc.text.live_choices import rounded_up

_MIB, _GIB = 2**20, 2**30
# The size in a device's name is not its exact memory. The values are totals from nvidia-smi output ("0MiB / 15360MiB")
# that users posted; https://github.com/modal-labs/modal-client/pull/2797 also lists T4, L4, A100 and H100.
DEVICES: dict[str, int] = {
    "RTX-4060-8GB": 8_188 * _MIB,
    "RTX-3060-12GB": 12_288 * _MIB,
    "T4-16GB": 15_360 * _MIB,
    "L4-24GB": 23_034 * _MIB,
    "RTX-3090-24GB": 24_576 * _MIB,
    "RTX-4090-24GB": 24_564 * _MIB,
    "V100-32GB": 32_510 * _MIB,
    "A100-40GB": 40_960 * _MIB,
    "A6000-48GB": 49_140 * _MIB,
    "A100-80GB": 81_920 * _MIB,
    "H100-80GB": 81_559 * _MIB,
    "H200-141GB": 143_771 * _MIB,
}
DEFAULT = "T4-16GB"
# GiB that are not available for tensors. CUDA offers 40,339 of an A100's 40,960 MiB (deviceQuery, "Total amount of
# global memory: 42298834944 bytes") and about 15,100 of a T4's 15,360; a process's CUDA context uses a few hundred MiB
# more.
KEPT_FREE = 1.5
# Overhead of a run in percent of its tensors, for cuBLAS workspaces and allocator blocks. Measured: at most 5.2 with
# expandable segments, 2 to 29 with PyTorch's default settings (benchmarks/gpu_memory.md).
GAPS = 6
LARGEST_GAPS = 29
# GPUs of compute capability 7.x; bfloat16 came with 8.0 (Ampere). On older GPUs, PyTorch emulates bfloat16: see
# torch.cuda.is_bf16_supported(including_emulation=False).
WITHOUT_BFLOAT16 = ("T4-16GB", "V100-32GB")


class Device(NamedTuple):
    """A device's memory: its name, total bytes, bytes kept free, and a run's overhead in percent of its tensors.

    PyTorch emulates bfloat16 on a device without ``has_bfloat16``.
    """

    name: str
    num_bytes: int
    kept_free: int = 0
    overhead: int = GAPS
    has_bfloat16: bool = True

    @property
    def usable(self) -> int:
        """The bytes that a model can use."""
        return self.num_bytes - self.kept_free

    @property
    def for_tensors(self) -> int:
        """The usable bytes that are left for tensors after the overhead."""
        return self.usable * 100 // (100 + self.overhead)

    def needed(self, tensors: int) -> int:
        """The bytes that a run needs for this many bytes of tensors, overhead included; live if ``tensors`` is live."""
        return rounded_up(tensors * (100 + self.overhead), 100)


@checked
def kept_free(device: Device, gibibytes: float) -> Device | Problem:
    """The device with this many GiB kept free, or a Problem if the number is negative or too large for the device."""
    if 0 <= gibibytes < device.num_bytes / _GIB:
        return device._replace(kept_free=round(gibibytes * _GIB))
    message = N_("{field} {value} is invalid: it must be at least 0 and less than the device's {high} GiB.")
    values = {"field": "kept_free", "value": brief(gibibytes), "high": fixed(device.num_bytes / _GIB, 2)}
    return Problem("kept_free", gibibytes, message, values, ({"kept_free": 0.0},))
