"""Texts with some of it replaced."""


def replaced(text, *replacements):
    """Each old part, which must be there, once by its new one."""
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
