"""Files that are no exported program, damaged or hostile: one message, and nothing is run."""

import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_archives import MODEL, WEIGHTS, Tiny, changed, edited, nodes  # noqa: E402
from torch_networks import saved  # noqa: E402

from npu_target.frontend import FrontendError, load  # noqa: E402
from npu_target.frontend.torch.archive import safe_archive  # noqa: E402
from npu_target.frontend.torch.converters import CONVERTERS  # noqa: E402


def test_what_is_not_needed_is_left_out(file):
    with zipfile.ZipFile(safe_archive(file)) as archive:
        names = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert names["data/sample_inputs/model.pt"] == b""
    assert b"stack_trace" not in names[MODEL]
    assert json.loads(names[MODEL])["guards_code"] == []


class Evil:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def hostile_changes(trace):
    """Ways to have a program run, each leaving a file behind."""
    evil = pickle.dumps(Evil(trace))
    stream = io.BytesIO()
    torch.save((Evil(trace),), stream)
    call = f"__import__('pathlib').Path({str(trace)!r}).touch()"

    def first_weight_pickled(document):
        entry = next(iter(document["config"].values()))
        entry["use_pickle"] = True

    def constant(entries, path_name):
        entry = {"path_name": path_name, "is_param": False, "use_pickle": True, "tensor_meta": None}
        entries["data/constants/model_constants_config.json"] = json.dumps(
            {"config": {"shift": entry}}
        ).encode()
        entries[f"data/constants/{path_name}"] = evil

    def pickled_weights(entries):
        edited(WEIGHTS, first_weight_pickled)(entries)
        entries["data/weights/weight_0"] = stream.getvalue()

    def size(document):
        meta = document["graph_module"]["graph"]["tensor_values"]["x"]
        meta["sizes"][0] = {"as_expr": {"expr_str": call, "hint": {"as_int": 1}}}

    def renamed(document):
        text = json.dumps(document).replace('"x"', json.dumps(f"x={call}"))
        document.clear()
        document.update(json.loads(text))

    return {
        "sample inputs": lambda e: e.update({"data/sample_inputs/model.pt": stream.getvalue()}),
        "a pickled weight": pickled_weights,
        "a pickled constant": lambda e: constant(e, "opaque_obj_0"),
        "a script object": lambda e: constant(e, "custom_obj_0"),
        "old weights": lambda e: e.update({"data/weights/model.pt": stream.getvalue()}),
        "a size": edited(MODEL, size),
        "a name": edited(MODEL, renamed),
        "guards": edited(MODEL, lambda d: d.update(guards_code=[call])),
        "an operator": edited(MODEL, lambda d: nodes(d)[0].update(target="torch.os.system")),
        "compiled code": lambda e: e.update({"data/aotinductor/model/x.so": b"\x7fELF"}),
    }


@pytest.mark.parametrize("name", hostile_changes(Path()))
def test_nothing_is_run(file, tmp_path, name):
    trace = tmp_path / "trace"
    result = changed(file, tmp_path, hostile_changes(trace)[name])
    if name in ("sample inputs", "old weights", "guards"):
        assert load(result).inputs[0].shape == (1, 2, 6, 6)  # It is left out.
    else:
        with pytest.raises(FrontendError, match=r"changed\.pt2"):
            load(result)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda e: e.pop(MODEL), "holds no program"),
        (lambda e: e.pop(WEIGHTS), "has no data/weights/model_weights_config.json"),
        (lambda e: e.update({MODEL: b"{"}), "its program is damaged"),
        (lambda e: e.update({MODEL: b"[" * 100_000}), "its program is damaged"),
        (lambda e: e.update({MODEL: b"[]"}), "its program is damaged: it is no object"),
        (edited(MODEL, lambda d: nodes(d)[0].update(target=7)), "a node has no operator"),
        (edited(MODEL, lambda d: nodes(d)[0].update(metadata=[])), "a node has no operator"),
        (lambda e: e.update({WEIGHTS: b"{}"}), "it has no 'config'"),
        (
            edited(WEIGHTS, lambda d: d["config"].update({"fc.weight": []})),
            "does not say what fc.weight is",
        ),
        (
            edited(WEIGHTS, lambda d: d["config"]["fc.weight"].update(path_name=[1])),
            "fc.weight has no data at",
        ),
        (
            edited(WEIGHTS, lambda d: d["config"]["fc.weight"]["tensor_meta"].update(sizes=[3])),
            "the sizes of fc.weight are damaged",
        ),
        (lambda e: e.update({"models/other.json": b"{}"}), "holds 2 programs"),
        (lambda e: e.update({"byteorder": b"big"}), "byte order"),
        (lambda e: e.pop("data/weights/weight_0"), "is damaged"),
        (
            edited(MODEL, lambda d: nodes(d)[0].update(target="torch.ops.mine.conv.default")),
            r"the operator 'torch.ops.mine.conv.default' \('conv2d'\) is none of PyTorch's own",
        ),
        (
            edited(MODEL, lambda d: nodes(d)[2].update(target="torch.ops.aten.lgamma.default")),
            r"relu|lgamma",
        ),
        (
            edited(
                WEIGHTS,
                lambda d: d["config"]["fc.weight"]["tensor_meta"]["sizes"].__setitem__(
                    0, {"as_int": 10**12}
                ),
            ),
            "fc.weight has 3000000000000 elements in 48 bytes",
        ),
        (
            edited(
                WEIGHTS,
                lambda d: d["config"]["fc.weight"]["tensor_meta"].update(
                    sizes=[{"as_int": 3}, {"as_int": 4}]
                ),
            ),
            "fc.weight",
        ),
        (
            lambda e: e.update({"data/weights/weight_0": np.full(54, np.nan, "float32").tobytes()}),
            "conv.weight has 54 values that are not finite",
        ),
    ],
)
def test_says_what_is_wrong(file, tmp_path, change, text):
    with pytest.raises(FrontendError, match=text) as error:
        load(changed(file, tmp_path, change))
    assert str(error.value).startswith(str(tmp_path))


def scripted(path):
    torch.jit.script(torch.nn.ReLU()).save(path)


@pytest.mark.parametrize(
    ("save", "text"),
    [
        (lambda p: torch.save(Tiny().state_dict(), p), "is pickled .torch.save: a state dict"),
        (scripted, "is TorchScript"),
        (lambda p: p.write_bytes(b""), "not a file that torch.export.save wrote"),
        (lambda p: p.write_bytes(pickle.dumps({"a": 1})), "not a file that torch.export.save"),
        (lambda p: zipfile.ZipFile(p, "w").close(), "holds no program"),
        (
            lambda p: zipfile.ZipFile(p, "w").writestr("serialized_exported_program.json", "{}"),
            "by a PyTorch before 2.8",
        ),
        (
            lambda p: zipfile.ZipFile(p, "w", zipfile.ZIP_DEFLATED).writestr(
                "net/models/model.json", b"0" * 10**6
            ),
            "has compressed entries",
        ),
    ],
)
def test_says_what_is_no_exported_program(tmp_path, save, text):
    save(tmp_path / "net.pt2")
    with pytest.raises(FrontendError, match=text):
        load(tmp_path / "net.pt2")


class Named(torch.nn.Module):
    """Fails where a class of mistakes is made."""

    def __init__(self, forward):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(2)
        self.register_buffer("count", torch.zeros(1))
        self._forward = forward

    def forward(self, x):
        return self._forward(self, x)


def counting(module, x):
    module.count.add_(1)
    return x * module.count


@pytest.mark.parametrize(
    ("network", "dtype", "text"),
    [
        (Named(lambda m, x: m.norm(x)).train(), "float32", "training mode; call .eval()"),
        (Named(counting).eval(), "float32", "the network changes count"),
        (Named(lambda m, x: x * 2).half(), "float16", r"is torch\.float16; export .* float32"),
        (Named(lambda m, x: torch.lgamma(x)), "float32", r"the operator lgamma.default is not kn"),
        (
            Named(lambda m, x: torch.nn.functional.max_pool2d(x, 2, return_indices=True)[1]),
            "float32",
            "result 1 of max_pool2d_with_indices.default is not computed",
        ),
        (Named(lambda m, x: x + torch.ones(1 << 13, 1 << 13)[0, 0]), "float32", "makes a constant"),
    ],
)
def test_says_what_cannot_be_imported(tmp_path, network, dtype, text):
    x = torch.zeros(2, 2, 4, 4, dtype=getattr(torch, dtype))
    with pytest.raises(FrontendError, match=text):
        load(saved(tmp_path, network, x))


def test_a_scale_of_0_is_refused(quantized_file, tmp_path):
    def edit(document):
        for node in nodes(document):
            for item in node["inputs"]:
                if item["name"] == "scale":
                    item["arg"] = {"as_float": 0.0}

    with pytest.raises(FrontendError, match="scale that is not positive"):
        load(changed(quantized_file, tmp_path, edited(MODEL, edit)))


@pytest.mark.parametrize(
    "function",
    [
        "importer.arguments_of",
        "importer._Translation.named",
        "importer._origin",
        "program._check_sizes",
        "program._decompositions",
        "reader._outputs",
        "reader.channels_last",
    ],
)
def test_errors_of_our_own_stay_what_they_are(file, monkeypatch, function):
    monkeypatch.setattr(f"npu_target.frontend.torch.{function}", broken)
    with pytest.raises(TypeError, match="ours"):
        load(file)


def test_errors_of_our_own_converters_stay_what_they_are(file, monkeypatch):
    monkeypatch.setitem(CONVERTERS, "linear.default", broken)
    with pytest.raises(TypeError, match="ours"):
        load(file)


def broken(*arguments, **options):
    raise TypeError("ours")
