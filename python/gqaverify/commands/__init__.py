"""The commands of the program as functions. Written by python/generate.py."""

from .attain_command import AttainReport, attain
from .audit_command import AuditReport, audit
from .check_command import CheckReport, check
from .claims_command import ClaimsReport, claims
from .compare_command import CompareReport, compare
from .enumerate_command import EnumerateReport, enumerate
from .faults_command import FaultsReport, faults
from .identify_command import IdentifyReport, identify
from .ledger_command import LedgerReport, ledger
from .pool_command import PoolReport, pool
from .probe_check_command import ProbeCheckReport, probe_check
from .probe_write_command import ProbeWriteReport, probe_write
from .rank_command import RankReport, rank
from .verify_command import VerifyReport, verify

__all__ = [
    "AttainReport",
    "AuditReport",
    "CheckReport",
    "ClaimsReport",
    "CompareReport",
    "EnumerateReport",
    "FaultsReport",
    "IdentifyReport",
    "LedgerReport",
    "PoolReport",
    "ProbeCheckReport",
    "ProbeWriteReport",
    "RankReport",
    "VerifyReport",
    "attain",
    "audit",
    "check",
    "claims",
    "compare",
    "enumerate",
    "faults",
    "identify",
    "ledger",
    "pool",
    "probe_check",
    "probe_write",
    "rank",
    "verify",
]
