"""``dataclasses.replace`` for the frozen values that every event makes anew, at half the cost.

A World has many parts and an event changes a few of them, twice or more; the usual way asks each
part by name and sets each through ``__init__``. Here the slots of a class are looked up once, then
read together and written into a new value. It is for frozen dataclasses with slots whose
``__init__`` does nothing but set them. Type checkers see the usual function.
"""

from typing import TYPE_CHECKING

__all__ = ["replace"]

if TYPE_CHECKING:
    from dataclasses import replace
else:
    from dataclasses import fields
    from functools import cache
    from operator import attrgetter

    def replace(value, /, **changes):
        """A value like ``value`` but for what is named."""
        read, places, writers = _slots(value.__class__)
        parts = [*read(value)]
        for name, part in changes.items():
            parts[places[name]] = part
        made = object.__new__(value.__class__)
        for write, part in zip(writers, parts, strict=True):
            write(made, part)
        return made

    @cache
    def _slots(cls):
        names = [part.name for part in fields(cls)]
        assert len(names) > 1, "one part is not worth it, and is read differently"
        assert cls.__dataclass_params__.frozen
        assert not hasattr(cls, "__post_init__"), (
            f"{cls}: what it makes sure of would be passed over"
        )
        places = {name: place for place, name in enumerate(names)}
        return attrgetter(*names), places, [getattr(cls, name).__set__ for name in names]
