"""Which answers are found in a reply; every list worked out by hand."""

from __future__ import annotations

import pytest
from grpo_reward_math.extracting import ExtractOptions, extract
from grpo_reward_math.reply import NoAnswer, reply_of

DEFAULT = ExtractOptions()
FENCED = "```python\nprint('\\\\boxed{3}')\n```\n"


def found(text: str, options: ExtractOptions = DEFAULT) -> tuple[str, list[str]]:
    result = extract(text, options)
    return result.tier, [c.text for c in result.candidates]


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (r"so \boxed{12}", ["12"]),
        (r"so \fbox{12}", ["12"]),
        (r"so \boxed {12}", ["12"]),
        (r"so $\boxed 5$.", ["5"]),
        (r"so $\boxed5$.", ["5"]),
        (r"so $\boxed\frac12$.", [r"\frac12"]),
        ("so \x08oxed{12}", ["12"]),
        (r"so \\boxed{12}", ["12"]),
        (r"so boxed{12}", ["12"]),
        (r"so $\boxed{\frac{1}{\sqrt{2}}}$", [r"\frac{1}{\sqrt{2}}"]),
        (r"so $\boxed{\left\{ 1, 2 \right\}}$", [r"\left\{ 1, 2 \right\}"]),
        (r"so $\boxed{\boxed{7}}$", ["7"]),
        (r"so $\boxed{x = \boxed{7}}$", ["x = 7"]),
        ("so \\[\n\\boxed{\n 3 \n}\n\\]", ["3"]),
        (r"Put it in \boxed{}. So \boxed{4}.", ["4"]),
        (r"Put it in \boxed{your answer}. So \boxed{4}.", ["4"]),
        (r"so \boxed{4} as asked, in \boxed{...}", ["4"]),
        (r"The set { 1, 2 is open, so \boxed{4}", ["4"]),
    ],
)
def test_a_box_is_found_whatever_its_form(text: str, answers: list[str]) -> None:
    assert found(text) == ("box", answers)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no answer: the reply is empty"),
        (r"I could not finish. $\boxed{}$ Sorry, 4.", "no answer: the box is empty"),
        (r"First \boxed{3}, but then \boxed{42", "no answer: the last box is never closed"),
        (r"so \boxed{\frac{1}{2}", "no answer: the last box is never closed"),
        ("<answer>4", "no answer: <answer> is never closed"),
        ("<answer> </answer>", "no answer: the answer tag is empty"),
        ("<answer>your answer here</answer>", "no answer: the answer tag is empty"),
        ("I do not know.", "no answer: nothing in the reply marks one"),
        ("The answer is not 5.", "no answer: the phrase leads to none"),
        ("The answer isn't 5.", "no answer: the phrase leads to none"),
        ("The answer could be 5.", "no answer: the phrase leads to none"),
        ("The answer is not **5**.", "no answer: the phrase leads to none"),
        ("I do not know.\n```\n\\boxed{9}\n```", "no answer: nothing in the reply marks one"),
        ("Is the answer 5?", "no answer: nothing in the reply marks one"),
        ("If the answer is 5, then we are done.", "no answer: the phrase leads to none"),
        ("She has 6 marbles left.", "no answer: nothing in the reply marks one"),
    ],
)
def test_where_there_is_no_answer_the_reason_says_why(text: str, reason: str) -> None:
    result = extract(text, DEFAULT)

    assert (result.candidates, result.reason) == ((), reason)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("<answer>56</answer>", ["56"]),
        ("<ANSWER> 56 </ANSWER>", ["56"]),
        (r"<answer>\boxed{56}</answer>", ["56"]),
        ("<answer>$56$</answer>", ["$56$"]),
        ("<answer>x = 11</answer>", ["x = 11"]),
        ("<answer>The answer is 11.</answer>", ["11"]),
        ("<answer>The area is $12$.</answer>", ["12"]),
        ("<answer>The total cost is 45 dollars.</answer>", ["45 dollars"]),
        ("<answer>The train needs 3.5 hours.</answer>", ["3.5 hours"]),
        ("<answer>12 square meters</answer>", ["12 square meters"]),
        ("<answer>\n```\n42\n```\n</answer>", ["42"]),
        ("<answer>Monday</answer>", ["Monday"]),
        (r"<answer>\boxed{9} and \boxed{40}</answer>", ["9", "40"]),
        ("First \\boxed{5}, the subtotal. <answer>8</answer>", ["8"]),
        ("The answer is 5. <answer>8</answer>", ["8"]),
        ("<answer>8</answer> So the answer is \\boxed{8}.", ["8", "8"]),
        ("I use <answer> tags. <answer>8</answer>", ["8"]),
        ("<answer>6</answer><answer>8</answer>", ["6", "8"]),
        ("<answer>6</answer> Wait, I forgot one. <answer>8</answer>", ["8"]),
    ],
)
def test_an_answer_tag_wins(text: str, answers: list[str]) -> None:
    assert found(text) == ("answer tag", answers)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("12*4=48 muffins.\n#### 48", ["48"]),
        ("12*4=48 muffins. #### 48", ["48"]),
        ("#### $1,200", ["$1,200"]),
        ("#### 24 apples", ["24 apples"]),
        ("#### Step 1\nAdd.\n#### 1. More\nAdd.\n#### 48", ["48"]),
        ("It is a weekday.\n#### Tuesday", ["Tuesday"]),
        ("#### 75\nNote that it is even.", ["75"]),
        ("#### 75\n#### 76", ["75", "76"]),
    ],
)
def test_the_mark_of_gsm8k(text: str, answers: list[str]) -> None:
    assert found(text) == ("####", answers)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Then it is done. The answer is 64.", ["64"]),
        ("The answer is: 64", ["64"]),
        ("**Answer:** 64", ["64"]),
        ("**Answer**: 64", ["64"]),
        ("**Final Answer: 64**", ["64"]),
        ("Answer = 64", ["64"]),
        ("Ans: 64", ["64"]),
        ("ANSWER: B", ["B"]),
        ("The correct answer is option (B).", ["(B)"]),
        ("### Final Answer\n\n**41**", ["41"]),
        ("**Answer**\n\n$$x = 5$$", ["x = 5"]),
        (
            "Final Answer: The final answer is $\\frac{7}{12}$. I hope it is correct.",
            [r"\frac{7}{12}"],
        ),
        ("The answer to the question is 7.", ["7"]),
        ("The answer, in lowest terms, is $\\frac{1}{2}$.", [r"\frac{1}{2}"]),
        ("The answer is therefore 3 1/2.", ["3 1/2"]),
        ("The answer is n(n+1)/2", ["n(n+1)/2"]),
        ("The answer is $450.", ["$450"]),
        ("The answer is $450 and not $500.", ["$450"]),
        ("The answer is $9$ and $40$.", ["9, 40"]),
        ("The answer is $15$ miles.", ["15 miles"]),
        ("The answer is 5 because 2 + 3 = 5.", ["5"]),
        ("The answer is 5 apples in total.", ["5 apples"]),
        ("The answer is 0.5.", ["0.5"]),
        ("The answer is no, it is not prime.", ["no"]),
        ("The answer is Tuesday.", ["Tuesday"]),
        ("The answer is not 5 but 6.", ["6"]),
        ("The answer is >9.", [">9"]),
        ("The answer is anything but 5.", ["anything but 5"]),
        ("The answer is a multiple of 9.", ["a multiple of 9"]),
        ("The answer is a number close to $9$.", ["a number close to $9$"]),
        ("> **Answer:** 9", ["9"]),
        ("### Answer\n\n> 9", ["9"]),
        ("The answer should be a whole number. The answer is 6.", ["6"]),
        ("If the answer is 5, the sum is 9. The answer is 6.", ["6"]),
        ("The answer is 3 or 4 or 5.", ["3 or 4 or 5"]),
        ("The answer is either 6 or 8.", ["6 or 8"]),
        ("The answer is 6. Or maybe 8.", ["6", "8"]),
        ("The answer is 5. Later: the answer is 6.", ["5", "6"]),
        ("The answer is 5. Wait, that is off by one: the answer is 6.", ["6"]),
        ("The answer is 5. Wait, no, it is 6.", ["6"]),
        ("The answer is 5. I made a mistake, it should be 6.", ["6"]),
        ("The answer is 5. Final answer: 6", ["6"]),
        ("答案 Answer: 5。", ["5"]),
        ("Answer: The total is 12 dollars.", ["12 dollars"]),
        ("Answer: She has 12 apples left.", ["12 apples"]),
        ("Answer: x equals 5.", ["5"]),
        ("**Final Answer**\n\nMia swims a total of **350 meters** a day.", ["350 meters"]),
        ("**Answer:** The boxes hold **$36$** marbles and 2 pens.", ["36"]),
        ("Answer 1: 5. Answer 2: 6.", ["5", "6"]),
        ("The first answer is 5, the second answer is 6.", ["5", "6"]),
        ("The answer is 5 but could be 6.", ["5 but could be 6"]),
        ("The correct option is C.", ["C"]),
        ("The answer is approximately 3.14.", ["3.14"]),
        ("The answer is 12 (twelve).", ["12"]),
        ("The answer is 12 (or 13).", ["12 (or 13)"]),
        ("The answer is 5 (mod 7).", ["5 (mod 7)"]),
        ("Answer: Step 1 is easy. The answer is 12.", ["12"]),
        ("Answer: Step 1 adds them up.\nThe answer is 12.", ["12"]),
    ],
)
def test_a_phrase_leads_to_the_answer(text: str, answers: list[str]) -> None:
    assert found(text) == ("phrase", answers)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (r"\boxed{6} or \boxed{8}", ["6", "8"]),
        (r"It is either $\boxed{6}$ or $\boxed{8}$.", ["6", "8"]),
        (r"It is $\boxed{6}$. Wait, it might also be $\boxed{8}$.", ["6", "8"]),
        (r"It is $\boxed{6}$. If that is wrong, then $\boxed{8}$.", ["6", "8"]),
        (r"It is $\boxed{6}$, or $8$.", ["6", "8"]),
        (r"It is $\boxed{6}$. Alternatively, 8.", ["6", "8"]),
        (r"It is 8 or $\boxed{6}$.", ["8", "6"]),
        (r"It is $\boxed{6}$ or equivalently $\frac{12}{2}$.", ["6"]),
        (r"It is $\boxed{\pi}$, or about 3.14.", [r"\pi"]),
        (r"It is $\boxed{6}$ or more.", ["6"]),
        (r"It is $\boxed{6}$, not $\boxed{8}$.", ["6"]),
        (r"$\boxed{6}$ is not the answer; $\boxed{8}$ is.", ["8"]),
        (r"\boxed{6}. If that should be wrong: \boxed{8}", ["6", "8"]),
        (r"\boxed{6}. Should this be wrong, take \boxed{8}.", ["6", "8"]),
        (r"\boxed{6} (or 0.5)", ["6", "0.5"]),
        (r"\boxed{6}. No wait, \boxed{8}.", ["8"]),
        (r"Either \boxed{6} or \boxed{8}; I choose \boxed{8}.", ["8"]),
        (r"\boxed{\text{The answer is } 12}", ["12"]),
        (r"\boxed{Answer: 12}", ["12"]),
        (r"\boxed{6}. Rechecking: 2 + 4 = 6 and 6 + 3 = 9.", ["6"]),
        (r"\boxed{6}. Wait, I forgot one case, which makes it 7.", ["7"]),
        (r"$\boxed{6}$ fails, so we redo it: $\boxed{8}$.", ["8"]),
        (r"$\boxed{6}$. There is no mistake here. $\boxed{8}$.", ["6", "8"]),
        (r"\boxed{6} is the subtotal. **Final Answer** \boxed{8}", ["8"]),
        (r"Final answer: \boxed{6}. Final answer: \boxed{8}", ["6", "8"]),
        (r"\boxed{6}. Wait, I miscounted, the answer is 8.", ["8"]),
        (r"\boxed{6}. Wait, let me check: yes, that is correct.", ["6"]),
        (r"\boxed{6}. #### 8", ["6", "8"]),
        (r"\boxed{6}. The answer is right, I hope.", ["6"]),
        (FENCED + r"so \boxed{4}", ["4"]),
        (FENCED, ["3"]),
    ],
)
def test_several_answers_are_all_collected_unless_one_takes_the_others_back(
    text: str, answers: list[str]
) -> None:
    assert found(text) == ("box", answers)


@pytest.mark.parametrize(
    "prose",
    [
        "A typical error is to forget the last one, which gives 9.",
        "\n\nA typical error is to forget the last one, which gives 9.",
        "An incorrect approach yields $9$.",
        "It is a mistake to believe that it is 9.",
        "I looked for errors: 4 + 5 = 9.",
        "No cases were left out, the sum is 9.",
        "We reject the other root since it is -9.",
        "Nothing is off by one. The width is 9.",
        "Discard x=-9 as invalid: a width is positive.",
        "(If colors mattered, the answer would be 9.)",
        "A tempting answer is 9.",
        "Wait, let me check: 3 + 6 = 9, yes.",
        "Also, 9 is a square.",
    ],
)
def test_prose_behind_an_answer_does_not_replace_it(prose: str) -> None:
    assert found(rf"So $\boxed{{6}}$. {prose}") == ("box", ["6"])


@pytest.mark.parametrize(
    "prose",
    [
        "Wait, I missed one, it should be 9.",
        "Oops, sorry, I meant 9.",
        "Correction: 9.",
        "Hmm, no, it is 9.",
        "That is not right, since one counts twice. The correct value is 9.",
        "Hold on, that leaves out three, which makes it 9.",
        "I misread the table. So the answer is 9.",
        r"Let me recount. I missed three. $\boxed{9}$",
    ],
)
def test_a_correction_says_what_the_answer_should_be(prose: str) -> None:
    assert found(rf"So $\boxed{{6}}$. {prose}") == ("box", ["9"])


@pytest.mark.parametrize(
    "prose",
    ["or nine", "and also 9", ", though 9 is also possible", ". The answer could also be 9"],
)
def test_an_offer_in_prose_is_another_answer(prose: str) -> None:
    assert found(rf"So it is $\boxed{{6}}$ {prose}.") == ("box", ["6", "9"])


@pytest.mark.parametrize(
    "prose",
    [
        "Wait, is that so? Yes. Second part:",
        "Actually this is right. Second part:",
        "Instead of 5 we take 6 now. Then",
        "Looking at the error term: fine. Second part:",
        "Wait, part (b) asks for more. Part (b):",
    ],
)
def test_parts_are_not_taken_back_by_words_about_something_else(prose: str) -> None:
    assert found(rf"First part: $\boxed{{6}}$. {prose} $\boxed{{9}}$.") == ("box", ["6", "9"])


@pytest.mark.parametrize("prose", ["Wait, that is wrong.", "That is wrong: 3 + 4 = 7."])
def test_an_answer_that_is_taken_back_at_the_end_is_none(prose: str) -> None:
    result = extract(rf"\boxed{{6}}. {prose}", DEFAULT)

    assert (result.candidates, result.reason) == ((), 'no answer: "6" is taken back')


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (r"The legs are $\boxed{9}$ and $\boxed{40}$.", "9, 40"),
        (r"$\boxed{9}$, $\boxed{40}$ and $\boxed{41}$", "9, 40, 41"),
        (r"$a = \boxed{9}$ and $b = \boxed{40}$", "9, 40"),
        (r"$\boxed{9}$ or $\boxed{40}$", None),
        (r"\boxed{9} \boxed{40}", None),
        (r"$\boxed{9}$ is the first and $\boxed{40}$ is not.", None),
    ],
)
def test_parts_of_one_answer_are_joined(text: str, joined: str | None) -> None:
    assert extract(text, DEFAULT).joined == joined


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("29", ["29"]),
        ("$x = 5$", ["x = 5"]),
        ("B", ["B"]),
        ("So the number of routes is **126**.", ["126"]),
        ("So there are **126** routes.", ["126 routes"]),
        ("Adding up.\n\nTherefore the sum is $\\frac{3}{4}$.", [r"\frac{3}{4}"]),
        ("Hence\n$$x = 5.$$", ["x = 5"]),
        ("Therefore the solutions are $x=2$ and $x=3$.", ["x=2, x=3"]),
    ],
)
def test_a_marked_value_that_ends_the_reply_is_the_answer(text: str, answers: list[str]) -> None:
    assert found(text) == ("end of the reply", answers)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("After giving two away she has 6 marbles left.", ["6"]),
        ("It costs 3 times $1,200.50 in all.", ["$1,200.50"]),
        ("It is 3/4 of it.", ["3/4"]),
        ("It is either 6 or 8.", ["6", "8"]),
    ],
)
def test_the_last_number_counts_if_it_is_asked_for(text: str, answers: list[str]) -> None:
    assert found(text, ExtractOptions(last_number=True)) == ("last number", answers)


def test_own_phrases_and_corrections() -> None:
    options = ExtractOptions(phrases=("Antwort", "答案是"), corrections=("Moment",))

    assert found("Antwort: 6", options) == ("phrase", ["6"])
    assert found("所以答案是 6。", options) == ("phrase", ["6"])
    assert found("Antwort: 6. Moment, da fehlt eins. Antwort: 7", options) == ("phrase", ["7"])


def test_own_tags() -> None:
    options = ExtractOptions(tags=("solution",))

    assert found("<answer>3</answer><solution>4</solution>", options) == ("answer tag", ["4"])


def test_a_tag_that_ended_the_generation_counts_where_the_reply_is_whole() -> None:
    result = extract("<answer>56", DEFAULT, ended=True)

    assert [c.text for c in result.candidates] == ["56"]


@pytest.mark.parametrize(
    ("text", "prefill", "reply"),
    [
        ("<think>a</think>b", "", "b"),
        ("a</think>b", "<think>\n", "b"),
        ("<think>a</think>b<think>c</think>d", "", "d"),
        ("b", "", "b"),
    ],
)
def test_reasoning_is_left_out(text: str, prefill: str, reply: str) -> None:
    assert reply_of(text, prefill, "think") == reply


@pytest.mark.parametrize(
    ("text", "prefill"),
    [("<think>a", ""), ("a", "<think>\n"), ("<think>a</think>b<think>c", "")],
)
def test_reasoning_that_is_never_closed_has_no_answer(text: str, prefill: str) -> None:
    with pytest.raises(NoAnswer, match="<think> is never closed"):
        reply_of(text, prefill, "think")


def test_reasoning_counts_where_no_tag_closes_it() -> None:
    assert reply_of("<think>a", "", "") == "<think>a"
