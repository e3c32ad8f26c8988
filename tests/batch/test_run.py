"""A batch on several servers: all work, none lost when one goes, and it goes on where it stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from question_bank import Bank, BankError, load_bank
from tests.llm.faulty_server import Behaviour, Exchange, FaultyServer, says, status
from tutor.batch.files import BatchAnswer, Results, read_answers
from tutor.batch.run import AllServersGone, BatchProgress, grade_batch
from tutor.cli import main
from tutor.grader import Grader
from tutor.llm.choose import OpenModel
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.pool import Pool
from tutor.llm.types import Capabilities, Endpoint, ModelInfo
from tutor.settings import Settings, load_settings

ITEM = "serving/prefill-decode/completion-time"
FULL = (
    "TTFT is 100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, so completion = 300 + 30 * 25 = 1050 ms. "
    "A doubled queue adds 100 ms to both while ITL stays at 25 ms. I would log queue duration on the server; "
    "if it did not rise by 100 ms I would be wrong."
)


class GradingServer(FaultyServer):
    """Lists one model, says yes to whatever it is asked, and may be made to fail after so many replies."""

    def __init__(self, reply: Behaviour, fails_after: int | None = None) -> None:
        super().__init__(reply)
        self.fails_after = fails_after
        self.asked = 0

    def _behave(self, exchange: Exchange) -> None:
        gone = self.fails_after is not None and self.asked >= self.fails_after
        if gone:
            status(500)(exchange)
        elif exchange.path == "/v1/models":
            exchange.respond(200, '{"data": [{"id": "served-7b"}]}')
        elif exchange.path == "/v1/chat/completions":
            self.asked += 1
            self.behaviours[0](exchange)
        else:
            exchange.respond(404, "{}")

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(name="A server", provider="openai", base_url=self.base_url, model="served-7b")


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"data_dir": tmp_path / "data"}, {})


def answers(count: int) -> list[BatchAnswer]:
    return [BatchAnswer(id=f"a{n}", item=ITEM, answer=f"{FULL} Number {n}.") for n in range(count)]


def run(
    settings: Settings, bank: Bank, wanted: list[BatchAnswer], out: Path, endpoints: list[Endpoint], per_server: int = 2
) -> tuple[BatchProgress, Results]:
    results = Results(out)
    graders = {
        each.base_url: Grader(settings, bank, OpenModel(ModelInfo(endpoint=each, source="test", grades=True,
                                                                  capabilities=Capabilities())))
        for each in endpoints
    }  # fmt: skip

    async def go() -> BatchProgress:
        return await grade_batch(wanted, bank, results, graders, Pool(endpoints), per_server=per_server)

    try:
        return asyncio.run(go()), results
    finally:
        results.close()


def test_both_servers_get_work_and_every_answer_is_graded_once(settings: Settings, bank: Bank, tmp_path: Path) -> None:
    with GradingServer(says("yes")) as one, GradingServer(says("yes")) as other:
        progress, results = run(settings, bank, answers(24), tmp_path / "out.jsonl", [one.endpoint, other.endpoint])
    assert progress.done == 24
    assert min(progress.by_server.get(server.base_url, 0) for server in (one, other)) >= 4
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 24
    assert all(each.grade is not None and each.grade.not_graded_count == 0 for each in results.graded.values())


def test_a_server_that_goes_half_way_loses_nothing(settings: Settings, bank: Bank, tmp_path: Path) -> None:
    with GradingServer(says("yes")) as one, GradingServer(says("yes"), fails_after=12) as other:
        progress, results = run(settings, bank, answers(16), tmp_path / "out.jsonl", [one.endpoint, other.endpoint])
    assert progress.lost == (other.base_url,)
    assert progress.done == 16
    assert all(each.grade is not None and each.grade.not_graded_count == 0 for each in results.graded.values())
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 16


def test_when_all_servers_are_gone_the_rest_waits_for_the_next_sitting(
    settings: Settings, bank: Bank, tmp_path: Path
) -> None:
    wanted = answers(8)
    with GradingServer(says("yes"), fails_after=20) as only, pytest.raises(AllServersGone, match="not graded"):
        run(settings, bank, wanted, tmp_path / "out.jsonl", [only.endpoint], per_server=1)
    before = (tmp_path / "out.jsonl").read_text().splitlines()
    assert 0 < len(before) < 8
    with GradingServer(says("yes")) as server:
        progress, _ = run(settings, bank, wanted, tmp_path / "out.jsonl", [server.endpoint])
    assert progress.kept == len(before)
    assert progress.done == 8
    assert (tmp_path / "out.jsonl").read_text().splitlines()[: len(before)] == before


def test_a_server_that_answers_nonsense_is_no_lost_server(settings: Settings, bank: Bank, tmp_path: Path) -> None:
    with GradingServer(says("perhaps")) as server:
        progress, results = run(settings, bank, answers(1), tmp_path / "out.jsonl", [server.endpoint])
    assert progress.lost == ()
    grade = results.graded["a0"].grade
    assert grade is not None
    assert all(each.verdict != "met" or each.decided_by != "model" for each in grade.criteria)


def test_an_item_that_is_not_in_the_bank_is_named_before_anything_is_asked(
    settings: Settings, bank: Bank, tmp_path: Path
) -> None:
    wanted = [*answers(1), BatchAnswer(id="b", item="serving/prefill-decode/completion-tim", answer="x")]
    with GradingServer(says("yes")) as server:
        with pytest.raises(BankError, match="completion-time"):
            run(settings, bank, wanted, tmp_path / "out.jsonl", [server.endpoint])
        assert server.asked == 0


def test_the_command_grades_a_file_without_a_model_and_writes_tables(tmp_path: Path) -> None:
    source = tmp_path / "answers.jsonl"
    source.write_text("".join(each.model_dump_json() + "\n" for each in answers(3)))
    names = {name: tmp_path / name for name in ("out.jsonl", "table.csv", "page.md")}
    command = ["--no-model", "grade", "--answers", str(source), "--out", str(names["out.jsonl"])]
    with pytest.raises(SystemExit) as caught:
        main([*command, "--csv", str(names["table.csv"]), "--markdown", str(names["page.md"])])
    assert caught.value.code in (0, 1, None)
    assert len(read_answers(source)) == len(names["out.jsonl"].read_text().splitlines()) == 3
    assert len(names["table.csv"].read_text().splitlines()) == 4
    assert "3 of 3 answers graded" in names["page.md"].read_text()


@pytest.mark.parametrize(
    ("arguments", "says_so"),
    [
        (["--answers", "x.jsonl"], "--out"),
        (["--answers", "x.jsonl", "--out", "y", "--item", "z"], "does not go with"),
        (["--item", ITEM], "--answer"),
        (["--item", ITEM, "--answer", "-", "--out", "y"], "go with --answers"),
        (["--answers", "nowhere.jsonl", "--out", "y"], "nowhere.jsonl"),
    ],
)
def test_options_that_do_not_go_together_are_one_sentence(
    arguments: list[str],
    says_so: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["grade", *arguments])
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert says_so in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.model
def test_two_real_servers_share_a_batch_and_one_is_killed(
    settings: Settings, bank: Bank, tmp_path: Path, small_model_path: Path
) -> None:
    servers = [EmbeddedServer(small_model_path, context_tokens=4096, threads=1) for _ in range(2)]
    try:
        endpoints = [server.start_blocking() for server in servers]
        results = Results(tmp_path / "out.jsonl")
        graders = {
            each.base_url: Grader(settings, bank, OpenModel(ModelInfo(endpoint=each, source="test")))
            for each in endpoints
        }
        killed: list[int] = []

        def tell(progress: BatchProgress) -> None:
            if len(progress.by_server) == 2 and not killed:
                child = servers[1]._child
                assert child is not None
                os.kill(child.pid, signal.SIGKILL)
                killed.append(progress.done)

        progress = asyncio.run(
            grade_batch(answers(6), bank, results, graders, Pool(endpoints), per_server=1, tell=tell)
        )
        results.close()
    finally:
        for server in servers:
            server.stop_blocking()
    assert killed
    assert progress.done == 6
    assert progress.by_server[endpoints[1].base_url] >= 1
    for each in results.graded.values():
        assert each.grade is not None
        assert each.grade.not_graded_count == 0
