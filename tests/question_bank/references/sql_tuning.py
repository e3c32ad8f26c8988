"""What the exercises of the pack sql-tuning come to, counted instead of worked out by its formulas."""

from __future__ import annotations

from collections.abc import Mapping

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "sql-tuning/reading-plans")

P = Mapping[str, float]
R = dict[str, float]


@reference("scan-or-index")
def _(p: P) -> R:
    """Both clocks run over a thousandth of the table's pages, in µs, and are scaled up."""
    pages = p["rows_m"] * 1000 / p["per_page"]
    scan_us, rows = 0.0, 0.0
    for _page in range(int(pages)):
        scan_us += p["page_us"]
        rows += p["per_page"]
    scan_us *= pages / int(pages)
    rows *= pages / int(pages)
    index_us = rows * (p["share"] / 100) * p["random_us"]
    return {"scan_ms": scan_us, "index_ms": index_us, "even_rows": 1000 * scan_us / p["random_us"]}


@reference("two-conditions")
def _(p: P) -> R:
    """People put into four groups: with and without the postcode, in and out of the town."""
    people = p["rows_k"] * 1000
    with_code = people * p["code"] / 100
    both = with_code - with_code * (100 - p["inside"]) / 100
    in_town = people * p["town"] / 100
    independent = in_town * (with_code / people)
    return {"expected_rows": independent, "found_rows": both, "factor": both / independent}


@reference("loop-or-hash")
def _(p: P) -> R:
    """The order at which the hash join has caught up, by halving an interval."""

    def loop_us(orders: float) -> float:
        return orders * p["lookup_us"]

    def hash_us(orders: float) -> float:
        return p["inner_k"] * 1000 * p["build_us"] + orders * p["probe_us"]

    low, high = 0.0, 1e9
    for _halving in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if loop_us(middle) < hash_us(middle) else (low, middle)
    return {"loop_ms": loop_us(p["outer"]) / 1000, "hash_ms": hash_us(p["outer"]) / 1000, "even": low}


@reference("where-the-time-goes")
def _(p: P) -> R:
    """The plan put together from its three parts; the loop's own part is known here."""
    inner = sum(p["per_loop_ms"] for _loop in range(int(p["loops"])))
    whole = p["outer_ms"] + inner + p["own_ms"]
    return {"inner_ms": inner, "share": 100 * inner / whole, "rest_ms": p["own_ms"]}
