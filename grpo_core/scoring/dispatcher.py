"""`Dispatcher`: the one thread that starts workers, hands them calls and keeps their deadlines."""

from __future__ import annotations

import logging
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable

from grpo_core.errors import GrpoError
from grpo_core.outcome import Outcome
from grpo_core.scoring.channel import Message
from grpo_core.scoring.checks import fault
from grpo_core.scoring.guard import Guard
from grpo_core.scoring.inbox import Inbox
from grpo_core.scoring.jobs import Job
from grpo_core.scoring.process import PATIENCE_S, WorkerProcess

logger = logging.getLogger("grpo_core")

# After so many workers in a row that did not come up, the calls fail with the reason.
_MAX_FAILED_STARTS = 3
_PAUSE_AFTER_FAILED_START_S = 0.2
# How often a worker that was killed is looked at until it is gone, and one that is busy whether it
# is still there; in most cases its channel tells at once.
_REAP_S = 0.02
_LOOK_S = 0.2
_MAX_REAP_S = 5.0
# How many recipes' paces are remembered.
_MAX_PACES = 256


class Dispatcher:
    """Workers, the jobs they work at, and the thread that does everything with them.

    All but `post`, `stop` and `let_go` runs in that thread.
    """

    def __init__(self, n_workers: int, memory_mb: int) -> None:
        self._n_workers = n_workers
        self._memory_mb = memory_mb
        self._jobs: deque[Job] = deque()
        self._workers: list[WorkerProcess] = []
        self._killed: list[WorkerProcess] = []
        self._pace: dict[bytes, float] = {}
        self._n_failed_starts = 0
        self._next_start = 0.0
        self._next_look = 0.0
        self._stopping = False
        self._inbox = Inbox()
        self._guard = Guard()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._inbox.socket, selectors.EVENT_READ)
        # A daemon, since Python waits for other threads before it calls what ends this one.
        self._thread = threading.Thread(target=self._run, name="grpo-core-pool", daemon=True)
        self._thread.start()

    def post(self, command: Callable[[], None]) -> bool:
        """Has the thread do something; returns False if it has ended."""
        return self._inbox.post(command)

    def stop(self) -> None:
        """Ends the workers and the thread; what is not decided fails."""
        self.post(self._stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def let_go(self) -> None:
        """Lets go of workers and files of the process that this one was forked from."""
        self._selector.close()
        self._inbox.let_go()
        self._guard.let_go()
        for worker in [*self._workers, *self._killed]:
            worker.let_go()

    # Commands

    def add(self, job: Job) -> None:
        """Begins a job."""
        if job.is_decided:
            job.finish()
        else:
            self._jobs.append(job)

    def cancel(self, job: Job, reason: str) -> None:
        """Ends a job now: calls that are not decided are timed out; workers at them are killed."""
        if job not in self._jobs:
            return
        self._give_up(job, Outcome(None, "timed_out", reason))

    def _stop(self) -> None:
        self._stopping = True

    # The thread

    def _run(self) -> None:
        why = "the worker pool was closed before the call was done"
        try:
            while not self._stopping:
                self._turn()
        except BaseException as exc:  # whoever waits for values must not wait for ever
            logger.exception("the worker pool failed")
            why = f"the worker pool failed: {type(exc).__name__}: {exc}"
        self._shut_down(why)

    def _turn(self) -> None:
        for key, events in self._selector.select(self._wait_s()):
            worker = key.data
            if worker in self._workers:
                if events & selectors.EVENT_WRITE:
                    worker.channel.send_more()
                if events & selectors.EVENT_READ:
                    self._listen(worker)
        self._inbox.run_commands()
        self._look_at_the_clock()
        self._assign()
        self._finish_decided()
        self._hire()
        self._prepare_replacements()
        for worker in self._workers:
            events = selectors.EVENT_READ
            if worker.channel.is_sending:
                events |= selectors.EVENT_WRITE
            if self._selector.get_key(worker.channel.socket).events != events:
                self._selector.modify(worker.channel.socket, events, worker)
        self._killed = [w for w in self._killed if not w.is_reaped()]

    def _wait_s(self) -> float | None:
        """How long nothing has to be done unless a message comes; None: for ever."""
        now = time.monotonic()
        moments = [w.deadline for w in self._workers]
        moments += [_half(w) for w in self._workers if w.state == "running" and _half(w) > now]
        if self._killed:
            moments.append(now + _REAP_S)
        if self._wanted() > self._n_alive():
            moments.append(self._next_start)
        if any(w.is_busy for w in self._workers):
            moments.append(self._next_look)
        first = min(moments, default=float("inf"))
        return None if first == float("inf") else max(0.0, first - now)

    # What workers say

    def _listen(self, worker: WorkerProcess) -> None:
        for message in worker.channel.receive():
            if worker not in self._workers:
                return
            self._hear(worker, message)
        if worker.channel.ended and worker in self._workers:
            self._has_ended(worker)

    def _hear(self, worker: WorkerProcess, message: Message) -> None:
        kind = message[0]
        if kind == "ready":
            self._n_failed_starts = 0
            worker.enter("idle")
        elif kind == "built":
            self._has_built(worker, message[1])
        elif kind == "begun":
            worker.enter("running", message[1])
        else:
            self._has_run(worker, message)

    def _has_built(self, worker: WorkerProcess, reason: str | None) -> None:
        job = worker.job
        assert job is not None
        worker.release()
        worker.enter("idle")
        if reason is None:
            worker.keys.add(job.key)
        else:
            self._cannot_build(job, f"cannot be built in a worker: {reason}")

    def _has_run(self, worker: WorkerProcess, message: Message) -> None:
        _, seconds, clock, plain, leaving = message
        chunk = worker.chunk
        assert chunk is not None
        job, index = chunk.job, chunk.indices.popleft()
        if job.timeout_s is not None and seconds > job.timeout_s:
            # Whether it was killed before it was done must not depend on how busy this thread is.
            job.was_late(index, seconds)
        else:
            job.decide(index, [Outcome(*cell) for cell in plain], seconds)
            self._note_pace(job.key, seconds)
        worker.enter("running", clock)
        if leaving:
            job.give_back(chunk)
        if leaving or not chunk.indices:
            worker.release()
            worker.enter("leaving" if leaving else "idle")

    def _note_pace(self, key: bytes, seconds: float) -> None:
        if key not in self._pace and len(self._pace) >= _MAX_PACES:
            del self._pace[next(iter(self._pace))]
        pace = self._pace.get(key, seconds)
        self._pace[key] = pace + 0.1 * (seconds - pace)

    # Workers that end, or must

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline <= now]:
            self._listen(worker)  # it may have been done while this thread had no time to look
            if worker in self._workers and worker.deadline <= time.monotonic():
                self._is_late(worker)
        if now >= self._next_look:
            self._next_look = now + _LOOK_S
            for worker in [w for w in self._workers if w.is_busy and w.has_ended()]:
                self._listen(worker)  # for what it said before
                if worker in self._workers:
                    self._has_ended(worker)

    def _is_late(self, worker: WorkerProcess) -> None:
        seconds = time.monotonic() - worker.since
        if worker.state == "starting":
            self._start_failed(f"it did not start within {PATIENCE_S:g} s", worker)
        elif worker.state == "building" and worker.job is not None:
            self._cannot_build(worker.job, f"takes longer than {PATIENCE_S:g} s to build")
        elif worker.state == "running" and worker.chunk is not None:
            worker.chunk.job.was_late(worker.chunk.indices.popleft(), seconds)
        elif worker.state == "loading" and worker.chunk is not None:
            how = f"takes longer than {PATIENCE_S:g} s to read its inputs in a worker"
            worker.chunk.job.ended_worker(worker.chunk.indices.popleft(), how, 0.0)
        self._kill(worker)

    def _has_ended(self, worker: WorkerProcess) -> None:
        how = worker.how_it_ended()
        if worker.state == "starting":
            self._start_failed(how, worker)
        elif worker.state == "building" and worker.job is not None:
            worker.job.n_broken_builds += 1
            if worker.job.n_broken_builds > 1:
                self._cannot_build(worker.job, f"cannot be built: {how}")
        elif worker.chunk is not None:
            seconds = time.monotonic() - worker.since
            worker.chunk.job.ended_worker(worker.chunk.indices.popleft(), how, seconds)
        self._kill(worker)

    def _kill(self, worker: WorkerProcess) -> None:
        """Ends a worker, unless that was done; the calls that it still had wait again."""
        if worker not in self._workers:
            return
        self._selector.unregister(worker.channel.socket)
        worker.end()
        self._guard.forget(worker.group)
        self._workers.remove(worker)
        self._killed.append(worker)
        if worker.chunk is not None:
            worker.chunk.job.give_back(worker.chunk)
        worker.release()

    def _cannot_build(self, job: Job, reason: str) -> None:
        for other in [j for j in self._jobs if j.key == job.key]:
            self._give_up(other, fault(reason))

    def _start_failed(self, how: str, worker: WorkerProcess | None = None) -> None:
        """Tries again after a pause; gives up where no worker comes up, time after time."""
        self._n_failed_starts += 1
        self._next_start = time.monotonic() + _PAUSE_AFTER_FAILED_START_S
        others = [w for w in self._workers if w is not worker and w.state != "leaving"]
        if self._n_failed_starts >= _MAX_FAILED_STARTS and not others:
            self._n_failed_starts = 0
            for job in list(self._jobs):
                self._give_up(job, Outcome(None, "failed", f"no worker could be started: {how}"))

    def _give_up(self, job: Job, outcome: Outcome) -> None:
        """Decides what is not decided of a job, and kills the workers that are at it."""
        for worker in [w for w in self._workers if w.job is job]:
            if worker.state == "running" and worker.chunk is not None:
                seconds = time.monotonic() - worker.since
                job.decide(worker.chunk.indices.popleft(), [outcome], seconds)
            self._kill(worker)
        job.fail_rest(outcome)
        self._finish_decided()

    # Workers that get something to do

    def _assign(self) -> None:
        """Gives calls to idle workers, a chunk of each job in turn."""
        n_free = self._n_workers - sum(w.is_busy for w in self._workers)
        idle = [w for w in self._workers if w.state == "idle"]
        while n_free > 0 and idle and (job := self._next_job()) is not None:
            worker = next((w for w in idle if job.key in w.keys), idle[0])
            if job.key not in worker.keys:
                worker.build(job)
            else:
                chunk = job.take(self._n_workers, self._pace.get(job.key))
                if chunk is None:
                    continue
                worker.run(chunk)
            idle.remove(worker)
            n_free -= 1

    def _next_job(self) -> Job | None:
        """The next job that has calls for one more worker; the others come first next time."""
        for _ in range(len(self._jobs)):
            job = self._jobs[0]
            self._jobs.rotate(-1)
            if job.n_waiting > job.n_building:
                return job
        return None

    def _hire(self) -> None:
        """Starts the workers that there is work for."""
        while self._wanted() > self._n_alive() and time.monotonic() >= self._next_start:
            try:
                worker = WorkerProcess(self._memory_mb)
            except (OSError, GrpoError) as exc:
                self._start_failed(str(exc))
                return
            self._guard.watch(worker.group)
            self._workers.append(worker)
            self._selector.register(worker.channel.socket, selectors.EVENT_READ, worker)

    def _prepare_replacements(self) -> None:
        """Has idle workers build the rewards of workers that may have to be killed soon.

        Those that are no longer needed end once nothing is left to do.
        """
        late = [w.job for w in self._late() if w.job is not None]
        for job in set(late):
            others = [w for w in self._workers if w.state == "idle" or w.is_ahead]
            n_ready = sum(job.key in w.keys or w.job is job for w in others)
            idle = [w for w in others if w.state == "idle" and job.key not in w.keys]
            for worker in idle[: max(0, late.count(job) - n_ready)]:
                worker.build(job, ahead=True)
        if not self._jobs:
            n_surplus = max(0, self._n_alive() - self._n_workers)
            for worker in [w for w in self._workers if w.state == "idle"][:n_surplus]:
                worker.leave()

    def _wanted(self) -> int:
        """How many workers there should be: for the calls there are, and to replace late ones."""
        n_busy = sum(w.is_busy for w in self._workers)
        n_waiting = sum(max(0, job.n_waiting - job.n_building) for job in self._jobs)
        n_ahead = min(len(self._late()), max(2, self._n_workers // 4))
        return min(self._n_workers, n_busy + n_waiting) + n_ahead

    def _n_alive(self) -> int:
        return sum(w.state != "leaving" for w in self._workers)

    def _late(self) -> list[WorkerProcess]:
        """Workers whose call has used half of its time."""
        now = time.monotonic()
        return [w for w in self._workers if w.state == "running" and _half(w) <= now]

    # The end

    def _finish_decided(self) -> None:
        for job in [job for job in self._jobs if job.is_decided]:
            self._jobs.remove(job)
            job.finish()

    def _shut_down(self, why: str) -> None:
        self._selector.unregister(self._inbox.socket)
        self._inbox.close()
        for job in self._jobs:
            job.fail_rest(Outcome(None, "failed", why))
        self._finish_decided()
        for worker in list(self._workers):
            if worker.state == "idle":
                worker.leave()
            else:
                self._kill(worker)
        while self._workers:
            for key, _ in self._selector.select(self._wait_s()):
                if key.data in self._workers:
                    self._listen(key.data)
            self._look_at_the_clock()
        end = time.monotonic() + _MAX_REAP_S
        while self._killed and time.monotonic() < end:
            self._killed = [w for w in self._killed if not w.is_reaped()]
            time.sleep(0.001)
        if self._killed:
            logger.warning("%d workers of process %d do not end", len(self._killed), os.getpid())
        self._guard.close()
        self._selector.close()


def _half(worker: WorkerProcess) -> float:
    """When the call that it runs will have used half of its time."""
    return (worker.since + worker.deadline) / 2
