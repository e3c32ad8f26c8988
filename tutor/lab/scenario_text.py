"""A scenario as text: its fields with their places in the text, so that a form and an editor show one and the same.

A form changes the characters of one value and leaves comments and layout as the person wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from sim import Scenario

SOURCE: Final = "scenario"
"""What errors call the text being written."""
MAX_CHARS: Final = 200_000
"""Longest text that the lab edits; a longer one is a file for the command line."""
STARTER: Final = """\
# What this scenario is to show, in one line.
name: My scenario
seed: 1
classes:
  - name: chat
    prompt_tokens: {dist: lognormal, median_tokens: 300, sigma: 0.6, max_tokens: 4000}
    output_tokens: 200
    arrivals: {kind: poisson, rate_per_s: 10, count: 1500}
    slo: {ttft_s: 0.5, itl_s: 0.05}
server: {policy: vllm, max_seqs: 64, token_budget: 2048, kv_blocks: 6000}
step_cost: {kind: preset, name: h100-llama-3.1-8b}
"""
"""What a new scenario begins with."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of the text."""

    path: str
    """`server.max_seqs`, `classes.chat.arrivals.rate_per_s`: entries of lists by name, else by place."""
    location: tuple[int | str, ...]
    """The same with places for all entries, as errors have it."""
    text: str
    """As written."""
    start: int
    end: int
    """Half-open range of characters."""
    line: int
    """Counted from 1."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a text says: a scenario, or one sentence about why it is none."""

    scenario: Scenario | None
    sentence: str = ""
    line: int | None = None
    path: str = ""
    """The field that the sentence is about, as `Leaf.path` has it; empty when it is about none."""


def check(text: str, folder: Path | None = None) -> Checked:
    """Read the text; never raises. `folder` is where paths of recorded traces start."""
    from sim import ScenarioError
    from sim.loading import read_scenario

    if len(text) > MAX_CHARS:
        return Checked(None, f"The text has {len(text):,} characters; the lab edits up to {MAX_CHARS:,}.")
    try:
        return Checked(read_scenario(text, SOURCE, folder))
    except ScenarioError as error:
        sentence = str(error).removeprefix(SOURCE).lstrip(":, ")
        return Checked(None, sentence, error.line, path_of(text, error.location))


def leaves(text: str) -> list[Leaf] | None:
    """Every value of the text in its order; None when the text is no YAML."""
    node = _compose(text)
    return None if node is None else list(_leaves(node, text, (), ()))


def path_of(text: str, location: tuple[int | str, ...]) -> str:
    """A location with entries of lists by their names where they have one."""
    node, parts = _compose(text), []
    for part in location:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            parts.append(_name_of(node) or str(part))
        else:
            parts.append(str(part))
            node = _child(node, part)
    return ".".join(parts)


def replaced(text: str, leaf: Leaf, value: str) -> str:
    """The text with another value in a leaf's place."""
    return text[: leaf.start] + spaced(text, leaf, value) + text[leaf.end :]


def spaced(text: str, leaf: Leaf, value: str) -> str:
    """The value as it goes into a leaf's place: an empty place directly after a colon needs a blank first."""
    needs_blank = leaf.start == leaf.end and text[leaf.start - 1 : leaf.start] == ":"
    return f" {value}" if needs_blank and value else value


def with_field(text: str, path: str, value: str) -> str:
    """The text with a field set that may not stand in it yet. Comments stay.

    Raises:
        ValueError: the path leads into a value, or to an entry that does not exist; one sentence.
    """
    for leaf in leaves(text) or ():
        if leaf.path == path:
            return replaced(text, leaf, value)
    node = _compose(text)
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("The text is no YAML mapping; mend it first.")
    parts = path.split(".")
    if not all(part.strip() == part and part for part in parts):
        raise ValueError(f"“{path}” is no path. Write it as server.max_seqs or classes.chat.slo.ttft_s.")
    for depth, part in enumerate(parts):
        inside = _child(node, part)
        if inside is None:
            if not isinstance(node, yaml.MappingNode):
                raise ValueError(f"There is no {'.'.join(parts[: depth + 1])}; an entry of a list has to be there.")
            return _inserted(text, node, parts[depth:], value)
        node = inside
    return text[: node.start_mark.index] + value + text[_end(node, text) :]


def _inserted(text: str, node: yaml.MappingNode, parts: list[str], value: str) -> str:
    """A new key at the end of a mapping; keys below it are written in braces."""
    for part in reversed(parts[1:]):
        value = f"{{{part}: {value}}}"
    entry = f"{parts[0]}: {value}"
    if node.flow_style:
        at = node.end_mark.index - 1
        return f"{text[:at].rstrip()}{', ' if node.value else ''}{entry}{text[at:]}"
    indent = " " * node.value[0][0].start_mark.column
    at = _end(node.value[-1][1], text)
    line_end = text.find("\n", at)
    at = len(text) if line_end < 0 else line_end
    return f"{text[:at]}\n{indent}{entry}{text[at:]}"


def _compose(text: str) -> yaml.Node | None:
    from sim.loading import compose_yaml

    return compose_yaml(text)


def _leaves(node: yaml.Node, text: str, path: tuple[str, ...], location: tuple[int | str, ...]) -> Iterator[Leaf]:
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, inside in node.value:
            name = str(key.value)
            yield from _leaves(inside, text, (*path, name), (*location, name))
    elif isinstance(node, yaml.SequenceNode) and any(not isinstance(one, yaml.ScalarNode) for one in node.value):
        for number, inside in enumerate(node.value):
            name = _name_of(inside) or str(number)
            yield from _leaves(inside, text, (*path, name), (*location, number))
    elif path and not (isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")):
        start, end = node.start_mark.index, _end(node, text)
        if start == end and text[start : start + 1] == " ":
            start = end = start + 1  # an empty value stands before the blank that follows its colon
        yield Leaf(".".join(path), location, text[start:end], start, end, node.start_mark.line + 1)


def _end(node: yaml.Node, text: str) -> int:
    """Where a value ends; a block reaches for PyYAML up to the next key, across blank lines and comments."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    end = int(node.end_mark.index)
    return node.start_mark.index + len(text[node.start_mark.index : end].rstrip())


def _child(node: yaml.Node | None, part: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((inside for key, inside in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode):
        for number, inside in enumerate(node.value):
            if str(part) in (_name_of(inside), str(number)):
                return inside  # type: ignore[no-any-return]
    return None


def _name_of(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "name" and isinstance(value, yaml.ScalarNode) and "." not in value.value:
                return str(value.value)
    return ""
