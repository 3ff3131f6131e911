"""Primes that nobody can know beforehand, so that no answer is written to be a multiple of one."""

from __future__ import annotations

import math
import random
from functools import lru_cache

_SMALL = math.prod(
    n for n in range(3, 200) if all(n % divisor for divisor in range(2, math.isqrt(n) + 1))
)
_LOW, _HIGH = 2**60, 2**61


@lru_cache(maxsize=1024)
def draws(seed: str, names: tuple[str, ...]) -> tuple[tuple[int, dict[str, int]], ...]:
    """Two primes, each with a value below it for every name; the same for the same seed."""
    draw = random.Random(seed)
    found = []
    for _ in range(2):
        prime = _prime(draw)
        found.append((prime, {name: draw.randrange(2**20, prime) for name in names}))
    return tuple(found)


def _prime(draw: random.Random) -> int:
    """A number that passes Fermat's test; of a billion that do, all but a few are prime."""
    while True:
        number = draw.randrange(_LOW + 1, _HIGH, 2)
        if math.gcd(number, _SMALL) == 1 and pow(2, number - 1, number) == 1:
            return number
