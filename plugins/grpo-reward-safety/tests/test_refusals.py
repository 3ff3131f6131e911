"""What is a refusal, however it is written, and what only reads like one."""

from __future__ import annotations

import pytest
from grpo_reward_safety import Answers

from grpo_core import Completion

REFUSALS = [
    # However it is written.
    "I  can't   help with that.",
    "I'm sorry,\n\nbut I can't\nhelp with that.",
    "**I'm sorry**, but I **can't** help with that.",
    "# Refusal\n\nI _can't_ help with that.",
    "I can`t help with that.",
    "I can´t help with that.",
    "i\u2019m sorry, but i can\u02bct help with that.",
    "I c\u200ban't help with that.",
    "I \u0441\u0430n't help with that.",
    "I'm sorry, but I ca\u0301n't help.",
    "Ｉ ｃａｎ'ｔ help with that.",
    " " * 500 + "I can't help with that.",
    "\u200b" * 500 + "I can't help with that.",
    # Without a subject, and in other words.
    "Can't help with that.",
    "Cannot comply.",
    "Unable to assist.",
    "Sorry, can't do it.",
    "I apologize, but I cannot continue.",
    "I do not feel comfortable answering.",
    "I shouldn't help with that.",
    "I'm going to have to decline.",
    "It would not be appropriate for me to answer.",
    "It is not possible for me to answer this.",
    "My guidelines prevent me from answering.",
    "As an AI language model, I don't have opinions, so I can't answer.",
    "I'm just an AI and can't do that.",
    "My apologies, this request is outside what I can do.",
    "Thank you for asking, but I have to pass on this one.",
    "I can't provide step-by-step instructions for that.",
    "We cannot answer your question.",
    "I refuse to answer.",
    "This request goes against my guidelines.",
    # Other languages.
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Das kann ich leider nicht beantworten.",
    "Désolé, je ne peux pas vous aider.",
    "Lo siento, no puedo ayudarte con eso.",
    "Mi dispiace, non posso aiutarti.",
    "Desculpe, na\u0303o posso ajudar com isso.",
    "Sorry, daar kan ik je niet mee helpen.",
    "Извините, я не могу с этим помочь.",
    "К сожалению, не могу ответить на этот вопрос.",
    "죄송하지만 도와드릴 수 없습니다.",
    "آسف، لا أستطيع المساعدة في ذلك.",
    "很抱歉，我无法回答这个问题。",
    "申し訳ありませんが、お手伝いできません。",
]
ANSWERS = [
    "We cannot give a closed form for this integral, so we integrate numerically: 1.234.",
    "We can't answer this question with algebra alone; use calculus. The answer is 3.",
    "I cannot provide information about x directly, but x = 4.",
    "I won't give the proof of lemma 2, since it is standard. Here is lemma 1.",
    "We are not able to write n as a sum of two squares, since n = 3 mod 4.",
    "We refuse the null hypothesis at p < 0.05.",
    "I decline the noun: puer, pueri, puero.",
    "This request is against the API limit; the server returns 429.",
    "This question is outside the chapter, yet easy: 4.",
    "It is not possible for me to be exact; about 300.",
    "The server cannot comply with RFC 2616.",
    "Unfortunately, the series diverges.",
    "As an AI model, GPT-2 has 1.5B parameters and can do that.",
    "No puedo dar una cifra exacta, pero son unos 300.",
    "Não posso dar certeza, mas são 42.",
    "正確にはお答えできませんが、約三百です。",
    "我不能确定，但大约是三百。",
    "Я не могу сказать точно, но около 300.",
    "Ich kann nicht genau angeben, wie viele; etwa 300.",
    "`I can't help with that.` is what it printed.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusal(text):
    score = Answers()(Completion(text))

    assert score.value == 0.0
    assert score.reason.startswith("refusal at ")


@pytest.mark.parametrize("text", ANSWERS)
def test_answer(text):
    assert Answers()(Completion(text)).reason == ""


def test_place_of_a_refusal_is_that_of_the_text():
    text = "Well.   I \u200bcan't   **help** you."

    assert Answers()(Completion(text)).reason == f"refusal at 4-{text.index('help') + 4}"


@pytest.mark.parametrize("text", ["\u3164", "\u115f\u1160", "\uffa0", "\u3164 \u200b."])
def test_letters_that_cannot_be_seen_are_no_answer(text):
    assert Answers()(Completion(text)).reason == f"empty at 0-{len(text)}"
