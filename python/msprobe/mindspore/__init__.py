"""Precision-data dump for MindSpore. Needs no PyTorch."""
