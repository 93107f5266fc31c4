"""Secrets in texts: what is masked, what is not, where matches stand afterwards, and how long it may take. All tokens are invented."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepgrep.redact import RULES, masked, redact

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2mN5pQ8sT1vW4"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
PEM = "-----BEGIN {0}PRIVATE KEY-----\n" + (MIXED[:64] + "\n") * 4 + "-----END {0}PRIVATE KEY-----"

SECRETS = [
    ("private-key", PEM.format("RSA ")),
    ("private-key", PEM.format("")),
    ("private-key", PEM.format("OPENSSH ").replace("\n", "\\n")),
    ("private-key", PEM.format("EC ")[:150]),  # its end was cut off
    ("github-token", "ghp_" + MIXED[:36]),
    ("github-token", "github_pat_" + MIXED[:40]),
    ("gitlab-token", "glpat-" + MIXED[:20]),
    ("anthropic-key", "sk-ant-api03-" + MIXED[:90]),
    ("secret-key", "sk-proj-" + MIXED[:48]),
    ("secret-key", "sk-" + MIXED[:48]),
    ("stripe-key", "sk_live_" + MIXED[:24]),
    ("slack-token", "xoxb-123456789012-" + MIXED[:24]),
    ("slack-webhook", "T0ABCDEFG/B0ABCDEFG/" + MIXED[:24]),
    ("google-key", "AIza" + MIXED[:35]),
    ("npm-token", "npm_" + MIXED[:36]),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + MIXED[:60]),
    ("huggingface-token", "hf_" + LETTERS[:34]),
    ("aws-access-key", "AKIA" + "ABCDEFGH234567AB"),
    ("jwt", "eyJ" + MIXED[:30] + ".eyJ" + MIXED[:60] + "." + MIXED[:43]),
    ("sendgrid-key", "SG." + MIXED[:22] + "." + MIXED[:43]),
    ("telegram-token", "123456789:AA" + MIXED[:33]),
    ("digitalocean-token", "dop_v1_" + HEX),
    ("databricks-token", "dapi" + HEX[:32]),
    ("azure-secret", "aB1" + "8Q~" + MIXED[:32]),
    ("age-key", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"[:29] * 2),
]
AROUND = ["{}", "token {} here", '"{}"', "KEY={}\n", "https://hooks.slack.com/services/{}"]


@pytest.mark.parametrize(("name", "secret"), SECRETS)
def test_a_secret_is_masked_wherever_it_stands(name: str, secret: str) -> None:
    for around in AROUND[4:] if name == "slack-webhook" else AROUND[:4]:
        found = redact(around.format(secret))
        assert secret not in found.text
        assert f"[redacted: {name}]" in found.text or name == "slack-webhook"
        assert found.number == 1


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("postgres://ada:s3cr3t-w0rd@db.example.org/shop", "postgres://ada:", "s3cr3t-w0rd"),
        ("git clone https://ada:" + HEX[:40] + "@example.org/x.git", "https://ada:", HEX[:40]),
        ("Authorization: Bearer " + MIXED[:40], "Authorization: Bearer ", MIXED[:40]),
        ("curl -H 'X-Api-Key: " + MIXED[:32] + "'", "X-Api-Key: ", MIXED[:32]),
        ('"client_secret": "' + MIXED[:40] + '"', '"client_secret": "', MIXED[:40]),
        ("AWS_SECRET_ACCESS_KEY=" + MIXED[:40], "AWS_SECRET_ACCESS_KEY=", MIXED[:40]),
        ("api_key = '" + HEX[:32] + "'", "api_key = '", HEX[:32]),
        ("export DB_PASSWORD=Tr0ub4dor&3x", "export DB_PASSWORD=", "Tr0ub4dor&3x"),
    ],
)
def test_a_value_is_masked_and_its_name_kept(text: str, kept: str, gone: str) -> None:
    found = redact(text)
    assert kept in found.text
    assert gone not in found.text
    assert "[redacted: " in found.text


FALSE_ALARMS = [
    "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d",
    "session 5eed0000-0000-4000-8000-000000000001",
    "sk-learn-container-estimator-document-link and sk-SocketIO-notification-text",
    "token = get_token(request.headers['authorization'])",
    "api_key: str = os.environ['API_KEY']",
    "API_KEY=your-key-goes-here",
    "secret_key = settings.SECRET_KEY_FROM_ENVIRONMENT_1",
    "TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "password: str | None = None",
    "password = ********",
    "https://example.org:8080/a@b",
    "postgres://user:${DB_PASSWORD}@localhost/x",
    "https://user:<password>@example.org",
    "the token limit is 200000 and max_tokens=8000",
    "AKIAIOSFODNN7EXAMPLE",
    'grep "-----BEGIN RSA PRIVATE KEY-----" -r .',
    "if line.startswith('-----BEGIN PRIVATE KEY-----'): read until '-----END PRIVATE KEY-----'",
    "author: ada, keyboard: qwerty, monkey: 12345678901234567890",
    "cache_key = 'users/2026/01/31/page-0001-of-0999'",
    "integrity sha512-" + MIXED[:60],
    "data:image/png;base64," + MIXED[:90],
    "deepgrep ref codex.sessions:0123456789abcd:1f4.0:89abcd",
]


@pytest.mark.parametrize("text", FALSE_ALARMS)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert redact(text).text == text


def test_matches_stand_where_they_stood() -> None:
    secret = "ghp_" + MIXED[:36]
    text = f"ferry {secret} ferry {secret} end"
    spans = tuple((at, at + 5) for at in (0, text.index("ferry", 10)))
    inside = (text.index(secret) + 4, text.index(secret) + 8)
    found = redact(text)
    moved = found.spans((*spans[:1], inside, *spans[1:]))
    assert [found.text[low:high] for low, high in moved] == ["ferry", "[redacted: github-token]", "ferry"]


@given(st.text(max_size=60), st.sampled_from(SECRETS), st.text(max_size=60))
def test_every_span_still_fits(before: str, secret: tuple[str, str], after: str) -> None:
    text = f"{before} {secret[1]} {after}"
    found = redact(text)
    spans = found.spans(tuple((at, at + 1) for at in range(0, len(text), 3)))
    assert all(0 <= low < high <= len(found.text) for low, high in spans)
    outside = [(at, at + 1) for at in range(len(text)) if all(at < low or at >= high for low, high, *_ in found.cuts)]
    assert all(found.text[found.place(low)] == text[low] for low, _ in outside)


def test_a_document_is_masked_with_its_spans() -> None:
    secret = "ghp_" + MIXED[:36]
    out, number = masked({"text": f"{secret} ferry", "spans": [[41, 46]], "title": secret, "n": 3, "list": [secret, None]})
    assert number == 3
    assert out["text"][slice(*out["spans"][0])] == "ferry"  # type: ignore[index]
    assert secret not in repr(out)


@pytest.mark.parametrize(
    "piece",
    ["-----BEGIN RSA PRIVATE KEY-----\n", "token=", "-eyJ", "a://", "key = '", "password: ", "Bearer ", "A", "sk-", "token" + " " * 50],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    began = time.monotonic()
    redact(text)
    assert time.monotonic() - began < 8


def test_every_rule_names_a_literal_that_its_matches_hold() -> None:
    assert all(rule.literals and all(rule.literals) for rule in RULES)
