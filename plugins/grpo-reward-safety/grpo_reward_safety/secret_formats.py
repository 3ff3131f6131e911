"""Formats of keys that are known by how they begin."""

from __future__ import annotations

import base64
import binascii
import json
import re
import string
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grpo_reward_safety.placeholders import is_placeholder

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_WORD = frozenset(string.ascii_letters + string.digits)
_TOKEN = _WORD | frozenset("_-")


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: What a reason calls it.
        prefixes: How it begins, one of these.
        rest: What follows the prefix; bounded, so that a text of prefixes costs no square.
        inside: Characters in front of a prefix that make it the middle of something else.
        check: Whether a whole match is one, beyond its form.
        checksum: Whether the last six characters fit the rest; None where there is no such thing.
        free: Whether the form says so much that nothing is taken for a placeholder.
    """

    name: str
    prefixes: tuple[str, ...]
    rest: re.Pattern[str]
    inside: frozenset[str] = _WORD
    check: Callable[[str], bool] | None = None
    checksum: Callable[[str], bool] | None = None
    free: bool = False


def base62_crc32(token: str) -> bool:
    """Whether a token of GitHub or npm ends in the checksum of what stands behind its prefix."""
    body, written = token[4:-6], token[-6:]
    rest = zlib.crc32(body.encode())
    digits = ""
    while rest:
        rest, digit = divmod(rest, 62)
        digits = _BASE62[digit] + digits
    return digits.rjust(6, "0") == written


def is_jwt(token: str) -> bool:
    """Whether the first part of a token is the header of a JSON Web Token."""
    head = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def is_basic(token: str) -> bool:
    """Whether the value of a header for basic authentication holds a user and a password."""
    try:
        name, sign, password = (
            base64.b64decode(token.removeprefix("Basic "), validate=True).decode().partition(":")
        )
    except ValueError:
        return False
    return bool(sign) and len(password) > 3 and (name + password).isprintable()


def find_keys(text: str, *, require_checksums: bool) -> Iterator[tuple[str, int, int]]:
    """Name and place of the keys in a text.

    Args:
        text: The text.
        require_checksums: Whether a key with a checksum that is wrong is none.
    """
    missing = frozenset(sign for sign in "_-" if sign not in text)
    for one in FORMATS:
        for prefix in one.prefixes:
            if not missing.isdisjoint(prefix):
                continue
            at = text.find(prefix)
            while at >= 0:
                end = at + len(prefix)
                if at == 0 or text[at - 1] not in one.inside:
                    match = one.rest.match(text, end)
                    if match:
                        end = match.end()
                        if _is_key(one, text[at:end], len(prefix), require_checksums):
                            yield one.name, at, end
                at = text.find(prefix, end)


def _is_key(one: Format, key: str, skip: int, require_checksums: bool) -> bool:
    if one.check and not one.check(key):
        return False
    if one.checksum:
        if one.checksum(key):
            return True
        if require_checksums:
            return False
    return one.free or not is_placeholder(key[skip:])


def _format(
    name: str,
    prefixes: str,
    rest: str,
    inside: frozenset[str] = _WORD,
    check: Callable[[str], bool] | None = None,
    checksum: Callable[[str], bool] | None = None,
    free: bool = False,
) -> Format:
    found = tuple(prefixes.split(" ")) if " " in prefixes.strip() else (prefixes,)
    return Format(name, found, re.compile(rest), inside, check, checksum, free)


_END = "(?![A-Za-z0-9])"
FORMATS = (
    _format("aws_access_key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}" + _END),
    _format(
        "github_token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36}" + _END, checksum=base62_crc32
    ),
    _format("github_fine_grained", "github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{59}" + _END),
    _format(
        "gitlab_token",
        "glpat- glptt- gldt- glrt- glcbt- glsoat- glft- glimt- glagent-",
        r"[\w-]{20,100}(?:\.[0-9a-z.]{2,12})?",
    ),
    _format("slack_token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[0-9A-Za-z-]{10,250}"),
    _format("slack_token", "xapp-1-", r"[0-9A-Z]{5,20}-[0-9]{5,20}-[0-9a-f]{30,100}"),
    _format("slack_webhook", "hooks.slack.com/", r"(?:services|workflows)/[A-Za-z0-9_/+-]{30,100}"),
    _format("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_", "[A-Za-z0-9]{16,250}"),
    _format("stripe_webhook", "whsec_", "[A-Za-z0-9+/]{24,100}"),
    _format("google_api_key", "AIza", r"[\w-]{35}(?![\w-])"),
    _format("google_oauth_secret", "GOCSPX-", r"[\w-]{28}(?![\w-])"),
    _format("google_oauth_token", "ya29.", r"[\w-]{20,300}"),
    _format("anthropic_key", "sk-ant-", r"[a-z]{2,8}[0-9]{2}-[\w-]{32,200}"),
    _format("openai_key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,250}"),
    _format("openai_key", "sk-", r"[A-Za-z0-9]{20,100}(?![\w-])"),
    _format("openrouter_key", "sk-or-v1-", "[0-9a-f]{64}" + _END),
    _format("xai_key", "xai-", "[A-Za-z0-9]{60,100}"),
    _format("groq_key", "gsk_", "[A-Za-z0-9]{40,64}" + _END),
    _format("perplexity_key", "pplx-", "[A-Za-z0-9]{40,64}" + _END),
    _format("replicate_token", "r8_", "[A-Za-z0-9]{37}" + _END),
    _format("hugging_face_token", "hf_ api_org_", "[A-Za-z0-9]{34}" + _END),
    _format("npm_token", "npm_", "[A-Za-z0-9]{36}" + _END, checksum=base62_crc32),
    _format("pypi_token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", r"[\w-]{30,400}"),
    _format("rubygems_key", "rubygems_", "[0-9a-f]{48}" + _END),
    _format("docker_token", "dckr_pat_", r"[\w-]{27}(?![\w-])"),
    _format(
        "jwt",
        "eyJ",
        r"[\w-]{8,4000}\.[\w-]{4,8000}\.[\w-]{10,2000}",
        inside=_TOKEN,
        check=is_jwt,
        free=True,
    ),
    _format(
        "private_key",
        "-----BEGIN ",
        r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[ \t]{0,9}(?:\\r)?(?:\\n|\r?\n)\s{0,9}[^\s-]|[ \t]{0,9}[A-Za-z0-9+/=]{16})",
        inside=frozenset(),
        free=True,
    ),
    _format("putty_key", "PuTTY-User-Key-File-", r"[23]: [a-z0-9-]{5,30}", free=True),
    _format("age_key", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}" + _END),
    _format("azure_storage_key", "AccountKey=", "[A-Za-z0-9+/]{80,100}={0,2}"),
    _format("azure_shared_access_key", "SharedAccessKey=", "[A-Za-z0-9+/]{40,50}={0,2}"),
    _format("azure_sas", "sig=", "[A-Za-z0-9%+/]{40,100}={0,2}"),
    _format("azure_client_secret", "7Q~ 8Q~", r"[\w~.-]{31,34}(?![\w~-])", inside=frozenset()),
    _format("basic_auth", "Basic ", "[A-Za-z0-9+/]{8,200}={0,2}", check=is_basic, free=True),
    _format("twilio_key", "SK", "[0-9a-f]{32}" + _END),
    _format("sendgrid_key", "SG.", r"[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _format("mailgun_key", "key-", "[0-9a-f]{32}" + _END),
    _format("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}" + _END),
    _format("shopify_token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{32}" + _END),
    _format("square_token", "sq0atp- sq0csp- sq0idp-", r"[\w-]{22,43}"),
    _format("databricks_token", "dapi", "[0-9a-f]{32}" + _END),
    _format("vault_token", "hvs. hvb.", r"[\w-]{24,300}"),
    _format("atlassian_token", "ATATT3xFfGF0", r"[\w=-]{50,300}"),
    _format("linear_key", "lin_api_", "[A-Za-z0-9]{40}" + _END),
    _format("postman_key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}" + _END),
    _format("grafana_token", "glsa_", "[A-Za-z0-9]{32}_[0-9a-fA-F]{8}" + _END),
    _format("newrelic_key", "NRAK-", "[A-Z0-9]{27}" + _END),
    _format("telegram_token", ":AA", r"[\w-]{32,33}(?![\w-])", inside=frozenset()),
    _format("gitlab_runner_token", "GR1348941", r"[\w-]{20}(?![\w-])"),
    _format("google_refresh_token", "1//0", r"[\w-]{40,200}"),
    _format(
        "discord_webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        r"[0-9]{15,22}/[\w-]{60,80}",
    ),
    _format("sentry_token", "sntrys_ sntryu_", "[A-Za-z0-9+/=_]{40,300}"),
    _format("figma_token", "figd_", r"[\w-]{40,60}"),
    _format("notion_token", "ntn_", "[A-Za-z0-9]{40,60}" + _END),
    _format("notion_token", "secret_", "[A-Za-z0-9]{43}" + _END),
    _format("airtable_token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _END),
    _format("langsmith_key", "lsv2_pt_ lsv2_sk_", "[0-9a-f]{32}_[0-9a-f]{10}" + _END),
    _format("supabase_token", "sbp_", "[0-9a-f]{40}" + _END),
    _format("doppler_token", "dp.pt. dp.st. dp.ct. dp.sa.", r"[\w.-]{40,60}"),
    _format("pulumi_token", "pul-", "[0-9a-f]{40}" + _END),
    _format("planetscale_token", "pscale_pw_ pscale_tkn_ pscale_oauth_", r"[\w.=-]{32,64}"),
    _format("netlify_token", "nfp_", "[A-Za-z0-9]{36,60}" + _END),
    _format("tailscale_key", "tskey-", r"[a-z]{3,8}-\w{8,40}-\w{16,64}"),
    _format("onepassword_token", "ops_eyJ", r"[\w-]{100,2000}"),
    _format("terraform_token", ".atlasv1.", r"[\w-]{60,70}(?![\w-])", inside=frozenset()),
    _format("heroku_key", "HRKU-", r"[\w-]{36,80}"),
    _format("npmrc_token", "_authToken=", r"[\w-]{20,100}", inside=frozenset()),
    _format("fly_token", "FlyV1 ", r"fm[12]_[\w+/=,-]{40,2000}"),
    _format("nuget_key", "oy2", "[a-z0-9]{43}" + _END),
    _format("braintree_token", "access_token$production$", r"[0-9a-z]{16}\$[0-9a-f]{32}" + _END),
    _format("nvidia_key", "nvapi-", r"[\w-]{60,70}(?![\w-])"),
    _format("pinecone_key", "pcsk_", r"\w{40,80}"),
)
