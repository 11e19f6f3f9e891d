"""Postgres databases, for whatever keeps its data in one: savers and stores.

Rule: it knows connections, forks, migrations and errors; it knows no table.
"""

try:
    import psycopg  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"savers and stores in Postgres need {error.name}: pip install 'flowfn-durable[postgres]'",
        name=error.name,
    ) from None
