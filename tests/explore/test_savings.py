"""The memory saved by accumulating gradients, compared with simulated steps; tests/memory/test_peak.py checks these."""

from bertcalc import BertConfig, training_flops
from bertcalc.explore.quantities import Case
from bertcalc.explore.savings import of_adding_up
from bertcalc.memory.peak import changes_of, peak
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model

SUBJECT = Model(BertConfig(num_hidden_layers=2, vocab_size=99), "BertForMaskedLM")


def test_batches_one_after_the_other_need_gradients_all_the_time_and_less_of_the_rest() -> None:
    found = of_adding_up(Case(SUBJECT, Batch(16, 128)), 3)
    assert found.num_bytes == peak(changes_of(SUBJECT, Plan(accumulate=True), 16, 128)).live
    assert found.whole_bytes == peak(changes_of(SUBJECT, Plan(), 48, 128)).live
    assert found.flops == found.whole_flops == training_flops(SUBJECT, 48, 128)


def test_a_single_batch_is_not_added_to_anything() -> None:
    found = of_adding_up(Case(SUBJECT, Batch(16, 128)), 1)
    assert (found.saved_bytes, found.saved_flops) == (0, 0)
