"""What a scenario says: traffic, server and step cost in one frozen whole.

Every part refuses fields it does not know. The parts stand in `traffic`, `server` and `cost`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from sim.cost import FixedCost, StepCost
from sim.fields import MAX_REQUESTS, Name, Part, PositiveSeconds, whole_number
from sim.fleet.spec import Fleet
from sim.server import Server
from sim.traffic import TrafficClass, request_count


class Scenario(Part):
    """Everything `simulate` needs. Two equal scenarios give equal results, to the last bit."""

    name: Name
    description: str = ""
    seed: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=2**63 - 1)] = 1
    classes: Annotated[tuple[TrafficClass, ...], Field(min_length=1, max_length=100)]
    server: Server
    step_cost: StepCost
    fleet: Fleet = Fleet()
    """Replicas and what stands around them; one that gets every request when absent."""
    horizon_s: PositiveSeconds | None = None
    """Stop here and count what is unfinished as in flight; run until all is done when absent."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        names = [item.name for item in self.classes]
        if "all" in names:
            raise ValueError("a class cannot be called 'all': that word stands for every class together")
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise ValueError(f"two classes are called {min(doubled)!r}; give each its own name")
        total = sum(request_count(item) for item in self.classes)
        if total > MAX_REQUESTS:
            raise ValueError(f"{total:,} requests are more than the {MAX_REQUESTS:,} allowed; lower the counts")
        self.fleet.check_server(self.server)
        cost = self.step_cost
        if isinstance(cost, FixedCost) and cost.chunk_s is None:
            for server in self.fleet.servers(self.server):
                if server.policy in ("alternating", "mixed"):
                    raise ValueError(f"step_cost.chunk_s is needed with the policy {server.policy!r}; add it")
        if cost.takes_no_time:
            raise ValueError("step_cost makes every step take no time at all; set at least one time above zero")
        return self
