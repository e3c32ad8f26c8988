"""One SQLite file: an append-only log of events, and the text being typed."""

from tutor.store.db import backups, open_store
from tutor.store.errors import StoreError
from tutor.store.store import Store
from tutor.store.transfer import ImportReport, export_lines, import_lines, state_hash
from tutor.store.types import Draft, Event, Problem

__all__ = [
    "Draft",
    "Event",
    "ImportReport",
    "Problem",
    "Store",
    "StoreError",
    "backups",
    "export_lines",
    "import_lines",
    "open_store",
    "state_hash",
]
