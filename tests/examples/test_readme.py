"""What README shows as Python runs as it stands there."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


@pytest.mark.verify
def test_the_python_of_readme_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    mean_s, gap, simulated_s = map(float, capsys.readouterr().out.split())
    assert 0 < gap < 0.01
    assert simulated_s == pytest.approx(mean_s, rel=0.05)
