"""Values from a file become a struct, or a complaint of one line: file, key, value found, value wanted."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from protoglot.errors import ConfigError, ProtoglotError

Made = TypeVar("Made", bound=msgspec.Struct)

FINITE = 1e300
"""A bound of numbers that keeps infinity out, and goes without saying."""

_PLACE = re.compile(r"(?: - at `\$((?:\.[\w-]+|\[\d+\]|\[\.\.\.\])*)`)?$")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")


def make_struct(
    values: Mapping[str, Any], kind: type[Made], *, name: str, complaint: type[ProtoglotError] = ConfigError
) -> Made:
    """A struct made of JSON or TOML values.

    Checks that a struct makes itself raise a ``ValueError`` that begins with the key.

    Args:
        values: from the file.
        kind: of the struct.
        name: of the file, for messages.
        complaint: kind of the error.

    Raises:
        ProtoglotError: at the first key that is unknown, missing, or has a value that is not what is wanted.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise complaint(f"{name}: {_complaint(error, values, inspect.type_info(kind))}") from error


def _complaint(error: msgspec.ValidationError, found: Any, wanted: inspect.Type) -> str:  # noqa: ANN401
    """What msgspec found wrong, by the key, with the value and all that could stand there."""
    match = _PLACE.search(str(error))
    key = ""
    whole_list: inspect.Type = wanted
    for name, index in _STEP.findall(match[1] or "" if match else ""):
        if name:
            wanted = whole_list = _fields(wanted)[name].type
            found, key = found[name], f"{key}.{name}"
        else:
            wanted = _part(wanted, inspect.VarTupleType).item_type
            found = found[int(index)]
            if isinstance(wanted, inspect.StructType):
                whole_list, key = wanted, f"{key}[{int(index) + 1}]"
    key = key.removeprefix(".")
    prefix = f"{key}." if key else ""
    if isinstance(error.__cause__, ValueError):
        return f"{prefix}{error.__cause__}"
    if isinstance(wanted, inspect.StructType) and isinstance(found, dict):
        fields = _fields(wanted)
        for unknown in found:
            if wanted.forbid_unknown_fields and unknown not in fields:
                shown = unknown if unknown.isprintable() else repr(unknown)
                return f"{prefix}{shown}: unknown; wanted {_nearest(unknown, list(fields))}"
        missing = next(name for name, field in fields.items() if field.required and name not in found)
        return f"{prefix}{missing}: missing; wanted {_describe(fields[missing].type, prefix + missing)}"
    if isinstance(wanted, inspect.LiteralType):
        return f"{key}: {_shorten(found)}; wanted {_nearest(found, [str(each) for each in wanted.values])}"
    return f"{key}: {_shorten(found)}; wanted {_describe(whole_list, key)}"


def _nearest(found: object, known: Sequence[str]) -> str:
    """The word that may have been meant, or all of them."""
    near = difflib.get_close_matches(str(found), known, n=1)
    return near[0] if near else f"one of {', '.join(known)}"


def _fields(wanted: inspect.Type) -> dict[str, inspect.Field]:
    return {field.encode_name: field for field in _part(wanted, inspect.StructType).fields}


def _part(wanted: inspect.Type, kind: type[Any]) -> Any:  # noqa: ANN401 - of this kind
    """The member of a union that has a kind, or the type itself."""
    members = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    return next(member for member in members if isinstance(member, kind))


def _describe(wanted: inspect.Type, key: str) -> str:
    """What a type admits, in words."""
    match wanted:
        case inspect.StructType():
            name, numbered, _ = key.partition("[")
            return f"a table, as in [[{name}]]" if numbered else f"a table, as in [{name}]"
        case inspect.VarTupleType(item_type=inspect.StructType()):
            return f"tables, as in [[{key}]]"
        case inspect.VarTupleType(item_type=inspect.LiteralType(values=values)):
            return f"a list of some of {', '.join(map(str, values))}, none twice"
        case inspect.VarTupleType(item_type=inspect.IntType() as item):
            return f"a list of different numbers, each {_describe(item, key)}"
        case inspect.VarTupleType(item_type=inspect.FloatType()):
            return "a list of numbers"
        case inspect.VarTupleType():
            return "a list of texts, none empty and none twice"
        case inspect.LiteralType(values=(str(word),)):
            return f'"{word}"'
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.IntType(ge=least, le=most):
            return f"a whole number from {least}" + (f" to {most}" if most is not None else "")
        case inspect.FloatType(ge=least, gt=above, lt=below):
            bounds = [("from", least), ("above", above), ("below", below if below != FINITE else None)]
            return "a number" + " and".join(f" {word} {bound:g}" for word, bound in bounds if bound is not None)
        case inspect.UnionType(types=types):
            return ", or ".join(_describe(each, key) for each in types if not isinstance(each, inspect.NoneType))
        case inspect.DictType(value_type=inspect.IntType() as value):
            return f"an object, each value {_describe(value, key)}"
        case inspect.DictType():
            return "an object"
        case inspect.StrType(pattern=None):
            return "a string"
        case _:
            return "a text in quotes, not empty"


def _shorten(value: object, length: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}..."
