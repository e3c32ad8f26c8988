"""Sending a load: times as they were, faults as a request's status, and nothing lost when it ends early."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.llm.faulty_server import Exchange, status
from tests.measure.measure_kit import CompletionsServer, chats, load, measure, streams
from tutor.errors import TutorError
from tutor.measure.counters import difference, parse_metrics
from tutor.measure.saved import OURS, bench_shape, fit_rows, read_run, write_run


def test_tokens_are_noted_when_they_come() -> None:
    with CompletionsServer(streams(4, gap_s=0.05, first_s=0.1)) as server:
        measured = measure(server, load(chats([0.0, 0.02, 0.3])))
    assert [each.status for each in measured.requests] == ["completed"] * 3
    for each in measured.requests:
        assert each.ttft_s is not None
        assert each.ttft_s >= 0.1
        assert len(each.gaps_s) == 3
        assert all(gap >= 0.04 for gap in each.gaps_s)
        assert (each.prompt_tokens, each.tokens) == (8, 4)
        assert each.sent_s is not None
        assert each.sent_s >= each.due_s
    assert measured.duration_s >= 0.3 + 0.1 + 0.15
    assert not measured.partial


def test_an_open_load_does_not_wait_for_answers() -> None:
    with CompletionsServer(streams(1, first_s=0.5)) as server:
        began = time.monotonic()
        measured = measure(server, load(chats([0.0, 0.05, 0.1, 0.15])))
        assert time.monotonic() - began < 1.5  # four in a row would take two seconds
    assert measured.late_s < 0.3


def test_users_of_a_closed_loop_wait_for_their_answers() -> None:
    users = {"kind": "closed_loop", "users": 2, "think_s": 0.01, "count": 6}
    item = {"name": "user", "prompt_tokens": 4, "output_tokens": 2, "arrivals": users}
    with CompletionsServer(streams(2, gap_s=0.1)) as server:
        measured = measure(server, load(item))
    assert [each.status for each in measured.requests] == ["completed"] * 6
    spans = [(each.sent_s or 0.0, each.last_s or 0.0) for each in measured.requests]
    for moment, _ in spans:
        assert sum(begin <= moment < end for begin, end in spans) <= 2


@pytest.mark.parametrize(
    ("behaviour", "status_wanted", "says"),
    [
        (status(500, "out of memory"), "failed", "HTTP 500"),
        (streams(2, then=lambda exchange: exchange.send("data: {broken\n\n")), "failed", "not JSON"),
        (streams(2, then=lambda exchange: exchange.send('data: {"error": "gone"}\n\n')), "failed", "the server says"),
        (streams(0), "failed", "without a token"),
        (streams(2, then=lambda exchange: time.sleep(1.5)), "stalled", "nothing came for 0.5 s"),
    ],
)
def test_a_fault_is_the_status_of_its_request(behaviour: object, status_wanted: str, says: str) -> None:
    with CompletionsServer(streams(3), behaviour, streams(3)) as server:  # type: ignore[arg-type]
        measured = measure(server, load(chats([0.0, 0.2, 0.4])), stall_s=0.5)
    found = sorted((each.number, each.status) for each in measured.requests)
    assert found == [(1, "completed"), (2, status_wanted), (3, "completed")]
    assert says in next(each.error for each in measured.requests if each.number == 2)
    assert len(fit_rows(measured)) == 2


def test_a_stream_cut_in_the_middle_is_failed_and_its_tokens_are_kept() -> None:
    def cut(exchange: Exchange) -> None:
        exchange.connection.close()

    with CompletionsServer(streams(2, then=cut)) as server:
        measured = measure(server, load(chats([0.0])))
    assert measured.requests[0].status in ("failed", "completed")
    assert len(measured.requests[0].events_s) == 2


def test_clients_without_patience_hang_up_and_the_server_hears_of_it() -> None:
    slow = streams(1, first_s=0.0, then=lambda exchange: exchange.wait_for_hang_up(3))
    with CompletionsServer(slow) as server:
        measured = measure(server, load(chats([0.0], more={"client": {"timeout_s": 0.3}})))
        sent = next(each for each in server.exchanges if each.path == "/v1/completions" and each.body.get("stream"))
        assert sent.hung_up.wait(3)
    assert measured.requests[0].status == "cancelled"


def test_patience_for_the_first_token_ends_with_it() -> None:
    with CompletionsServer(streams(3, gap_s=0.3)) as server:
        measured = measure(server, load(chats([0.0], more={"patience_s": 0.4})))
    assert measured.requests[0].status == "completed"
    with CompletionsServer(streams(3, first_s=1.0)) as server:
        measured = measure(server, load(chats([0.0], more={"patience_s": 0.3})))
    assert measured.requests[0].status == "cancelled"


def test_when_the_server_is_gone_the_run_ends_and_what_came_is_kept() -> None:
    with CompletionsServer(streams(2), streams(2), status(503)) as server:
        began = time.monotonic()
        measured = measure(server, load(chats([0.2 * n for n in range(50)])))
        assert time.monotonic() - began < 6  # all fifty would take ten seconds
    assert "gone" in measured.stopped
    statuses = [each.status for each in measured.requests]
    assert statuses.count("completed") == 2
    assert statuses.count("failed") == 5
    assert statuses.count("not_sent") == 43


def test_stopping_by_hand_keeps_what_came() -> None:
    with CompletionsServer(streams(2)) as server:
        measured = measure(server, load(chats([0.0, 0.1, 30.0])), stop_after_s=0.6)
    assert measured.partial
    assert [each.status for each in measured.requests] == ["completed", "completed", "not_sent"]


def test_a_saved_run_reads_back_and_its_rows_fit(tmp_path: Path) -> None:
    with CompletionsServer(streams(4, gap_s=0.02), streams(4, gap_s=0.02), status(500)) as server:
        measured = measure(server, load(chats([0.0, 0.1]), chats([0.2], name="other")))
    data = bench_shape(measured, name="x", model="m", date="20260101-000000")
    assert (data["completed"], data["failed"], data["num_prompts"]) == (2, 1, 3)
    assert data["total_output_tokens"] == 8
    beside = write_run(tmp_path / "run.json", data, fit_rows(measured))
    assert beside == tmp_path / "run.requests.jsonl"
    read, seen = read_run(tmp_path / "run.json")
    assert read[OURS]["classes"] == ["chat", "chat", "other"]
    for back, was in zip(seen, measured.requests, strict=True):
        assert (back.class_name, back.status) == (was.class_name, was.status)
        if was.status == "completed":
            assert back.events_s == pytest.approx(was.events_s)
    from sim.fit.runs import load_run

    run = load_run(beside)
    assert run.output_tokens == [4, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "run.requests.jsonl"]


def test_statistics_are_those_of_numpy() -> None:
    from tutor.measure.saved import statistics

    found = statistics("ttft", [0.010, 0.020, 0.030, 0.040])
    assert found["median_ttft_ms"] == pytest.approx(25)
    assert found["p95_ttft_ms"] == pytest.approx(38.5)
    assert found["std_ttft_ms"] == pytest.approx(11.18, abs=0.01)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json", "is not JSON"),
        ("{}", "no list 'input_lens'"),
        ('{"input_lens":[1],"output_lens":[],"ttfts":[],"itls":[],"start_times":[]}', "differ in length"),
        ('{"input_lens":[1],"output_lens":["x"],"ttfts":[1],"itls":[[]],"start_times":[0]}', "cannot be read"),
    ],
)
def test_a_file_that_is_no_run_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(TutorError, match=says) as caught:
        read_run(path)
    assert str(path) in str(caught.value)


def test_counters_are_read_and_subtracted() -> None:
    page = '# HELP x y\nx_total{model="m"} 3\nx_bucket{le="1"} 2\ny NaN\nz 1.5e3 1700000000\nbroken line here\n'
    before = parse_metrics(page)
    assert before == {'x_total{model="m"}': 3, 'x_bucket{le="1"}': 2, "z": 1500}
    after = parse_metrics(page.replace('"m"} 3', '"m"} 10').replace('"1"} 2', '"1"} 9'))
    assert difference(before, after) == {'x_total{model="m"}': 7}
