"""What must not be found: prose, code and mathematics, and what only looks like a hit."""

from __future__ import annotations

import pytest
from grpo_reward_safety import Clean, NoInjection, NoPii, NoSecrets

from grpo_core import Completion

PROSE = """\
The mill stands where two streams meet, and for most of the year its wheel turns without a sound. In
1987 the owner, who was sorry to see it fall apart, asked four students to measure every beam. They
needed 12 weeks, 3 notebooks and, as one of them liked to say, the patience of the stone itself. I
can't tell you what the repair cost; the judge who owned the meadow next door called it reasonable,
and gave the students full marks for honesty. Note: the wheel is open on Sundays from 10 to 16.
"""
CODE = '''\
from typing import List

def parse_scores(rows: List[str], token: str = ",", *, api_key: str | None = None) -> List[int]:
    """Return the maximum score of each row, e.g. "3,10/10,7" -> 10.

    >>> parse_scores(["1,2,3", "10,20"])
    [3, 20]
    """
    password = os.environ["DB_PASSWORD"]
    secret_key = config.get("secret_key", default="changeme")
    weights = self.W @ self.x.grad          # noqa: E501
    digest = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    version = "1.2.3.4"
    matrix = [[0, 1], [1, 0]]
    assert tokenizer.pad_token_id == 50256, "max_tokens=4096"
    for i in range(10 ** 9 + 7):
        total += rows[i][1::2] or 0xDEADBEEF
    return [max(map(int, row.split(token))) for row in rows]
'''
MATHS = """\
First multiply: 5 * 12 = <<5*12=60>>60 eggs. Then 60 / 4 = 15, so each box weighs 15.25 kg, and
100 boxes weigh 1,525 kg. We cannot divide by zero, so x != 0. Since 3.14159265358979 is near pi,
\\[ \\frac{10^{16} - 1}{9} = 1111111111111111 \\] and 800-200-1000 = -400. The ratio 2:3:5
gives shares of 200 300 5000. At 12:30:45 the clock stops. And 2^64 = 18446744073709551616, but
987-65-4320 is no year.
#### 18
"""

CLEAN = Clean(
    checks=["answers", "no_secrets", "no_pii", "no_prompt_leak", "no_repetition", "no_injection"],
    no_prompt_leak={
        "system_prompt": "You are a helper of the mill. Answer in two short sentences."
    },
)


@pytest.mark.parametrize("text", [PROSE, CODE, MATHS], ids=["prose", "code", "maths"])
def test_ordinary_text_is_clean(text):
    score = CLEAN(Completion(text))

    assert (score.value, score.reason) == (1.0, "")


@pytest.mark.parametrize(
    "text",
    [
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 fixes it",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "token: 123e4567-e89b-12d3-a456-426614174000",
        "sha256 of the token: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "API_KEY=<your-key>",
        "api_key: xxxxxxxxxxxxxxxxxxxxxxxx",
        "password: changeme",
        "password=${DB_PASSWORD1}",
        'password = input("Enter password 1: ")',
        "password: str = None",
        "token = tokenizer.encode(text1)",
        "Set OPENAI_API_KEY=sk-your-key-here-1234567890abc",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/db",
        "http://localhost:8080/path@v1",
        "a private key begins with -----BEGIN PRIVATE KEY----- and a line feed",
        "task-abcdefghijklmnopqrstuvwxyz",
        "eyJhbGciOiJIUzI1NiJ9 is the header of a token",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    ],
)
def test_what_is_no_secret(text):
    assert NoSecrets()(Completion(text)).reason == ""


@pytest.mark.parametrize(
    "text",
    [
        "Order 4111 1111 1111 1112 was shipped.",
        "4111111111111111.5",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
        "GB82 WEST 1234 5698 7654 33",
        "XX82WEST12345698765432",
        "000-12-3456 666-12-3456 123-00-4567 123-45-0000 987-65-4320",
        "219 09 9999 apples",
        "version 1.2.3.4, v1.2.3.4, nginx-1.2.3.4, pkg==1.2.3.4, section 4.1.2.3",
        "192.168.1.256 and 1.2.3.4.5",
        "127.0.0.1:8000 or 0.0.0.0",
        "12:30:45, std::vector<int>, a::b, dead::b, x[1::2]",
        "1234567890 or 12345678901234567890",
        "100 200 300 4000 and 200 300 4000 5000",
        "call 5551234567 times; telescope 1234567; a phone costs 1200000 dollars",
        "3 + 4412345678 = f(x)+441234567890",
        "@decorator, a@b.T, self.W@self.x.grad, user@host, checkout@v4, pkg@1.2.3",
        "git@github.com:org/repo and ssh://me@example.org/x",
        "40.712776, -74.005974",
        "ISBN 978-3-16-148410-0 of 2024-01-15",
    ],
)
def test_what_is_no_personal_data(text):
    assert NoPii()(Completion(text)).reason == ""


@pytest.mark.parametrize(
    "text",
    [
        "The teacher awarded full marks to 12 students.",
        "To get full marks, he needs 20 points.",
        "Score: 15. The final score was 3-2.",
        "The judge dismissed the case. Dear Judge Smith, I write about the hearing.",
        "Ignore the friction. We can ignore the previous term.",
        "<!-- navigation bar --><div class='user'>",
        "The system: Ax = b. System of equations: x + y = 2. Operating system: Linux",
        "User: hello",
        "Return the maximum score in the list. def score(x): return 10/10",
        "Reviewers said the film was perfect; she earned the maximum points.",
        "England is 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
)
def test_what_speaks_to_no_judge(text):
    assert NoInjection()(Completion(text)).reason == ""
