"""Secrets in texts, masked for machine readers: private keys, tokens, key-shaped values, passwords in URLs. Pure.

A table of our own, because no library fits: detect-secrets names lines and hashes, not spans, needs two more packages and
takes its entropy rules for whole files; the rule sets of gitleaks and trufflehog are programs in Go. The shapes of tokens
are what their issuers document (GitHub, GitLab, Slack, Stripe, OpenAI, Anthropic, AWS, Google, npm, PyPI and so on) and
agree with gitleaks 8's rules of the same names; docs/mcp.md says what they find and what they cannot. A rule runs only
where one of its literals stands in the text, and no pattern can take more than linear time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

from .typed import NamedTuple

MARGIN = 32_768  # a text may be cut this far from what is shown: no secret that the table knows is longer


class Rule(NamedTuple):
    """One kind of secret. `literals`: every match begins at one of them, or (`anywhere`) only holds one.

    Group 1, or all of a match, is masked. `after`: what must stand before the literal, asked of the 16 characters before it.
    """

    name: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = lambda value: True
    after: re.Pattern[str] = re.compile(r"(?:^|[^A-Za-z0-9_])$")
    anywhere: bool = False
    folded: bool = False  # the literals are in lower case and stand for either


def _entropy(value: str) -> float:
    """Shannon's, in bits for each character."""
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())


def _mixed(value: str) -> bool:
    """Letters of both cases and digits: not a name, not a number, not a word with dashes."""
    return any(c.isdigit() for c in value) and any(c.islower() for c in value) and any(c.isupper() for c in value)


_PLACEHOLDER = re.compile(
    r"(?i)(?:example|sample|placeholder|changeme|change_me|redacted|dummy|your[_-]|my[_-]|<[^>]*>|\$\{?\w|\{\{|%[a-z_]+%|\*{3}|\.{3}|x{6}|0{8}|1234567)"
)


def _key_shaped(value: str) -> bool:
    """Random enough to be a key: long, letters and digits, 3.5 bits a character (gitleaks' bound), no placeholder, no path, no name."""
    if _PLACEHOLDER.search(value) or value.count("/") > 2 or value.count(".") > 2 or not re.search(r"\d", value):
        return False
    if re.fullmatch(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value):  # ids are not secrets
        return False
    if re.fullmatch(r"[0-9A-F]+|[0-9a-f]+", value):
        return len(value) >= 32 and _entropy(value) > 3.0
    words = [part for part in re.split(r"[-_.:/+=]", value) if part]
    longest = max(words, key=len, default="")
    return len(longest) >= 12 and any(c.isdigit() for c in longest) and any(c.isalpha() for c in longest) and _entropy(value) > 3.5


def _password(value: str) -> bool:
    return not _PLACEHOLDER.search(value) and not re.fullmatch(r"[\[({].*|.*[\])}]|x+|\*+|-+", value)


def _strong(value: str) -> bool:
    """A password written down as a value: letters, digits, and either both cases or a sign."""
    if _PLACEHOLDER.search(value) or re.search(r"[()\[\]{}<>]", value):
        return False
    kinds = sum(re.search(kind, value) is not None for kind in ("[0-9]", "[a-z]", "[A-Z]", r"\W|_"))
    return kinds >= 3 and _entropy(value) > 2.5


# What makes a key a secret one; `token`, `secret` and `credential` say so by themselves, unless they end another word.
_SAYS_KEY = re.compile(r"(?i)(?:api|access|auth|secret|private|signing|encryption|client|account|service|shared|master)[_-]?$")
_BEGINS = re.compile(r"(?i)(?:^|[^a-z]|access|auth|client|api|bearer|refresh|id|session|bot)$")
_ANYTHING = re.compile("")
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}  # keeps every place, which lower() does not

# Tokens that tell by their own shape: name, a literal that each holds, the whole of it.
_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}(?:\.[A-Za-z0-9_-]{0,2000})?"),
    *(("github-token", f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{36,255}}") for kind in "pousr"),
    ("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    *(
        ("gitlab-token", f"gl{kind}-", rf"gl{kind}-[A-Za-z0-9_.-]{{20,300}}")
        for kind in ("pat", "dt", "rt", "ptt", "cbt", "soat", "ft", "imt", "agent", "oas", "ffct")
    ),
    ("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,200}"),
    *(("stripe-key", f"{kind}_", rf"{kind}_(?:test|live|prod)_[A-Za-z0-9]{{10,255}}") for kind in ("sk", "rk")),
    ("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,100}"),
    ("slack-token", "xox", r"xox[abeoprs]-(?=[A-Za-z-]*\d)[0-9A-Za-z-]{10,255}"),
    ("slack-token", "xoxe.", r"xoxe\.xox[bp]-\d-[A-Za-z0-9]{100,255}"),
    ("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,255}"),
    ("google-key", "AIza", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    ("google-key", "ya29.", r"ya29\.[0-9A-Za-z_-]{20,1000}"),
    ("google-key", "GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{28}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    ("huggingface-token", "hf_", r"hf_[A-Za-z]{34}(?![A-Za-z])"),
    ("huggingface-token", "api_org_", r"api_org_[A-Za-z]{34}(?![A-Za-z])"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    ("nvidia-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{60,80}"),
    ("tavily-key", "tvly-", r"tvly-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{20,60}"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    *(("digitalocean-token", f"do{kind}_v1_", rf"do{kind}_v1_[a-f0-9]{{64}}") for kind in "opr"),
    ("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    ("vault-token", "hvs.", r"hvs\.[A-Za-z0-9_-]{24,300}"),
    ("vault-token", "hvb.", r"hvb\.[A-Za-z0-9_-]{24,300}"),
    ("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{20,100}"),
    ("supabase-token", "sbp_", r"sbp_[a-f0-9]{40}"),
    ("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36}"),
    ("docker-token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    ("heroku-key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,80}"),
    ("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}"),
    ("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    ("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}"),
    ("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{100,250}"),
    ("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    ("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,50}"),
    ("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    ("grafana-token", "glc_", r"glc_[A-Za-z0-9+/]{32,400}={0,3}"),
    ("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{40}"),
    ("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{40,200}"),
    ("square-token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    ("onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{250,}={0,3}"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9a-f])"),
    ("mailgun-key", "key-", r"key-[0-9a-f]{32}(?![0-9a-f])"),
    ("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
)

_QUOTES = r"[\"'`\\\]]{0,3}"
_SETS = r"\s{0,4}(?::=|=>|[:=])\s{0,4}"
_ASSIGNED = rf"\w{{3,10}}[\w.-]{{0,20}}{_QUOTES}{_SETS}(?:\w{{0,4}}[\"'`\\]{{1,3}})?([A-Za-z0-9_+/=~.-]{{16,500}})(?![A-Za-z0-9_(\[])"
RULES: tuple[Rule, ...] = (
    *(Rule(name, (literal,), re.compile(shape)) for name, literal, shape in _SHAPES),
    Rule(
        "secret-key", ("sk-",), re.compile(r"sk-(?!ant-)(?:proj-|svcacct-|admin-|or-v1-|live-|test-)?[A-Za-z0-9_-]{20,250}"),
        lambda value: _mixed(value) or bool(re.search(r"[0-9a-f]{32}", value)), re.compile(r"(?:^|[^A-Za-z0-9_-])$"),
    ),
    Rule(
        "aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), re.compile(r"A[KSBC][IC]A[A-Z2-7]{16}(?![A-Za-z0-9])"),
        lambda value: not value.endswith("EXAMPLE"),  # as in Amazon's documents
    ),
    Rule(
        "slack-webhook", ("hooks.slack.com/",),
        re.compile(r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100})"), after=_ANYTHING,
    ),
    Rule("discord-webhook", ("/api/webhooks/",), re.compile(r"/api/webhooks/(\d{17,20}/[A-Za-z0-9_-]{50,100})"), after=_ANYTHING),
    Rule("telegram-token", (":AA",), re.compile(r"(?<![\d:])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"), anywhere=True),
    Rule("terraform-token", (".atlasv1.",), re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}"), anywhere=True),
    Rule(
        "azure-secret", ("Q~",),
        re.compile(r"(?<![A-Za-z0-9_~.])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])"), anywhere=True,
    ),
    Rule("azure-account-key", ("AccountKey=", "SharedAccessKey="), re.compile(r"\w+=([A-Za-z0-9+/]{40,88}={0,2})"), after=_ANYTHING),
    Rule(
        "url-password", ("://",), re.compile(r"://[^\s/:@\"'`<>|\\]{0,100}:([^\s/@\"'`<>|\\]{1,200})@(?=[\w\[.-])"), _password,
        re.compile(r"[A-Za-z0-9+.-]$"),
    ),
    Rule(
        "authorization", ("bearer", "basic", "authorization", "x-api-key"),
        re.compile(
            rf"(?i)(?:bearer|basic|authorization{_QUOTES}{_SETS}[\"']?(?:token)?|x-api-key{_QUOTES}{_SETS})"
            r"\s{0,4}[\"']?([A-Za-z0-9._~+/=-]{16,2000})"
        ),
        lambda value: _key_shaped(value.rstrip("=")), folded=True,
    ),
    Rule("key-value", ("key",), re.compile(_ASSIGNED), _key_shaped, _SAYS_KEY, folded=True),
    Rule("key-value", ("token", "secret", "credential"), re.compile(_ASSIGNED), _key_shaped, _BEGINS, folded=True),
    Rule(
        "password-value", ("passw", "passphrase", "pwd"),
        re.compile(rf"(?i)(?:passw(?:or)?d|passphrase|pwd){_QUOTES}{_SETS}[\"'`\\]{{0,3}}([^\s\"'`\\,;]{{8,128}})"),
        _strong, _ANYTHING, folded=True,
    ),
)  # fmt: skip

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[A-Za-z0-9+/=]{40,}")
_CUT_BODY = re.compile(r"(?:(?:\\[nr]|[\s\"'+,])*[A-Za-z0-9+/=]{16,})+")
_KEY_LENGTH = 20_000  # characters of a private key: an RSA key of 16,384 bits has 12,700


class Redacted(NamedTuple):
    """A text with its secrets masked. `cuts`: where they stood, and where their marks stand now."""

    text: str
    cuts: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def number(self) -> int:
        """How many secrets were masked."""
        return len(self.cuts)

    def place(self, at: int, *, end: bool = False) -> int:
        """Where a place of the original stands now; one inside a secret goes to the edge of its mark."""
        shift = 0
        for low, high, new_low, new_high in self.cuts:
            if at <= low:
                break
            if at < high:
                return new_high if end else new_low
            shift = new_high - high
        return at + shift

    def spans(self, spans: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Spans of the original where they stand now; one inside a secret covers its mark. No two overlap."""
        out: list[tuple[int, int]] = []
        for low, high in spans:
            start, stop = self.place(low), self.place(high, end=True)
            if stop > start and (not out or start >= out[-1][1]):
                out.append((start, stop))
        return tuple(out)


def redact(text: str) -> Redacted:
    """The text with a mark such as `[redacted: github-token]` in the place of each secret."""
    found = sorted(_found(text))
    if not found:
        return Redacted(text)
    pieces: list[str] = []
    cuts: list[tuple[int, int, int, int]] = []
    at = length = 0
    for low, high, name in found:
        if low < at:
            continue
        mark = f"[redacted: {name}]"
        pieces += [text[at:low], mark]
        length += low - at + len(mark)
        cuts.append((low, high, length - len(mark), length))
        at = high
    return Redacted("".join([*pieces, text[at:]]), tuple(cuts))


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    yield from _private_keys(text)
    folded = text.translate(_LOWER)
    for rule in RULES:
        where = folded if rule.folded else text
        for literal in rule.literals:
            if literal in where:
                for match in _matches(rule, literal, text, where):
                    group = match.lastindex or 0
                    if rule.holds(match[group]):
                        yield match.start(group), match.end(group), rule.name


def _matches(rule: Rule, literal: str, text: str, where: str) -> Iterator[re.Match[str]]:
    if rule.anywhere:
        yield from rule.pattern.finditer(text)
        return
    at = where.find(literal)
    while at >= 0:
        match = rule.pattern.match(text, at) if rule.after.search(text[max(0, at - 16) : at]) else None
        if match:
            yield match
        at = where.find(literal, match.end() if match else at + len(literal))


def _private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Keys between their lines; of one whose end is missing, what looks like its body."""
    if "PRIVATE KEY" not in text:
        return
    begins = list(_BEGIN.finditer(text))
    ends = [match.end() for match in _END.finditer(text)]
    for number, begin in enumerate(begins):
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        while ends and ends[0] <= begin.end():
            ends.pop(0)
        if ends and ends[0] <= min(limit, begin.end() + _KEY_LENGTH):
            if _BODY.search(text, begin.end(), ends[0]):
                yield begin.start(), ends[0], "private-key"
        elif (body := _CUT_BODY.match(text, begin.end(), min(limit, begin.end() + _KEY_LENGTH))) and len(body[0]) >= 40:
            yield begin.start(), body.end(), "private-key"


def masked(value: object) -> tuple[object, int]:
    """A JSON value with the secrets in all of its strings masked, spans beside a text moved, and how many there were."""
    if isinstance(value, str):
        found = redact(value)
        return found.text, found.number
    if isinstance(value, list):
        items = [masked(one) for one in value]
        return [one for one, _ in items], sum(count for _, count in items)
    if not isinstance(value, dict):
        return value, 0
    pairs = {key: masked(one) for key, one in value.items()}
    out = {key: one for key, (one, _) in pairs.items()}
    text, spans = value.get("text"), value.get("spans")
    if isinstance(text, str) and isinstance(spans, list) and pairs["text"][1]:
        out["spans"] = [list(span) for span in redact(text).spans(tuple((low, high) for low, high in spans))]
    return out, sum(count for _, count in pairs.values())
