"""SQLite files, for whatever keeps its data in one: savers and stores.

Rule: it knows connections, transactions, forks, the log and errors; it knows no table.
"""
