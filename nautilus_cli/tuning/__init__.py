"""Search for fast schedules, and the records of what was found.

`records` holds what compilation reads and imports no Optuna; `study` searches, and is the only importer of it.
"""
