import pytest
import toyruns
@pytest.mark.parametrize("n", toyruns.ODD)
def test_x(runs, n):
    runs.odd(n)
def test_y(runs):
    import shutil; shutil.rmtree("/tmp/toyt",ignore_errors=True); shutil.copytree(runs.root,"/tmp/toyt")
