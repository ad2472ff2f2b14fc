"""Which kernel serves a group, with which schedule, and for which sizes where some are open."""
