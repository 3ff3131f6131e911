"""`FakeClock`: time that passes only when a test says so."""

from __future__ import annotations


class FakeClock:
    """Seconds from any point on, for code that takes its time from a callable.

    Hand it over where a clock is asked for, or put it in the place of one: with pytest's
    `monkeypatch.setattr(module, "monotonic", clock)` a deadline comes at once and never by
    accident; `monkeypatch.setattr(module, "sleep", clock.sleep)` makes waiting free.

    Attributes:
        now: The time, in seconds; a test may set it.
    """

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Lets time pass.

        Raises:
            ValueError: The seconds are negative; such clocks never run backwards.
        """
        if seconds < 0:
            raise ValueError(f"a clock does not run backwards, got {seconds!r}")
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        """Lets time pass, as `time.sleep`, without waiting."""
        self.advance(seconds)
