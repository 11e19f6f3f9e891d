"""A job that cron starts each night: one thread per night, and a night that failed is made up for.

The date names the thread. Started twice in one night, the job does nothing the second time. A night whose
run died is gone on with by the next start, from where it stopped. In the crontab:
`0 3 * * * cd /srv/orders && python nightly.py`. What nights have to tell each other belongs in a store.

Output:
    mon: booked ada, booked bob -> 2 orders
    mon: done already
    tue: booked eve, the bank is closed
    wed: goes on with tue: booked joe -> 2 orders
    wed: booked kim -> 1 order
    threads: mon done, tue done, wed done
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, task

folder = TemporaryDirectory()
ORDERS = {"mon": ["ada", "bob"], "tue": ["eve", "joe"], "wed": ["kim"]}
closed = {"joe"}
log: list[str] = []


@task
def book(customer: str) -> str:
    if customer in closed:
        log.append("the bank is closed")
        raise ConnectionError(customer)
    log.append(f"booked {customer}")
    return customer


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def night(date: str) -> int:
    return len([book(customer).result() for customer in ORDERS[date]])


def cron(today: str) -> None:
    """What the crontab starts: today's run, after whatever nights are left unfinished."""
    days = list(ORDERS)
    for date in days[: days.index(today) + 1]:
        thread, late = night.thread(date), "" if date == today else f"goes on with {date}: "
        if thread.status == "done":
            if date == today:
                print(f"{today}: done already")
            continue
        log.clear()
        try:
            count = thread(date)
            print(f"{today}: {late}{', '.join(log)} -> {count} order{'s'[: count != 1]}")
        except ConnectionError:
            print(f"{today}: {late}{', '.join(log)}")


if __name__ == "__main__":
    cron("mon")
    cron("mon")
    cron("tue")
    closed.clear()
    cron("wed")
    print("threads:", ", ".join(f"{date} {night.thread(date).status}" for date in ORDERS))
