"""Postgres databases, for whatever keeps its data in one: savers and stores.

Rule: it knows connections, forks, migrations and errors; it knows no table.
"""
