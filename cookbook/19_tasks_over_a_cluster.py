"""Tasks over a cluster: the run stays here, and its tasks go to the workers of a Dask cluster.

Each task's result is recorded here when it comes back. One worker is killed in the middle of a task: that attempt has
failed, and the task's retry policy runs it again on another worker. Here the cluster is two processes of this
machine; `executor="dask://scheduler:8786"` names one of many machines, and nothing else changes.

Output:
    12 images, none of them made in this process: True
    attempts at image 5: 2
    run again from its records: nothing was sent
"""

import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

from distributed import LocalCluster

from flowfn import RetryPolicy, entrypoint, task
from flowfn.executors import DaskExecutor

folder = TemporaryDirectory()
log = Path(folder.name) / "log"


@task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.01))
def render(image: int, log: Path) -> int:
    with log.open("a") as file:
        file.write(f"{image}\n")
    if image == 5 and log.read_text().splitlines().count("5") == 1:
        os.kill(os.getpid(), signal.SIGKILL)  # the machine is gone
    sum(range(1_000_000))
    return os.getpid()


published: list[int] = []


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def album(images: int) -> list[int]:
    workers = [future.result() for future in render.map(range(images), [log] * images)]
    published.append(images)
    if len(published) == 1:
        raise ConnectionError("the album could not be published")
    return workers


def attempts() -> list[str]:
    return log.read_text().splitlines()


if __name__ == "__main__":
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        DaskExecutor(cluster.scheduler_address) as executor,
    ):
        run = album.with_executor(executor).thread("summer")
        try:
            run(12)
        except ConnectionError:
            sent = attempts()
        workers = run(12)
        again = "nothing was sent" if attempts() == sent else f"{len(attempts()) - len(sent)} were sent"

    print(f"{len(workers)} images, none of them made in this process: {os.getpid() not in workers}")
    print("attempts at image 5:", sent.count("5"))
    print("run again from its records:", again)
