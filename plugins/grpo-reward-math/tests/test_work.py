"""What takes long is refused before it is computed, however it is written."""

import time

import pytest
from grpo_reward_math.comparing import same
from grpo_reward_math.failures import LimitHit
from grpo_reward_math.reading import read
from grpo_reward_math.rules import Rules

RULES = Rules()


@pytest.mark.parametrize(
    "text",
    [
        r"\sum_{k=1}^{2900} 0\cdot\binom{900000}{28000}",
        r"\sum_{k=1}^{2900}\gcd(\binom{900000}{28000-k},10)",
        r"\gcd(\binom{900000}{28001},10)+\gcd(\binom{900000}{28003},10)",
        r"\sum_{k=1}^{2900}\frac{1}{k!}",
        r"\sum_{a=1}^{13}\sum_{b=1}^{13}\sum_{c=1}^{13}\cos(abcx)",
        r"\int_0^1\int_0^1\int_0^1 xyz\,dx\,dy\,dz",
        r"\int_0^\infty \frac{\cos(x^3+2x)\ln(x+2)}{e^x+x^5+\sin x}dx",
    ],
)
def test_work_beyond_the_budget_is_a_limit(text: str) -> None:
    start = time.process_time()

    # What differs at once needs no budget; against itself in other words it does.
    with pytest.raises(LimitHit):
        same(read(text, RULES), read(text + "+0", RULES), RULES)

    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        (r"\sum_{k=0}^{300}\binom{300}{k}", "2^{300}"),
        (r"\sum_{k=1}^{60}\frac1{k(k+1)}", r"\frac{60}{61}"),
        (r"1+2\sum_{k=1}^{15}\cos(kx)", r"\frac{\sin(15.5x)}{\sin(x/2)}"),
    ],
)
def test_ordinary_sums_stay_within_the_budget(answer: str, gold: str) -> None:
    assert same(read(answer, RULES), read(gold, RULES), RULES).equal
