"""Many models at once: compared, along one dimension or two, and those that meet a budget."""
