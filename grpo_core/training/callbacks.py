"""Trainer callbacks: the run's record and the progress line."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from grpo_core.record import RunDir
from grpo_core.recorded.names import COMPLETIONS
from grpo_core.recorded.write import CompletionRecord
from grpo_core.sections import RecordSection
from grpo_core.training.checkpoints import checkpoint_of, mark
from grpo_core.training.ranks import Ranks
from grpo_core.training.recording import Recorder


class RecordCallback(TrainerCallback):
    """Writes the manifest when training starts and the metrics whenever the trainer logs.

    It also begins the record of the completions, which the seam writes.
    """

    def __init__(
        self,
        run_dir: Callable[[int], RunDir],
        manifest: Callable[[], Mapping[str, Any]],
        section: RecordSection,
        set_recorder: Callable[[Recorder | None], None],
        ranks: Ranks,
    ) -> None:
        """Takes what is asked once training starts.

        Args:
            run_dir: Gives the run directory, of a run with so many steps done; asked by the first
                process alone.
            manifest: Gives the manifest's content.
            section: What the record keeps.
            set_recorder: Gets the recorder.
            ranks: The processes of the training.
        """
        self._run_dir = run_dir
        self._manifest = manifest
        self._section = section
        self._set_recorder = set_recorder
        self._ranks = ranks
        self._run: RunDir | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Creates the run's files; of a run that goes on, sets aside what comes again."""
        ranks = self._ranks
        manifest = self._manifest()

        def begin() -> RunDir:
            run = self._run_dir(state.global_step)
            run.begin(state.global_step)
            run.write_manifest(manifest, state.global_step)
            return run

        self._run = run = ranks.first_does("run directory", begin)
        record = CompletionRecord(run.path / COMPLETIONS, self._section, ranks.rank, ranks.world)
        record.begin(state.global_step)
        off = self._section.completions == "off"
        self._set_recorder(None if off else Recorder(record, manifest["rewards"]))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Notes in TRL's checkpoint which run it is of; in ours it stands from the start."""
        checkpoint = checkpoint_of(Path(args.output_dir), state.global_step)
        if self._run is not None and self._ranks.first and checkpoint.is_dir():
            mark(checkpoint, self._run.path)

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Appends TRL's metrics, keys unchanged, and ours."""
        if self._run is not None and self._ranks.first and logs:
            self._run.log_metrics(state.global_step, logs)


class FinalEvaluation(TrainerCallback):
    """Evaluates after the last step too, whatever number of steps lies between evaluations."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Asks for an evaluation behind the last step."""
        if args.eval_strategy == "steps" and state.global_step >= state.max_steps:
            control.should_evaluate = True


class ProgressLine(TrainerCallback):
    """One line per log: the mean of each reward, the total, KL and the time left.

    An evaluation has a line of its own, which begins with "eval".
    """

    def __init__(self, names: Sequence[str], write: Callable[[str], None]) -> None:
        """Takes the rewards' instance names and what prints a line."""
        self._names = names
        self._write = write
        self._start = 0.0
        self._first_step = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Starts the clock."""
        self._start = time.monotonic()
        self._first_step = state.global_step

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Prints the line, for the logs of a training step or an evaluation."""
        prefix = "eval_" if logs and "eval_reward" in logs else ""
        if not logs or f"{prefix}reward" not in logs:
            return
        kind = "eval" if prefix else "step"
        parts = [f"{kind} {state.global_step:>{len(str(state.max_steps))}}/{state.max_steps}"]
        parts += [f"{n} {_number(logs.get(f'{prefix}grpo/{n}/raw_mean'))}" for n in self._names]
        parts.append(f"total {_number(logs[f'{prefix}reward'])}")
        parts.append("KL off" if not args.beta else f"KL {_number(logs.get(f'{prefix}kl'), 4)}")
        if prefix:
            parts.append(f"took {_clock(round(logs.get('eval_runtime', 0.0)))}")
        else:
            parts.append(f"{self._time_left(state)} left")
        self._write(" | ".join(parts))

    def _time_left(self, state: Any) -> str:
        done = state.global_step - self._first_step
        if done <= 0:
            return "?"
        per_step = (time.monotonic() - self._start) / done
        return _clock(round(per_step * max(state.max_steps - state.global_step, 0)))


def _clock(seconds: int) -> str:
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _number(value: Any, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
