import subprocess
import sys

import pytest

PRINT_NEW = """
import sys
before = set(sys.modules)
{code}
print(sorted({{m.partition('.')[0] for m in set(sys.modules) - before if not m.startswith('_')}} - set(sys.stdlib_module_names)))
"""


@pytest.mark.parametrize(
    ("code", "allowed"),
    [("import nautilus_cli", {"nautilus_cli"}), ("import nautilus_cli; nautilus_cli.load", {"nautilus_cli", "numpy"})],
)
def test_imports_no_more_than_it_needs(code, allowed):
    done = subprocess.run([sys.executable, "-c", PRINT_NEW.format(code=code)], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) == allowed


def test_unknown_names_are_attribute_errors():
    import nautilus_cli

    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = nautilus_cli.lode
    assert isinstance(nautilus_cli.__version__, str)
