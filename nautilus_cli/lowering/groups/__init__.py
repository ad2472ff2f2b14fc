"""From a group to a kernel without a schedule: one file a kind of group, which `registry` finds."""
