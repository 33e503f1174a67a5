"""Matches of the project's own enums name every variant: where clippy sees them, and inside tuples, options and the like.

Clippy's lint is an error, and what expects it all the same matches a type of somebody else's: `FOREIGN` names each. Clippy's `wildcard_enum_match_arm` sees a match of an enum, and not one of `(Kind, Option<Call>)`: there `_ =>` would take a new variant
together with others, and nobody would be asked. Refused is, read as text, an arm without a guard that is `_`, a tuple of nothing else
(`(_, number)`), or `Some(_)`, `Ok(_)`, `Err(_)`, in a match of which another arm names a variant of one of the project's enums within something else
(of the same `Some`, `Ok` or `Err`). What hands the rest on by a name, or ends the program with it, answers for it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "crates").rglob("*.rs"))

#: Where the rest may be taken together: the file and the function, and why.
EXCEPTIONS: dict[tuple[str, str], str] = {}

#: Types of others of which a few variants are asked for and the rest is taken together, and why.
FOREIGN = {
    "Errno": "there are more than a hundred of the system's errors, and two that say something of a process",
    "ColumnReader": "a reader of Parquet may have columns of any type, and a trace's are of integers",
}

#: What is not code: comments, texts (also raw ones), letters; not lifetimes.
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\u\{\w+\}|\\x\w\w|\\.|[^'\\])'""", re.DOTALL)
REST = r"(?:_\w*|\.\.)"
WHOLE = re.compile(rf"{REST}|\((?:(?:ref )?(?:mut )?[a-z]\w*, ?)*{REST}(?:, ?(?:{REST}|[a-z]\w*))*,?\)")
INSIDE = {"Some", "Ok", "Err"}
#: Not a constant, which is in capitals alone.
VARIANT = re.compile(r"\b([A-Z]\w*)::([A-Z](?:\w*[a-z]\w*)?)\b(?!::)")
ENDS = re.compile(r"panic!|unreachable!|(?:protocol::)?unexpected\(")


def blanked(text: str) -> str:
    """Code alone, each line where it was."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def reach(code: str, at: int, end: str) -> int:
    """Where `end` stands outside brackets, from `at`; or the bracket that closes what is around; or the end."""
    depth = 0
    while at < len(code):
        if depth == 0 and end and code.startswith(end, at):
            return at
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth < 0:
            return at
        at += 1
    return at


def after(code: str, at: int, skipped: str) -> int:
    """The first place from `at` that has none of these."""
    while at < len(code) and code[at] in skipped:
        at += 1
    return at


def arms(code: str, at: int) -> Iterator[tuple[int, str, str]]:
    """Where each arm of a match has its arrow, its pattern with its guard, and how its value begins; from its first arm on."""
    while code.startswith("=>", arrow := reach(code, at, "=>")):
        pattern = re.sub(r"#\[[^\]]*\]", " ", code[at:arrow])
        value = after(code, arrow + 2, " \n")
        block = code.startswith("{", value)
        begin = after(code, value, "{ \n")
        yield arrow, " ".join(pattern.split()), code[begin : begin + 30]
        at = after(code, reach(code, value + 1, "") + 1, ", \n") if block else reach(code, value, ",") + 1


def alternatives(pattern: str) -> list[str]:
    """What stands between the bars of a pattern."""
    found, at = [], 0
    while at < len(pattern):
        end = reach(pattern, at, "|")
        found.append(pattern[at:end].strip())
        at = end + 1
    return [one for one in found if one]


def takes_the_rest(pattern: str, named_inside: set[str]) -> bool:
    head, _, inner = pattern.partition("(")
    if head in INSIDE:
        return head in named_inside and bool(WHOLE.fullmatch(inner.removesuffix(")")))
    return bool(WHOLE.fullmatch(pattern))


def hidden(code: str, enums: set[str]) -> Iterator[tuple[int, str]]:
    """The arms that take the rest of the project's variants: where they are, and their patterns."""
    for match in re.finditer(r"\bmatch\b", code):
        body = reach(code, match.end(), "{")
        found = list(arms(code, body + 1)) if code.startswith("{", body) else []
        patterns = [one for _, pattern, _ in found for one in alternatives(pattern.split(" if ")[0])]
        # A variant that is the pattern's own head is clippy's to see.
        within = [one for one in patterns if not VARIANT.match(one)]
        naming = [one for one in within if any(name in enums for name, _ in VARIANT.findall(one))]
        inside = {one.partition("(")[0] for one in naming}
        for at, pattern, value in found if naming else []:
            if " if " not in pattern and not ENDS.match(value) and any(takes_the_rest(one, inside) for one in alternatives(pattern)):
                yield at, pattern


LINT = re.compile(r"\bwildcard_enum_match_arm\b")
#: An attribute of a function, as it stands in code alone.
EXPECTED = re.compile(r"#\[expect\(\s*clippy::wildcard_enum_match_arm,[^\]]*\]\s*(?:pub(?:\([^)]*\))? )?fn (\w+)")


def matched(code: str) -> set[str]:
    """The types that matches name by their variants."""
    found = set()
    for match in re.finditer(r"\bmatch\b", code):
        body = reach(code, match.end(), "{")
        for _, pattern, _ in arms(code, body + 1) if code.startswith("{", body) else ():
            # Theirs may be in capitals alone.
            found |= set(re.findall(r"\b([A-Z]\w*)::[A-Z]", pattern.split(" if ")[0]))
    return found


def lifted(code: str) -> Iterator[tuple[str, set[str]]]:
    """The functions that expect the lint, and whose variants they match; a mention of the lint anywhere else, without a type."""
    for expected in EXPECTED.finditer(code):
        begin = code.index("{", reach(code, expected.end(), "{"))
        yield expected.group(1), matched(code[begin : reach(code, begin + 1, "")])
    if len(LINT.findall(code)) > len(EXPECTED.findall(code)):
        yield "elsewhere", set()


def test_the_lint_is_lifted_for_types_of_others_alone() -> None:
    texts = {str(path.relative_to(ROOT)): blanked(path.read_text()) for path in SOURCES}
    own = {name for code in texts.values() for name in re.findall(r"\benum (\w+)", code)}
    assert len(own) > 100 and not own & set(FOREIGN)
    found = {(name, function): types for name, code in texts.items() for function, types in lifted(code)}
    refused = [f"{name}: {function}: matches {', '.join(sorted(types)) or 'nothing that was found'}: name the variants" for (name, function), types in found.items() if not types or types - set(FOREIGN)]
    assert not refused, "\n".join(refused)
    assert set().union(*found.values()) == set(FOREIGN), "a type that nobody asks"
    for path in ROOT.joinpath("crates").rglob("Cargo.toml"):
        assert "[lints]\nworkspace = true\n" in path.read_text() + "\n" and not LINT.search(path.read_text()), path


EXPECT = '#[expect(clippy::wildcard_enum_match_arm, reason = "any")]\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (EXPECT + "fn f(k: Kind) { match k { Kind::Call => 1, _ => 2 } }\nfn g() { match a { Msg::Wake => 1 } }", ("f", {"Kind"})),
        (EXPECT + "pub(crate) fn f<'a>(k: &'a K) -> R { go(|k| match k { Errno::ESRCH | K::A { .. } => { 1 } other => 2 }) }", ("f", {"Errno", "K"})),
        ("#![expect(clippy::wildcard_enum_match_arm)]\nfn f() {}", ("elsewhere", set())),
        ("#[allow(clippy::wildcard_enum_match_arm)]\nfn f() { match k { Errno::ESRCH => 1, _ => 2 } }", ("elsewhere", set())),
    ],
)
def test_what_lifts_the_lint_is_found(text: str, found: tuple[str, set[str]]) -> None:
    assert list(lifted(blanked(text))) == [found]


def test_no_match_takes_the_projects_variants_together_inside_something_else() -> None:
    texts = {str(path.relative_to(ROOT)): blanked(path.read_text()) for path in SOURCES}
    enums = {name for code in texts.values() for name in re.findall(r"\benum (\w+)", code)}
    refused, used = [], set()
    for name, code in texts.items():
        for at, pattern in hidden(code, enums):
            # The last that begins before it.
            place = (name, re.findall(r"\bfn (\w+)", code[:at])[-1])
            used.add(place)
            if place not in EXCEPTIONS:
                refused.append(f"{name}:{code.count(chr(10), 0, at) + 1}: {place[1]}: `{pattern} =>`: name the variants")
    assert not refused, "\n".join(refused)
    assert used == set(EXCEPTIONS), "an exception that nothing needs"


@pytest.mark.parametrize("rest", ["_ => {}", "_ => { go(|a| a, 'x') }", "_other => 1,", "Some(_) | None => {}", "None => {} Some(_) => {}", "#[allow(x)] _ => 2"])
def test_what_hides_variants_is_found(rest: str) -> None:
    code = blanked(f"fn f<'a>() {{ match call(|x| {{ x }})? {{ Some(Call::Write | Call::Msync) if a => {{ 1 }} // _ =>\n {rest} }} }}")
    assert len(list(hidden(code, {"Call"}))) == 1
    assert list(hidden(code, {"Msg"})) == []


@pytest.mark.parametrize("rest", ["(_, _) => {}", "(Some(Call::Sync), _) => {} (_, n) => n,", "(n, _) => n", "_ => match x { Some(Call::Sync) => panic!(), y => y }"])
def test_what_hides_variants_of_a_tuple_is_found(rest: str) -> None:
    assert len(list(hidden(f"match (a, b) {{ (Some(Call::Write), 3) => f::<A>(), {rest} }}", {"Call"}))) == 1


@pytest.mark.parametrize(
    "arms",
    [
        "Some(Call::Write) => 1, None | Some(Call::Sync) => 2",
        "Some(Call::Write) => 1, other => panic!()",
        "Some(Call::Write) => 1, _ => unreachable!()",
        "Ok(Call::Write) => 1, Ok(call) => go(call), Err(_) => 2",
        "_ if a => 1, Some(Call::Write) => 2, None | Some(Call::Sync) => 2",
        "Some(Call::BYTES) => 1, _ => 2",
        "Some(3) => Some(Call::Write), _ => None",
        "Call::Write => 1, _ => 2",
        "(Call::Write, _) | (_, Call::Write) => 1, (Call::Sync, Call::Sync) => 2",
    ],
)
def test_what_names_or_answers_for_all_is_accepted(arms: str) -> None:
    assert list(hidden(f"match x {{ {arms} }}", {"Call"})) == []
