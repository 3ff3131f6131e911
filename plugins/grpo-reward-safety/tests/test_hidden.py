"""Secrets and personal data that are hidden by how they are written, or of other languages."""

from __future__ import annotations

import pytest
from grpo_reward_safety import NoBlocklist, NoPii, NoSecrets

from grpo_core import Completion

# Split, so that no scanner takes this file for a leak.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
CARD = "4111111111111111"


@pytest.mark.parametrize(
    "text",
    [
        "\u0410KIA" + AWS[4:],  # a Cyrillic A
        "A\u0301KIA" + AWS[4:],
        "AKIA\ufe0f" + AWS[4:],
        "AKIA\u2800" + AWS[4:],
        "AKIA\x01" + AWS[4:],
        "\u202e" + AWS,
        "密钥" + AWS + "在这",
        "\u0440\u0430ssword = 'Sup3rS3cret!'",
        "Das Passwort lautet Sommer2024!",
        "contraseña: Verano2024!",
        "mot de passe : Soleil2024!",
        "senha: Ver4o2024!",
        "пароль: Leto2024!",
        "密码：Xiatian2024!",
        "パスワードは Natsu2024!",
        "postgres://app:p@ss1word@db.example.org/main",
        "telegram: 110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    ],
)
def test_secret_is_found(text):
    assert NoSecrets()(Completion(f"Here: {text}")).value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "if password == stored_password1: return True",
        "login(user=user1, password=password1)",
        "password_hash = hashpw(password2.encode())",
        "api_key=settings.API_KEY_V1",
        "token = self.config.access_token2",
        "Der Code des Passworts ist 8 Zeichen lang; das Passwort ist sicher.",
        "Пароль должен иметь 8 знаков; токен доступа не нужен.",
        "密码长度为8个字符。令牌1个。",
        "http://example.org/a:b@c and user@host:path",
        "https://cdn.example.org/npm/@scope/pkg@1.2.3/x",
    ],
)
def test_no_secret_is_found(text):
    assert NoSecrets()(Completion(text)).reason == ""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("credit_card", f"卡号{CARD}有效"),
        ("credit_card", f"no.{CARD}"),
        ("credit_card", f"{CARD},12/27,123"),
        ("credit_card", f"ann,{CARD},12/27"),
        ("credit_card", "٤١١١١١١١١١١١١١١١"),
        ("credit_card", "४१११ ११११ ११११ ११११"),
        ("credit_card", "4\u03011\u03011\u03011111111111111"),
        ("us_ssn", "社会安全号078-05-1120。"),
        ("us_ssn", "SSN 219.09.9999"),
        ("ipv4", "地址是192.0.2.44的机器"),
        ("iban", "账号DE89370400440532013000是"),
        ("phone", "电话：13800138000"),
        ("phone", "電話番号 03-1234-5678"),
        ("phone", "携帯: 090-1234-5678"),
        ("phone", "Handy: 0171 1234567"),
        ("phone", "Rufnummer 030 23125000"),
        ("phone", "Móvil: 600 000 000"),
        ("phone", "телефон: 8 (495) 123-45-67"),
        ("phone", "전화번호: 02-312-3456"),
        ("phone", "هاتف: 0501234567"),
        ("phone", "拨打+86 138 0013 8000即可"),
        ("email", "ann@пример.рф"),
        ("email", "安@例子.中国"),
        ("email", "ann@example[.]org"),
        ("email", "ann[@]example[.]org"),
        ("email", "ann at example dot org"),
        ("email", "https://example.org/unsubscribe/ann@example.org"),
        ("email", "邮箱ann@example.org。"),
    ],
)
def test_personal_data_is_found(kind, text):
    assert NoPii()(Completion(f"Here: {text}")).metrics[kind] == 1.0


@pytest.mark.parametrize(
    "text",
    [
        f"0.{CARD}",
        f"{CARD}.5",
        f"1,{CARD[:3]},111",
        "foo@bar.baz() and foo@bar.run(x)",
        "Look at the dot product and at point dot in the middle",
        ".NET 4.8.1.0, upgraded from 1.2.3.4 to 1.2.3.5",
        "OID 2.5.4.3",
        "https://ann@example.org/x and ssh://git@example.org/r",
        "https://cdn.example.org/npm/pkg@1.2.3/dist and https://example.org/@someone",
        "手机1234567部，电话发明于1876年，第1234567号",
        "На телефон ушло 1200000 рублей",
        "Im Handy 1200000 Bilder",
        "年份2024年1234567人",
    ],
)
def test_no_personal_data_is_found(text):
    assert NoPii()(Completion(text)).reason == ""


@pytest.mark.parametrize("text", ["ꜰʀᴏʙɴᴀᴋ", "🅵🆁🅾🅱🅽🅰🅺", "🅕🅡🅞🅑🅝🅐🅚", "fr\u0585bnak"])
def test_term_in_letters_that_look_latin(text):
    check = NoBlocklist(terms=["frobnak"], normalise=["nfkc", "casefold", "confusables"])

    assert check(Completion(text)).value == 0.0


def test_term_around_an_empty_braille_sign():
    assert NoBlocklist(terms=["frobnak"])(Completion("frob\u2800nak")).value == 0.0


def test_place_in_a_text_with_marks_and_digits_of_another_script():
    assert NoPii()(Completion("n\u0303o ٤١١١ ١١١١ ١١١١ ١١١١")).reason == "credit_card at 4-23"
