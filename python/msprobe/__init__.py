"""Finds out where a model's numbers go wrong on an accelerator. Importing it loads no framework."""

__version__ = "0.1.0"
