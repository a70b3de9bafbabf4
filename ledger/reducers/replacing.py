"""``dataclasses.replace`` for the frozen values that every event makes anew, at a tenth of the cost.

A World has many parts and an event changes a few of them, a dozen times over; the usual way asks each
part by name and sets each through ``__init__``. Of a class without slots all parts are copied at once:
that is why the World, and what there is one of in it, has none. Of a class with slots, as those have
of which there are many, the slots are looked up once, then read together and written into a new value.
It is for frozen dataclasses whose ``__init__`` does nothing but set their fields. Type checkers see
the usual function.
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
        made = object.__new__(value.__class__)
        slots = _slots(value.__class__)
        if slots is None:
            before = value.__dict__
            parts = {**before, **changes}
            if len(parts) != len(before):
                raise KeyError(*sorted(changes.keys() - before.keys()))
            object.__setattr__(made, "__dict__", parts)
            return made
        read, places, writers = slots
        parts = [*read(value)]
        for name, part in changes.items():
            parts[places[name]] = part
        for write, part in zip(writers, parts, strict=True):
            write(made, part)
        return made

    @cache
    def _slots(cls):
        """How slots are read and written; None where there are none."""
        names = [part.name for part in fields(cls)]
        assert len(names) > 1, "one part is not worth it, and is read differently"
        assert cls.__dataclass_params__.frozen
        assert not hasattr(cls, "__post_init__"), (
            f"{cls}: what it makes sure of would be passed over"
        )
        if not hasattr(cls, "__slots__"):
            return None
        places = {name: place for place, name in enumerate(names)}
        return attrgetter(*names), places, [getattr(cls, name).__set__ for name in names]
