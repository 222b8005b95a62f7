"""Errors that a person can act on: one line that names the file and the fix."""


class UnwrittenError(Exception):
    """The work could not be done. Its message is one line that names the file and what to do; exit status 1."""

    exit_status = 1


class UsageError(UnwrittenError):
    """The command was used wrongly: an unknown option, value or config key; exit status 2."""

    exit_status = 2
