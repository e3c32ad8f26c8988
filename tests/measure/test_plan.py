"""What is sent is what the simulator would serve, bounded, and only to one's own machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Scenario, simulate
from sim.ticks import TICKS_PER_S
from tests.measure.measure_kit import chats, load
from tutor.errors import TutorError
from tutor.measure.allowed import check_host, check_rate
from tutor.measure.plan import plan_load
from tutor.measure.prompts import Prompts


def mixed(seed: int) -> Scenario:
    return load(
        {
            "name": "chat",
            "prompt_tokens": {"dist": "uniform", "low_tokens": 5, "high_tokens": 50},
            "output_tokens": {"dist": "uniform", "low_tokens": 2, "high_tokens": 20},
            "arrivals": {"kind": "gamma", "rate_per_s": 3, "cv": 2, "count": 25},
        },
        {
            "name": "user",
            "prompt_tokens": {"dist": "uniform", "low_tokens": 5, "high_tokens": 50},
            "output_tokens": 7,
            "arrivals": {
                "kind": "closed_loop",
                "users": 3,
                "think_s": {"dist": "exponential", "mean_s": 1},
                "count": 9,
            },
        },
        seed=seed,
    )


@given(st.integers(0, 10_000))
def test_the_plan_holds_the_requests_that_a_simulation_serves(seed: int) -> None:
    scenario = mixed(seed)
    plan, result = plan_load(scenario), simulate(scenario)
    planned = sorted((each.class_name, each.prompt_tokens, each.output_tokens) for each in plan.requests())
    assert planned == sorted((each.class_name, each.prompt_tokens, each.wanted_tokens) for each in result.requests)
    arrivals = [each.arrival_ticks for each in result.requests if each.class_name == "chat"]
    assert [round(each.due_s * TICKS_PER_S) for each in plan.open] == pytest.approx(sorted(arrivals), abs=1)


def test_the_busiest_second_counts_requests_within_one_second() -> None:
    plan = plan_load(load(chats([0.0, 0.1, 0.2, 1.05, 1.1, 1.15, 1.18, 5.0])))
    assert plan.busiest_rate_per_s == 5  # from 0.2 to 1.18


@given(st.lists(st.floats(0, 50), min_size=1, max_size=60))
def test_the_busiest_second_is_that_of_a_plain_count(times_s: list[float]) -> None:
    rounded = sorted(round(each, 3) for each in times_s)
    plan = plan_load(load(chats(rounded)))
    due = [each.due_s for each in plan.open]
    assert plan.busiest_rate_per_s == max(sum(end - 1 < other <= end for other in due) for end in due)


def test_a_rate_above_the_bound_has_to_be_confirmed() -> None:
    plan = plan_load(load(chats([0.01 * n for n in range(30)])))
    with pytest.raises(TutorError, match=r"30 requests.*--max-rate 30"):
        check_rate(plan, None)
    check_rate(plan, 30)


def test_users_of_a_closed_loop_count_too() -> None:
    users = {"kind": "closed_loop", "users": 40, "think_s": 1, "count": 40}
    plan = plan_load(load({"name": "user", "prompt_tokens": 4, "output_tokens": 4, "arrivals": users}))
    with pytest.raises(TutorError, match="--max-rate 40"):
        check_rate(plan, None)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost:1/v1", "http://[::1]:8000/v1"])
def test_this_machine_may_be_loaded(url: str) -> None:
    check_host(url, ())


@pytest.mark.parametrize("url", ["http://gpu-box:8000/v1", "https://192.0.2.7/v1", "http://localhost.example.org/v1"])
def test_another_machine_has_to_be_named_as_ones_own(url: str) -> None:
    with pytest.raises(TutorError, match="--my-host"):
        check_host(url, ("other",))
    host = url.split("//")[1].split("/")[0].split(":")[0]
    check_host(url, (host.upper(),))


@pytest.mark.parametrize("url", ["", "gpu-box:8000", "ftp://127.0.0.1/v1", "http://[bad/v1"])
def test_what_is_no_address_is_said_to_be_none(url: str) -> None:
    with pytest.raises(TutorError, match="no address"):
        check_host(url, ())


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"prefilled": True}, "comes with its prompt computed"),
        ({"client": {"retries": {"max": 2, "backoff_s": 1}}}, "sends each request once"),
    ],
)
def test_what_no_server_can_be_asked_is_refused(more: dict[str, object], says: str) -> None:
    with pytest.raises(TutorError, match=says):
        plan_load(load(chats([0.0], more=more)))


@given(st.integers(1, 300), st.integers(0, 200))
def test_prompts_have_the_asked_length_and_share_what_is_shared(own: int, shared: int) -> None:
    prompts = Prompts(3, range(100, 160))
    prefix = (("system", shared),) if shared else ()
    one, other = (prompts.make(key, own + shared, prefix) for key in ("a", "b"))
    assert isinstance(one, list)
    assert len(one) == len(other) == own + shared
    assert one[:shared] == other[:shared]
    assert one == prompts.make("a", own + shared, prefix)
    if own > 20:
        assert one[shared:] != other[shared:]


def test_without_token_ids_prompts_are_as_many_words_as_the_server_counts_in_them() -> None:
    prompt = Prompts(3, (), tokens_per_word=2.0).make("a", 40)
    assert isinstance(prompt, str)
    assert len(prompt.split()) == 20
