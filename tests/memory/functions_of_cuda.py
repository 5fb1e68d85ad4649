"""The Python functions that bitsandbytes runs on CUDA, keyed by operation. Its C library is replaced by a mock."""

from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest.mock import MagicMock, patch

import torch

OF_CUDA: dict[str, Callable[..., Any]] = {}
_register = torch.library.register_kernel


def _noted(operation: str, device: str) -> Callable[[Any], Any]:
    """Return torch.library.register_kernel's decorator, which also records the function.

    CUDA's kernel replaces the default.
    """

    def register(function: Any) -> Any:
        if device in ("default", "cuda"):
            OF_CUDA[operation.removeprefix("bitsandbytes::")] = function
        return _register(operation, device)(function)

    return register


_LIBRARY = MagicMock()
_LIBRARY.cigemmlt_32.return_value = 0  # no error
with patch("torch.library.register_kernel", _noted):
    import_module("bitsandbytes")
    with (
        patch("bitsandbytes.cextension.lib", _LIBRARY),
        patch("bitsandbytes.functional.CUBLAS_Context", MagicMock()),
        patch("torch._C._cuda_getCurrentRawStream", MagicMock(), create=True),
    ):
        import_module("bitsandbytes.backends.cuda.ops")
