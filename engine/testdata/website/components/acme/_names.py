"""Names that the components of Acme share."""

from atlantide.core import RegistryError

LONGEST = 40


def checked(name: str) -> str:
    """The name, when it leaves room for what is put before and behind it."""
    if len(name) > LONGEST:
        raise RegistryError(f"a website's name has at most {LONGEST} characters, not {len(name)}")
    return name.lower()
