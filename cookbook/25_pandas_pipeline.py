"""A data pipeline: pandas' own functions as tasks, frames as their recorded results.

Each step's frame is in the file before the next step has it, dtypes, index and all, so that a pipeline that
dies in its last step doesn't read and join again. Frames are compared by content: fix the step that failed,
start again, and it alone runs. Change the input file, and `modified=` makes the reading a new call.

Output:
    reading sales.csv
    joining 4 rows
    stopped: no column 'totl'
    fixed, and started again
    region  total
    north    500
    south    290
    the frame is what it was: int64 total, index region
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from flowfn import entrypoint, task

folder = TemporaryDirectory()
home = Path(folder.name)
column = "totl"


@task
def read(path: Path, modified: float) -> pd.DataFrame:
    """`modified` counts in the call's identity: an edited file is read again."""
    print("reading", path.name)
    return pd.read_csv(path)


@task
def join(sales: pd.DataFrame, prices: pd.DataFrame) -> pd.DataFrame:
    print("joining", len(sales), "rows")
    return sales.merge(prices, on="item").assign(total=lambda rows: rows.amount * rows.price)


@task
def summarise(sales: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    if value not in sales:
        raise LookupError(f"no column {value!r}")
    return sales.groupby(by)[[value]].sum()


@entrypoint(checkpointer=home / "runs.db")
def pipeline(path: Path) -> pd.DataFrame:
    sales = read(path, path.stat().st_mtime).result()
    prices = pd.DataFrame({"item": ["tea", "bread"], "price": [50, 30]})
    return summarise(join(sales, prices).result(), "region", column).result()


if __name__ == "__main__":
    path = home / "sales.csv"
    path.write_text("region,item,amount\nnorth,tea,4\nnorth,bread,10\nsouth,tea,1\nsouth,bread,8\n")
    try:
        pipeline(path)
    except LookupError as error:
        print("stopped:", error)

    column = "total"  # what an editor would do to this file
    print("fixed, and started again")
    totals = pipeline(path)
    print(totals.reset_index().to_string(index=False))
    print("the frame is what it was:", totals.total.dtype, "total, index", totals.index.name)
