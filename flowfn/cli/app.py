"""The commands, as typer reads them: what they take, and in which order things are done."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from flowfn.cli import (
    caching,
    changing,
    demo,
    housekeeping,
    listing,
    past,
    picturing,
    program,
    recovering,
    running,
    tailing,
    version,
)
from flowfn.cli.answering import Answer, addressed, asked_for, user
from flowfn.cli.as_json import page
from flowfn.cli.database import choose, find_thread, place, reading
from flowfn.cli.diff import diff_page
from flowfn.cli.failures import FAILED, Usage, report
from flowfn.cli.options import Db, Json, Script, ThreadId
from flowfn.cli.outcome import go_on
from flowfn.cli.showing import MOST, counted, now, thread_page
from flowfn.cli.terminal import errors, in_line, logged, output, print_json
from flowfn.history.reading import open_questions, view
from flowfn.values import Command

app = typer.Typer(
    help="Durable Python functions: look at their threads, go on with them, answer them.",
    epilog="Errors are one line; with --traceback, anywhere, they show where they come from.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    words, traceback = _without_traceback(["version"] if arguments == ["--version"] else arguments)
    try:
        with logged():
            app(words, prog_name="flowfn")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return report(error, traceback=traceback)
    return 0


def _without_traceback(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without `--traceback`, and whether it was there; after `--` it is a word like others."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = [word for word in arguments[:end] if word != "--traceback"]
    return words + arguments[end:], len(words) < end


app.command("run")(running.command)
app.command("ls")(listing.command)


@app.command("show")
def show_thread(
    thread: ThreadId,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help=f"Each call in a line. Default: of one caller's calls {MOST}; others are counted."
        ),
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show the last run of a thread. Its calls, open questions, result or error, and what differed."""
    with reading(choose(db)) as saver:
        found = view(saver, find_thread(saver, thread))
    if as_json:
        print_json(page(found))
    else:
        output().print(thread_page(found, None if every else MOST), crop=False)


app.command("tail")(tailing.command)
app.command("state")(past.state)
app.command("history")(past.history)
app.command("graph")(picturing.graph)
app.command("timeline")(picturing.show_timeline)


@app.command("diff")
def diff_thread(thread: ThreadId, db: Db = None, as_json: Json = False) -> None:
    """Show how a resumed run differed from its record. Of the thread's last one; with the probable cause."""
    with reading(choose(db)) as saver:
        found = view(saver, find_thread(saver, thread))
    if as_json:
        print_json(found.report.to_data())
    else:
        output().print(diff_page(found))


@app.command("doctor")
def examine_threads(
    script: Annotated[
        Path, typer.Argument(metavar="APP.PY", help="The script as it is now: imported, not run.")
    ],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Replay every open run dry on an edited script. Which go on as they are, which run what anew, which can't?"""
    from flowfn.cli.doctor import checkup_page, checkups

    found = checkups(script, choose(db))
    if as_json:
        print_json([{**vars(each), "report": each.report.to_data()} for each in found])
    else:
        output().print(checkup_page(found))
    if any(each.verdict == "decide" for each in found):
        raise typer.Exit(FAILED)


@app.command("resume")
def resume_thread(thread: ThreadId, script: Script, db: Db = None, as_json: Json = False) -> None:
    """Go on with a thread that has stopped. It failed, was killed or cancelled, or its question has expired."""
    path = choose(db)
    with reading(path) as saver:
        row = find_thread(saver, thread)
    workflow = program.find(script, row)
    workflow = program.on_database(workflow, path)
    go_on(workflow, row.id, None, as_json=as_json)


app.command("recover")(recovering.command)


@app.command("answer")
def answer_thread(
    thread: ThreadId,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[ANSWER] APP.PY[:NAME]",
            help="The answer, as JSON, or text where it isn't JSON; left out, it is asked for in the terminal. The "
            "script that defines the workflow: imported, not run.",
        ),
    ],
    id: Annotated[str | None, typer.Option("--id", help="The id of the question, or how it begins.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="The key of the question.")] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Take the answer as text, whatever it looks like.")
    ] = False,
    by: Annotated[
        str | None, typer.Option("--by", help="Who answers. Default: you, as this machine knows you.")
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Answer the open question of a thread, and go on with it."""
    *answer, script = words
    if len(answer) > 1:
        raise Usage(f"one answer and one script follow the thread, and these are {len(words)}: {words}")
    given = answer[0] if answer else None
    path = choose(db)
    with reading(path) as saver:
        row = find_thread(saver, thread)
    workflow = program.find(script, row)
    with reading(path) as saver:  # after the import: a question may be of one of the script's types
        questions = open_questions(saver, row)
    named = Answer(given or "", as_text=text, id=id, key=key)
    resume = asked_for(named, row, questions) if given is None else addressed(named, row, questions)
    workflow = program.on_database(workflow, path)
    go_on(workflow, row.id, Command(resume=resume, by=by or user()), as_json=as_json)


app.command("fork")(changing.fork)
app.command("cancel")(changing.cancel)


@app.command("gc")
def collect_garbage(
    db: Db = None,
    older: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help="Delete finished threads last written to before, e.g. 30d."
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=1, help="Of other threads keep so many checkpoints per namespace."),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: Json = False,
) -> None:
    """Forget what nobody needs any more. Threads in use, and unfinished ones, are never deleted."""
    done = housekeeping.collect(
        choose(db), now(), keep, None if older is None else housekeeping.age(older), dry=dry
    )
    if as_json:
        print_json({**asdict(done), "dry_run": dry})
        return
    would = "would go" if dry else "gone"
    threads, checkpoints = counted(done.threads, "thread"), counted(done.checkpoints, "checkpoint")
    output().print(f"{threads} and {checkpoints} of others {would}; {done.busy} in use")


@app.command("export")
def export_run(
    thread: ThreadId,
    db: Db = None,
    to: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file. Default: standard output.")
    ] = None,
) -> None:
    """Write a thread to one file, decrypted. For a bug report, or as a fixture for a test."""
    housekeeping.export(choose(db), thread, to)


@app.command("import")
def import_run(
    source: Annotated[Path, typer.Argument(metavar="RUN.FLOW", help="What `flowfn export` wrote.")],
    db: Db = None,
    id: Annotated[str | None, typer.Option("--as", metavar="THREAD", help="Another id than its own.")] = None,
    as_json: Json = False,
) -> None:
    """Take in a thread from a file. The database is made where there is none."""
    made = housekeeping.import_run(source, choose(None) if db is None else place(db), id)
    if as_json:
        print_json({"thread": made})
    else:
        output().print(in_line(made), soft_wrap=True)


@app.command("import-langgraph")
def import_langgraph(
    source: Annotated[
        str, typer.Argument(metavar="OLD.DB", help="The SQLite file that LangGraph wrote, or postgresql://…")
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="RUNS.DB", help="The file to import into, or postgresql://…")
    ],
    script: Annotated[
        Path | None, typer.Option("--with", metavar="APP.PY", help="The script whose types are stored in it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Take over the threads of a LangGraph database. And its memory; what is there already stays as it is."""
    from flowfn.cli.importing import lines, take_over

    taken = take_over(place(source), place(to), script)
    if as_json:
        print_json(asdict(taken))
    else:
        for line in lines(taken):
            output().print(in_line(line), soft_wrap=True)
    if any(thread.problem is not None for thread in taken.threads):
        if script is None:
            errors().print("flowfn: types of your own program are known with --with APP.PY", soft_wrap=True)
        raise typer.Exit(FAILED)


app.command("demo")(demo.command)
app.add_typer(caching.app, name="cache")
app.command("version")(version.command)
