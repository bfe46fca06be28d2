"""The debugger of both frameworks: everything but what looks at a framework itself."""
