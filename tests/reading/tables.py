"""Tables in the format of pasted summaries."""


def keras_table(*rows: tuple[str, int]) -> str:
    """A Keras 2 summary with rows of a name and a parameter count."""
    lines = [f"{name:<30}(None, 128)         {count:<12}" for name, count in rows]
    total = sum(count for _name, count in rows)
    return "\n".join(
        [f"{'Layer (type)':<30}{'Output Shape':<20}Param #", "=" * 62, *lines, "=" * 62, f"Total params: {total:,}"]
    )
