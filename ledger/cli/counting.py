"""How many of something there are, in words for people; machines are given the numbers.

How a number is spelled where it is large is left to whoever tells it.
"""


def noun(number: int, what: str) -> str:
    """The word for so many of something, of which more than one is spelled with an s."""
    return what if number == 1 else f"{what}s"


def count(number: int, what: str) -> str:
    """So many of something."""
    return f"{number} {noun(number, what)}"


def be(number: int) -> str:
    """What so many do when they are something."""
    return "is" if number == 1 else "are"
