"""Tables in the form of those that people paste."""


def keras_table(*rows: tuple[str, int]) -> str:
    """A summary of Keras 2, of rows with a name and a number of parameters."""
    lines = [f"{name:<30}(None, 128)         {count:<12}" for name, count in rows]
    total = sum(count for _name, count in rows)
    return "\n".join(
        [f"{'Layer (type)':<30}{'Output Shape':<20}Param #", "=" * 62, *lines, "=" * 62, f"Total params: {total:,}"]
    )
