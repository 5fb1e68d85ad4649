"""The counts of a model's parts, modules and tensors equal those of the real model."""

from hypothesis import given

from bertcalc import BertConfig, build
from bertcalc.diagnosis.layer_parts import part_counts
from bertcalc.diagnosis.miscounts import MiscountSizes, counted
from tests.examples import examples
from tests.oracle import Case, bare, owned
from tests.strategies import cases


@examples(25)
@given(cases())
def test_every_module_and_every_tensor_of_the_real_model_has_its_count(case: Case) -> None:
    parameters = {bare(name, case.architecture): tensor.numel() for name, tensor in owned(case.real()).items()}
    paths = {".".join(name.split(".")[:end]) for name in parameters for end in range(1, name.count(".") + 2)}
    real = {sum(size for name, size in parameters.items() if f"{name}.".startswith(f"{path}.")) for path in paths}
    assert real <= {one.right for one in part_counts(counted(case.ours()), MiscountSizes.of(case.config))}


def test_a_part_that_is_in_every_layer_has_a_count_in_one_and_in_all() -> None:
    counts = part_counts(counted(build(BertConfig())), MiscountSizes.of(BertConfig()))
    found = {(one.part, one.layers): one.right for one in counts if one.heads == "all"}
    assert found["attention", "one"] * 12 == found["attention", "all"] == 12 * 4 * (768 * 768 + 768)
    assert found["layers", "others"] == 11 * found["layers", "one"]
    assert all(found.values())
