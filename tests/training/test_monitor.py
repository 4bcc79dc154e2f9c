import sys
from types import ModuleType
from unittest import mock

import pytest

from protoglot.errors import ConfigError
from protoglot.training.monitor import Silence, with_tensorboard
from training.conftest import VARIANTS, run_plan

TENSORBOARD = "torch.utils.tensorboard"


def test_tensorboard_gets_the_metrics_of_a_run(tmp_path, monkeypatch):
    library = ModuleType(TENSORBOARD)
    library.SummaryWriter = mock.Mock()
    monkeypatch.setitem(sys.modules, TENSORBOARD, library)
    heard = []
    ears = mock.Mock(wraps=Silence(), progress=lambda share, metrics: heard.append(metrics))
    with with_tensorboard(ears, tmp_path / "run", enabled=True) as monitor:
        run_plan(VARIANTS["bare"], tmp_path / "run", monitor=monitor)
    library.SummaryWriter.assert_called_once_with(str(tmp_path / "run" / "tensorboard"))
    writer = library.SummaryWriter.return_value
    written = [call.args for call in writer.add_scalar.call_args_list]
    assert heard
    for name in ("bits_per_character", "learning_rate", "characters_per_second"):
        assert [each[1:] for each in written if each[0] == name] == [
            (metrics[name], metrics["step"]) for metrics in heard
        ]
    writer.close.assert_called_once_with()


def test_tensorboard_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, TENSORBOARD, None)
    with (
        pytest.raises(ConfigError, match=r"protoglot\[tensorboard\]"),
        with_tensorboard(Silence(), tmp_path / "run", enabled=True),
    ):
        pass
    with with_tensorboard(Silence(), tmp_path / "run", enabled=False) as monitor:
        assert isinstance(monitor, Silence)
