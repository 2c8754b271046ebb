"""What the package raises beside TypeError."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._recorded import RecordedAudit
    from ._results import AuditResult


class InputError(ValueError):
    """Input that breaks a stated rule: a tensor, a contract, a tolerance, a configuration.

    code: a stable slug for programs, such as "contract.heads_not_divisible".
    where: the argument or field.
    message: what is wrong and what was expected.
    """

    def __init__(self, code: str, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.code = code
        self.where = where
        self.message = message

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        return type(self), (self.code, self.where, self.message)


class AttentionError(AssertionError):
    """Attention that is not proved right. result: the audit."""

    def __init__(self, message: str, result: AuditResult | RecordedAudit) -> None:
        super().__init__(message)
        self.result = result


class Unsupported(NotImplementedError):
    """For a kernel under test to raise: it does not take this problem."""


class ProgramError(RuntimeError):
    """The program gqaverify is not there, or failed by its own fault; says how."""
