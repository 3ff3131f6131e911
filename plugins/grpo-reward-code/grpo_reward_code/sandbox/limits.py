"""`Limits`: what one program may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one program may use before it is ended.

    Attributes:
        cpu_s: CPU time, of all its threads together. This is the limit that decides.
        wall_factor: Wall time, as a multiple of `cpu_s`; for programs that wait.
        memory_mb: Address space that it may reserve beyond what a bare interpreter holds.
        output_bytes: Bytes on standard output, and as many on standard error.
        file_bytes: Size of each file, and of all files together where there is a scratch folder.
        threads: Threads at one time, the main thread included.
    """

    cpu_s: float = 4.0
    wall_factor: float = 4.0
    memory_mb: int = 1024
    output_bytes: int = 1_000_000
    file_bytes: int = 16_000_000
    threads: int = 64

    def __post_init__(self) -> None:
        for name in ("cpu_s", "wall_factor", "memory_mb", "output_bytes", "file_bytes", "threads"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"Limits.{name}: expected a number above 0, got {value!r}")

    @property
    def wall_s(self) -> float:
        """Wall time in seconds."""
        return self.cpu_s * self.wall_factor
