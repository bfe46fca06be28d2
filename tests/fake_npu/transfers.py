"""Counts what the host reads from the device."""


class Transfers:
    """`copies`: byte counts of tensors copied to the host; `scalars`: `.item()` and the like; `waits`: operators and calls
    whose answer the host waits for without reading a tensor; `uploads`: tensors copied to the device."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.copies = []
        self.scalars = 0
        self.waits = 0
        self.uploads = 0

    def __repr__(self):
        return "Transfers(copies=%r, scalars=%d, waits=%d, uploads=%d)" % (
            self.copies, self.scalars, self.waits, self.uploads)


transfers = Transfers()
