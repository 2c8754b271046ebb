from typing import Any

from numpy import float64
from numpy.typing import NDArray

from ._adapter import Adapter

version: str

class Case:
    def passed(self) -> bool: ...
    def json(self) -> str: ...
    def text(self) -> str: ...
    def message(self) -> str: ...

def audit_cases(
    tensors: dict[str, Any],
    contract: str,
    dtype: str | None,
    tolerance: dict[str, str],
    sample: int | None,
    seed: int,
    diagnose: bool,
    self_check: bool | None,
) -> list[Case]: ...
def reference(
    tensors: dict[str, Any], contract: str, dtype: str | None
) -> tuple[NDArray[float64], NDArray[float64]]: ...
def identify(adapter: Adapter, dtypes: list[str]) -> tuple[str, str]: ...
def audit_kernel(
    adapter: Adapter,
    dtypes: list[str],
    contract: str,
    tolerance: dict[str, str],
    problems: int,
    seed: int,
) -> tuple[str, str, list[Case]]: ...
