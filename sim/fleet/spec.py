"""What a scenario may say about its fleet: replicas, routing, faults, scaling, admission, split pools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.fields import MAX_REQUESTS, Part, Positive, PositiveSeconds, Rate, Seconds, plain_number, whole_number
from sim.server import Server

MAX_REPLICAS = 1024

Index = Annotated[int, BeforeValidator(whole_number), Field(ge=0, lt=MAX_REPLICAS)]
Replicas = Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=MAX_REPLICAS)]
Factor = Annotated[float, BeforeValidator(plain_number), Field(ge=0.001, le=1000, allow_inf_nan=False)]
Quantity = Annotated[float, BeforeValidator(plain_number), Field(gt=0, le=1e18, allow_inf_nan=False)]


class ReplicaSpec(Part):
    """One replica that may differ from the others."""

    step_time_factor: Factor = 1.0
    """Every step takes this many times as long as the step cost says: 2 is half as fast."""
    server: Server | None = None
    """Its own seats and rules; the scenario's `server` when absent."""


def _replicas_from_number(value: object) -> object:
    """`4` is short for four replicas without peculiarities."""
    if isinstance(value, int | float):
        count = whole_number(value)
        if not isinstance(count, int) or not 1 <= count <= MAX_REPLICAS:
            raise ValueError(f"must be a list of replicas, or how many: a whole number from 1 to {MAX_REPLICAS:,}")
        return (ReplicaSpec(),) * count
    return value


class Routing(Part):
    """Which replica a request goes to. Of equals, the one whose last request is longest ago."""

    kind: Literal["round_robin", "random", "least_outstanding", "least_kv", "power_of_two", "prefix_affinity"] = (
        "round_robin"
    )
    signals_every_s: Seconds = 0.0
    """The router looks at the replicas' load anew when its figures are at least this old; 0: always up to date."""
    imbalance: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=MAX_REQUESTS)] = 8
    """prefix_affinity: send elsewhere when the replica has this many more requests than the least loaded one."""


def _routing_from_name(value: object) -> object:
    """`least_kv` is short for `{kind: least_kv}`."""
    return {"kind": value} if isinstance(value, str) else value


class Loss(Part):
    """A replica is gone at once, with its queue, its cache and the step under way."""

    kind: Literal["loss"]
    replica: Index
    at_s: Seconds
    down_s: Seconds | None = None
    """The machine is back after this long and then still has its cold start to do; never when absent."""
    in_flight: Literal["fail", "restart", "resume"] = "restart"
    """fail: its requests fail, and their clients may retry; restart: the router sends them elsewhere from the
    start; resume: elsewhere with the tokens they had, which are worked through again as part of the prompt."""


class Slow(Part):
    """A replica's steps take `factor` times as long for a while; the step under way is not affected."""

    kind: Literal["slow"]
    replica: Index
    from_s: Seconds
    to_s: PositiveSeconds
    factor: Factor

    @model_validator(mode="after")
    def _ordered(self) -> Slow:
        if self.from_s >= self.to_s:
            raise ValueError("from_s must be below to_s")
        return self


Fault = Annotated[Loss | Slow, Field(discriminator="kind")]


class Autoscaling(Part):
    """Looks at one figure at fixed intervals and sets how many replicas there should be.

    queue and kv follow the Kubernetes rule: replicas times figure over target, rounded up. slo adds one while
    too few requests keep their class's limits, and takes one away when all do and one fewer had seats for all.
    """

    signal: Literal["queue", "kv", "slo"]
    target: Quantity
    """queue: waiting requests a replica; kv: share of the KV blocks held; slo: share of requests in time."""
    min: Replicas = 1
    max: Replicas
    evaluate_every_s: PositiveSeconds = 15.0
    delay_s: Seconds = 0.0
    """From the decision to the start of a new replica, which then has its cold start to do."""
    cooldown_s: Seconds = 0.0
    """Nothing is decided for this long after a decision."""
    scale_in_wait_s: Seconds = 0.0
    """Replicas go only when the figure has asked for fewer all this time."""

    @model_validator(mode="after")
    def _sensible(self) -> Autoscaling:
        if self.min > self.max:
            raise ValueError("min must not be above max")
        if self.signal != "queue" and self.target > 1:
            raise ValueError(f"target is a share when scaling on the signal {self.signal}, so it must be at most 1")
        return self


class Admission(Part):
    """What the front end turns away before any replica sees it."""

    queue_limit: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=MAX_REQUESTS)] | None = None
    """A request is rejected when this many already wait in all queues together."""
    deadline_s: PositiveSeconds | None = None
    """Longest acceptable wait in a queue; see `shed`."""
    shed: Literal["estimated", "elapsed"] = "estimated"
    """estimated: rejected at once when the queue of its replica, at the recent rate of completions there, would
    take longer; elapsed: thrown out of the queue when it has waited that long without starting."""
    rate_per_s: Rate | None = None
    """A token bucket: at this rate on average, and at most `burst` at once."""
    burst: Positive = 1


class Disaggregated(Part):
    """Some replicas only read prompts and hand the KV cache over a link to the others, which only decode.

    A link carries one transfer at a time, in the order in which they became ready (first in, first out).
    """

    prefill_replicas: Replicas
    """The first this many of the fleet's replicas; the others decode."""
    kv_bytes_per_token: Quantity
    bandwidth_bytes_per_s: Quantity
    """Of one link."""
    latency_s: Seconds = 0.0
    """Comes on top of each transfer and keeps no link busy."""
    links: Replicas = 1
    first_token: Literal["decode", "prefill"] = "decode"
    """decode: the decoding replica delivers it, so it waits for the transfer and a step there, as with vLLM's
    proxy; prefill: it is sent when the prompt is read, and the transfer lies in the first gap."""


class Fleet(Part):
    """Everything around the engines. Without any of it: one replica that gets every request."""

    replicas: Annotated[
        tuple[ReplicaSpec, ...],
        BeforeValidator(_replicas_from_number),
        Field(min_length=1, max_length=MAX_REPLICAS),
    ] = (ReplicaSpec(),)
    """How many there are at the start, or a list with an entry for each."""
    routing: Annotated[Routing, BeforeValidator(_routing_from_name)] = Routing()
    faults: Annotated[tuple[Fault, ...], Field(max_length=10_000)] = ()
    cold_start_s: Seconds = 0.0
    """From the start of a replica to its first request; not at the beginning, when all are warm."""
    autoscaling: Autoscaling | None = None
    admission: Admission = Admission()
    disaggregated: Disaggregated | None = None

    @property
    def most(self) -> int:
        """How many replicas there can ever be."""
        return max(len(self.replicas), self.autoscaling.max if self.autoscaling else 0)

    def replica(self, index: int) -> ReplicaSpec:
        """The replica with this number; those added by scaling have no peculiarities."""
        return self.replicas[index] if index < len(self.replicas) else ReplicaSpec()

    @property
    def is_plain(self) -> bool:
        """Whether it is one ordinary replica that gets every request."""
        return self == Fleet()

    @model_validator(mode="after")
    def _possible(self) -> Fleet:
        for fault in self.faults:
            if fault.replica >= self.most:
                raise ValueError(
                    f"a fault is for replica {fault.replica}, but they count from 0 to {self.most - 1}; "
                    "lower its number or add replicas"
                )
        scaling, split = self.autoscaling, self.disaggregated
        if scaling and not scaling.min <= len(self.replicas) <= scaling.max:
            raise ValueError(
                f"autoscaling keeps {scaling.min} to {scaling.max} replicas, but there are {len(self.replicas)} at "
                "the start; change one of the numbers"
            )
        if split and scaling:
            raise ValueError("autoscaling of split pools is not modelled; remove autoscaling or disaggregated")
        if split and any(fault.kind == "loss" and fault.in_flight == "resume" for fault in self.faults):
            raise ValueError("resuming after a loss is not modelled for split pools; say in_flight: restart")
        if split and split.prefill_replicas >= len(self.replicas):
            raise ValueError(
                f"{split.prefill_replicas} of {len(self.replicas)} replicas read prompts, which leaves none to decode; "
                "lower prefill_replicas or add replicas"
            )
        return self

    def servers(self, server: Server) -> list[Server]:
        """All the different servers there may be, the scenario's own included."""
        return [server, *(spec.server for spec in self.replicas if spec.server is not None)]

    def check_server(self, server: Server) -> None:
        """Raise ValueError where the fleet asks for what its servers do not have."""
        if len({_counts_blocks(item) for item in self.servers(server)}) > 1:
            raise ValueError("replicas with and without KV blocks cannot be mixed; give all the same kind of policy")
        if not _counts_blocks(server):
            if self.routing.kind == "least_kv":
                raise ValueError(_no_blocks("fleet.routing least_kv", server))
            if self.autoscaling and self.autoscaling.signal == "kv":
                raise ValueError(_no_blocks("fleet.autoscaling on kv", server))


def _no_blocks(what: str, server: Server) -> str:
    return (
        f"{what} needs KV blocks, which the policy {server.policy!r} does not count; "
        "choose another signal or the policy vllm"
    )


def _counts_blocks(server: Server) -> bool:
    return server.policy not in ("static", "continuous", "alternating", "mixed")
