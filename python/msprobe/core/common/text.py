"""Text that goes into files."""


def encodable(text):
    """`text` with what UTF-8 cannot hold escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
