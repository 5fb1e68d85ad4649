"""Training on real hardware: devices, training time, and published pre-training runs."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from bertcalc.compute.flops import Convention, as_stated, total
from bertcalc.families import build, family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.batch import Batch
from bertcalc.text import N_

Precision = Literal["16bit", "tf32", "fp32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


class Chip(NamedTuple):
    """A chip: its peak FLOP/s for dense matrix products in each precision, and its memory bandwidth in bytes/s.

    16bit is float16 or bfloat16 with accumulation in float32. ``bandwidth`` is None if sources disagree.
    """

    peak: Mapping[Precision, int]
    bandwidth: int | None
    source: str


def _device(source: str, bandwidth: int | None, **teraflops: float) -> Chip:
    names: dict[str, Precision] = {"half": "16bit", "tf32": "tf32", "fp32": "fp32"}
    peak = {names[name]: round(10**12 * value) for name, value in teraflops.items()}
    return Chip(peak, bandwidth and bandwidth * 10**9, source)


_HOPPER = {"half": 989.4, "tf32": 494.7, "fp32": 66.9}
DEVICES: dict[str, Chip] = {
    "V100": _device("NVIDIA V100 datasheet, SXM2", 900, half=125, fp32=15.7),
    "T4": _device("NVIDIA Turing architecture whitepaper, Tesla T4", 320, half=65, fp32=8.1),
    "A100": _device("NVIDIA A100 datasheet, 80 GB SXM", 2039, half=312, tf32=156, fp32=19.5),
    "H100": _device("NVIDIA H100 architecture whitepaper, SXM5", 3350, **_HOPPER),
    "H200": _device("NVIDIA H200 datasheet, SXM", 4800, **_HOPPER),
    "L4": _device("NVIDIA L4 datasheet, without sparsity", 300, half=121, tf32=60, fp32=30.3),
    "RTX-4090": _device("NVIDIA Ada architecture whitepaper", 1008, half=165.2, tf32=82.6, fp32=82.6),
    "TPU-v2": _device("Google Cloud documentation, TPU v2, one chip", None, half=45),
    "TPU-v3": _device("Google Cloud documentation, TPU v3, one chip", 900, half=123),
    "TPU-v4": _device("Google Cloud documentation, TPU v4, one chip", 1200, half=275),
}


def seconds(flops: Any, peak: Any, utilisation: Any, devices: Any) -> Any:
    """The training time in seconds, for numbers or symbols.

    ``peak`` is the peak FLOP/s of each of the ``devices`` devices, and ``utilisation`` is the fraction of this peak
    that training reaches.
    """
    return flops / (devices * peak * utilisation)


class PublishedRun(NamedTuple):
    """A published pre-training run: the model, the number of sequences, the chips, and the hours.

    90 % of the sequences have 128 tokens, the rest 512.
    """

    name: str
    preset: str
    sequences: int
    device: str
    devices: int
    hours: Fraction
    remark: str
    source: str

    def flops(self, convention: Convention) -> int:
        """The FLOPs of the whole run, with both pre-training heads; the convention's unit is ignored."""
        config, flops = PRESETS[self.preset].config, convention._replace(unit="FLOPs")
        model = build(config, family_of(config).for_task("pretraining"))

        def cost(length: int) -> int:
            return total(as_stated(model.steps(Batch(1, length)), flops, length), flops, "training")

        return self.sequences * 9 // 10 * cost(128) + self.sequences // 10 * cost(512)

    def seconds(self, convention: Convention, utilisation: Fraction) -> Fraction:
        """The duration of the run in seconds, if the chips reach the fraction ``utilisation`` of their peak."""
        duration: Fraction = seconds(
            self.flops(convention), DEVICES[self.device].peak["16bit"], utilisation, self.devices
        )
        return duration

    def utilisation(self, convention: Convention) -> Fraction:
        """The fraction of the chips' peak at which the run lasts as long as reported."""
        return self.seconds(convention, Fraction(1)) / (3600 * self.hours)


_DEVLIN = "Devlin et al. 2018, arXiv:1810.04805, appendix A.2"
_UNKNOWN_TPU = N_("256 sequences × 1,000,000 steps; the paper does not name the TPU generation: bertcalc assumes v2")
_BASELINE = N_("512 sequences × 1,000,000 steps, the baseline")
_LAMB = N_("65,536 sequences per step, then 32,768; 8,599 steps, as many epochs as the baseline")
_YOU = "You et al. 2019, arXiv:1904.00962, table 1"
_BASE, _LARGE = "bert-base-uncased", "bert-large-uncased"
RUNS = (
    PublishedRun("BERT-base", _BASE, 256 * 10**6, "TPU-v2", 16, Fraction(96), _UNKNOWN_TPU, _DEVLIN),
    PublishedRun("BERT-large", _LARGE, 256 * 10**6, "TPU-v2", 64, Fraction(96), _UNKNOWN_TPU, _DEVLIN),
    PublishedRun("BERT-large, baseline", _LARGE, 512 * 10**6, "TPU-v3", 16, Fraction("81.4"), _BASELINE, _YOU),
    PublishedRun("BERT-large, LAMB", _LARGE, 512 * 10**6, "TPU-v3", 1024, Fraction("76.19") / 60, _LAMB, _YOU),
)
