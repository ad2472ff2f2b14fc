"""What a kernel without a schedule is built of: its expressions, its pointers, constants in the form in which it reads them."""
