"""What the demo says while it runs. The one for terminals is in `flowfn.cli.demo`."""

from collections.abc import Sequence


class Screen:
    """Says nothing. It is told what happens, in this order: `started`, `measured` for each file, `stopped`; `say` in
    between."""

    def say(self, text: str) -> None:
        """Something that a reader should know."""

    def started(self, files: int, reused: int) -> None:
        """A worker begins, with so many of the files recorded already."""

    def measured(self) -> None:
        """One more file is recorded."""

    def stopped(self) -> None:
        """The worker ended, or was killed."""

    def ask(self, question: str, choices: Sequence[str]) -> str:
        """The answer of the human, one of the choices; where there is none, the first."""
        return choices[0]


class PlainScreen(Screen):
    """Lines of plain text, for files and pipes. Nobody is there to answer, so the first choice is taken."""

    def __init__(self) -> None:
        self._files = self._done = 0

    def say(self, text: str) -> None:
        """A line."""
        print(text, flush=True)

    def started(self, files: int, reused: int) -> None:
        """How much there is to do."""
        self._files, self._done = files, reused
        if reused < files:
            self.say(f"  {reused} of {files} files are recorded; {files - reused} to measure")

    def measured(self) -> None:
        """Counted, and told when the worker stops."""
        self._done += 1

    def stopped(self) -> None:
        """How far it came."""
        self.say(f"  {self._done} of {self._files} files are recorded")

    def ask(self, question: str, choices: Sequence[str]) -> str:
        """The first choice, which is said."""
        self.say(f"{question} ({', '.join(choices)})")
        self.say(f"  answered with the default: {choices[0]}")
        return choices[0]
