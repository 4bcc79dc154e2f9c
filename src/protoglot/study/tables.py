"""Strict reading of TOML tables: every key is asked for by name and type, and no other may be there."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from protoglot.errors import ConfigError

_LARGEST = 1e300


class Table:
    """A table of a configuration file.

    Each method takes one key and checks its value; without a default the key must be there. Call :meth:`finish`
    when all keys have been asked for.

    Args:
        values: the table as tomllib gives it.
        name: of the file, for messages.
        prefix: keys that lead to this table, joined by dots.
    """

    def __init__(self, values: Mapping[str, Any], *, name: str, prefix: str = "") -> None:
        self._values, self._name, self._prefix = values, name, prefix
        self._known: list[str] = []

    def name_of(self, key: str) -> str:
        """A key as messages name it."""
        return f"{self._name}: {self._prefix}{key}"

    def get(self, key: str) -> object:
        """The value of a key as it is, ``None`` if it is not there."""
        self._known.append(key)
        return self._values.get(key)

    def finish(self) -> None:
        """Refuse keys that nobody asked for.

        Raises:
            ConfigError: naming the nearest known key.
        """
        for key in self._values:
            if key not in self._known:
                known = list(dict.fromkeys(self._known))
                near = difflib.get_close_matches(key, known, n=1)
                wanted = near[0] if near else f"one of {', '.join(known)}"
                raise ConfigError(f"{self.name_of(key)}: unknown; wanted {wanted}")

    def string(self, key: str, *, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self._value(key, default, "a text in quotes")
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(key, value, "a text in quotes, not empty")
        return value

    def optional_string(self, key: str) -> str | None:
        """A text, if it is there."""
        return self.string(key) if self.get(key) is not None else None

    def choice(self, key: str, known: Sequence[str], *, default: str) -> str:
        """One of some words."""
        value = self._value(key, default, f"one of {', '.join(known)}")
        if value not in known:
            raise self._wrong(key, value, f"one of {', '.join(known)}")
        return str(value)

    def strings(self, key: str, *, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of texts, none twice."""
        wanted = "a list of texts, none empty and none twice"
        value = self._value(key, default, wanted)
        if value == () and default == ():
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
            raise self._wrong(key, value, wanted)
        if len(set(value)) != len(value):
            raise self._wrong(key, value, wanted)
        return tuple(value)

    def optional_strings(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, if it is there and is not the word ``all``."""
        value = self.get(key)
        if value is None or value == "all":
            return None
        if isinstance(value, str) or value == []:
            raise self._wrong(key, value, 'a list of texts, or "all"')
        return self.strings(key)

    def choices(
        self, key: str, known: Sequence[str], *, default: tuple[str, ...] | None = None
    ) -> tuple[str, ...]:
        """A list of some words, none twice and at least one, unless the default is none."""
        found = self.strings(key, default=default)
        if not found and default is None:
            raise self._wrong(key, [], f"some of {', '.join(known)}")
        for each in found:
            if each not in known:
                near = difflib.get_close_matches(each, known, n=1)
                raise self._wrong(key, each, near[0] if near else f"some of {', '.join(known) or 'none'}")
        return found

    def integer(
        self,
        key: str,
        *,
        least: int,
        most: int | None = None,
        default: int | None = None,
        wanted: str | None = None,
    ) -> int:
        """A whole number within bounds."""
        wanted = wanted or _range_of_integers(least, most)
        return self._check_integer(key, self._value(key, default, wanted), least, most, wanted)

    def optional_integer(self, key: str, *, least: int) -> int | None:
        """A whole number, if it is there."""
        return self.integer(key, least=least) if self.get(key) is not None else None

    def integers(
        self, key: str, *, least: int, most: int | None = None, default: tuple[int, ...] | None = None
    ) -> tuple[int, ...]:
        """A list of whole numbers within bounds, none twice and at least one."""
        wanted = f"a list of different numbers, each {_range_of_integers(least, most)}"
        value = self._value(key, default, wanted)
        if not isinstance(value, list | tuple) or not value:
            raise self._wrong(key, value, wanted)
        for each in value:
            self._check_integer(key, each, least, most, wanted)
        if len(set(value)) != len(value):
            raise self._wrong(key, value, wanted)
        return tuple(value)

    def number(self, key: str, *, least: float, default: float) -> float:
        """A number from some least value."""
        value = self.get(key)
        return default if value is None else self._check_number(key, value, least, None, None)

    def optional_number(
        self, key: str, *, least: float | None = None, above: float | None = None, below: float | None = None
    ) -> float | None:
        """A number within bounds, if it is there."""
        value = self.get(key)
        return None if value is None else self._check_number(key, value, least, above, below)

    def table(self, key: str) -> "Table":
        """A table within this one; empty if it is not there."""
        value = self.get(key)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(key, value, f"a table, as in [{self._prefix}{key}]")
        return Table(value or {}, name=self._name, prefix=f"{self._prefix}{key}.")

    def tables(self, key: str) -> list["Table"]:
        """A list of tables; empty if it is not there."""
        value = self.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self._wrong(key, value, f"tables, as in [[{self._prefix}{key}]]")
        return [
            Table(each, name=self._name, prefix=f"{self._prefix}{key}[{number}].")
            for number, each in enumerate(value, start=1)
        ]

    def _value(self, key: str, default: object, wanted: str) -> object:
        value = self.get(key)
        if value is None:
            value = default
        if value is None:
            raise ConfigError(f"{self.name_of(key)}: missing; wanted {wanted}")
        return value

    def _check_integer(self, key: str, value: object, least: int, most: int | None, wanted: str) -> int:
        if type(value) is not int or value < least or (most is not None and value > most):
            raise self._wrong(key, value, wanted)
        return value

    def _check_number(
        self, key: str, value: object, least: float | None, above: float | None, below: float | None
    ) -> float:
        bounds = [
            *([f"from {least:g}"] if least is not None else []),
            *([f"above {above:g}"] if above is not None else []),
            *([f"below {below:g}"] if below is not None else []),
        ]
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not -_LARGEST < value < _LARGEST  # neither infinite nor not a number
            or (least is not None and value < least)
            or (above is not None and value <= above)
            or (below is not None and value >= below)
        ):
            raise self._wrong(key, value, f"a number {' and '.join(bounds)}")
        return float(value)

    def _wrong(self, key: str, value: object, wanted: str) -> ConfigError:
        return ConfigError(f"{self.name_of(key)}: {value!r}; wanted {wanted}")


def _range_of_integers(least: int, most: int | None) -> str:
    return f"a whole number from {least}" if most is None else f"a whole number from {least} to {most}"
