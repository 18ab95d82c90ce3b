"""Writes the seeds of the fuzz targets: small files of every kind that the readers know.

    make_corpus.py [folder]      needs numpy and h5py; the folder is corpus/ beside this file
"""

import io
import json
import pathlib
import pickle
import struct
import sys
import zipfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "data"


def archive(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def hdf5(fill, **options):
    out = io.BytesIO()
    with h5py.File(out, "w", **options) as file:
        fill(file)
    return out.getvalue()


def weights(file):
    for layer in ("dense", "dense_1"):
        group = file.create_group(f"layers/{layer}/vars")
        group.attrs["name"] = layer
        group["0"] = np.arange(6, dtype="float32").reshape(2, 3)
        group["1"] = np.zeros(3, "float32")
    half = file["layers/dense/vars"].create_dataset("2", (2,), dtype=h5py.opaque_dtype(np.dtype("V2")))
    half.attrs["dtype"] = "bfloat16"


def layouts(file):
    values = np.arange(63, dtype="int16").reshape(9, 7)
    file.create_dataset("packed", data=values, chunks=(4, 3), compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("tree", data=values, chunks=(2, 3), maxshape=(None, None))
    file.create_dataset("long", data=values[0], chunks=(2,), maxshape=(None,))
    file.create_dataset("big_endian", data=values.astype(">f8"))
    file.create_dataset("half", data=values.astype("float16"))
    file.create_dataset("bits", data=values > 9)
    file.create_dataset("scalar", data=np.int64(3))
    file.create_dataset("none", shape=(0, 4), dtype="float32")
    file.create_dataset("filled", shape=(5,), dtype="int32", fillvalue=7)
    file.create_dataset("texts", data=["one", "two", "three"], dtype=h5py.string_dtype())


def attributes(file):
    file.attrs["keras_version"] = "2.3.1"
    file.attrs["layer_names"] = np.array([b"dense", b"a longer name"])
    file.attrs["empty"] = np.zeros(0)
    group = file.create_group("group")
    for i in range(12):
        group.attrs[f"attribute{i}"] = "value" * i
        group.create_group(f"g{i}")


def links(file):
    file["group/data"] = np.zeros(3)
    file["soft"] = h5py.SoftLink("/group/data")
    file["external"] = h5py.ExternalLink("other.h5", "/x")
    file["hard"] = file["group/data"]


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def envelope(class_name, config, **more):
    module = "keras" if class_name == "Sequential" else "keras.layers"
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None, **more}


def tensor(name, shape):
    config = {"shape": shape, "dtype": "float32", "keras_history": [name, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


def configs():
    dtype = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    entry = envelope("InputLayer", {"batch_shape": [None, 4], "dtype": "float32", "name": "x"})
    dense = envelope("Dense", {"name": "d", "trainable": True, "dtype": dtype, "units": 3, "activation": "relu"})
    sequential = envelope(
        "Sequential",
        {"name": "s", "layers": [entry, dense, envelope("Dropout", {"name": "o", "rate": 0.5})]},
        compile_config={"optimizer": "adam", "loss": "mse", "metrics": ["mae"]},
    )
    nodes = [{"args": [tensor("x", [None, 4])], "kwargs": {}}]
    add = {"args": [tensor("d", [None, 3]), 2.0], "kwargs": {}}
    operation = {
        "module": "keras.src.ops.numpy", "class_name": "Add", "config": {"name": "add"}, "registered_name": "Add",
        "name": "add", "inbound_nodes": [add],
    }
    functional = {
        "module": "keras.src.models.functional",
        "class_name": "Functional",
        "registered_name": "Functional",
        "config": {
            "name": "f",
            "layers": [{**entry, "name": "x", "inbound_nodes": []}, {**dense, "name": "d", "inbound_nodes": nodes}, operation],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["add", 0, 0]],
        },
    }
    keras1 = {
        "class_name": "Sequential",
        "config": [
            {"class_name": "Convolution1D", "config": {"nb_filter": 4, "filter_length": 3, "border_mode": "same",
                                                        "batch_input_shape": [None, 9, 2], "name": "c"}},
            {"class_name": "LSTM", "config": {"output_dim": 3, "inner_activation": "hard_sigmoid", "name": "l"}},
        ],
    }
    keras2 = {
        "class_name": "Model",
        "config": {
            "name": "m",
            "layers": [
                {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}, "name": "x",
                 "inbound_nodes": []},
                {"class_name": "Dense", "config": {"units": 2, "kernel_regularizer": {"name": "L1L2", "l2": 0.1}},
                 "name": "d", "inbound_nodes": [[["x", 0, 0, {}]]]},
            ],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["d", 0, 0]],
        },
    }
    hostile = envelope("Sequential", {"name": "s", "layers": [
        entry, envelope("Dense", {"name": "d", "units": 1 << 40}), envelope("Lambda", {"function": "__lambda__"})]})
    training = {"optimizer_config": {"class_name": "Adam", "config": {"lr": 0.1, "decay": 0.01}}, "loss": "mse"}
    return {"sequential": sequential, "functional": functional, "keras1": keras1, "keras2": keras2, "hostile": hostile,
            "training": training}


def pickles():
    """A batch of CIFAR, by each protocol; the array types; and what must never be run."""
    batch = {b"batch_label": b"batch 1", b"labels": [3, 0, 9], b"data": np.arange(36, dtype="uint8").reshape(3, 12),
             b"filenames": [b"a.png", b"b\xe4\n.png", b"'c'.png"]}
    kinds = {name: np.arange(6).reshape(2, 3).astype(name) for name in ("bool", "u1", "i4", "i8", "f2", "f4", "f8", ">i4", ">f8")}
    kinds["columns"] = np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4))
    kinds["none"] = np.zeros((0, 3), "f4")
    kinds["scalar"] = np.float64(2.5)
    kinds["zero"] = np.array(7, "i8")
    plain = {"none": None, "yes": True, "no": False, "pair": (1, -2), "real": 0.1, "text": "\u00e4\u20ac\U0001f600", "big": 2**40,
             "least": -(2**63), "triple": (b"", "", ()), "many": tuple(range(-3, 300)), "nested": [[], {}, [[1.5]]]}
    odd = np.arange(24, dtype="i8").reshape(2, 3, 4)
    shared = bytearray(b"\x00ab\xff\n")
    more = {"bytearray": shared, "again": [shared, shared], "empty": (bytearray(), b"", "", [], {}),
            "turned": odd.transpose(1, 0, 2), "strided": odd[:, ::2], "fixed": np.frombuffer(b"\x01\x02\x03", "u1"),
            "numbers": [np.int64(-5), np.float32(0.5), np.bool_(True), np.uint8(200)], "inf": [float("inf"), float("-inf")],
            "long text": "\u00e4\\\n\r\0" * 300, "long bytes": bytes(range(256)) * 2, "lone": "\ud800", 7: {-1: "int keys"},
            "wide": [255, 256, 65535, 65536, -1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1]}
    circle = []
    circle.append(circle)
    found = {f"batch{protocol}": pickle.dumps(batch, protocol) for protocol in range(6)}
    found |= {f"plain{protocol}": pickle.dumps(plain, protocol) for protocol in range(6)}
    found |= {f"arrays{protocol}": pickle.dumps(kinds, protocol) for protocol in range(6)}
    found |= {f"more{protocol}": pickle.dumps(more, protocol) for protocol in range(6)}
    buffers = []
    found["outside5"] = pickle.dumps(kinds["f4"], 5, buffer_callback=buffers.append)
    found["python2"] = (
        b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x01K\x02eU\x04dataq\x04cnumpy.core.multiarray\n_reconstruct\nq\x05"
        b"cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01K\x02K\x03\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x06\x01\x02\x03\x04\x05\x06tbu."
    )
    found["circle"] = pickle.dumps(circle, 4)
    found["system"] = b"cos\nsystem\n(S'false'\ntR."
    found["deep"] = b"\x80\x02" + b"]" * 3000 + b"a" * 2999 + b"."
    return found


def pictures():
    return {path.name: path.read_bytes() for path in sorted((GOLDEN / "pictures").iterdir())}


def seeds():
    texts = {name: json.dumps(config).encode() for name, config in configs().items()}
    texts["numbers"] = b'{"a": NaN, "b": [-Infinity, 1e5, "Infinity \\" NaN"], "c": {"d": null, "e": true}}'
    texts["deep"] = b"[" * 60 + b"]" * 60
    files = {
        "old": hdf5(weights),
        "new": hdf5(weights, libver="latest"),
        "layouts_old": hdf5(layouts),
        "layouts_new": hdf5(layouts, libver="latest"),
        "attributes_old": hdf5(attributes),
        "attributes_new": hdf5(attributes, libver="latest"),
        "links": hdf5(links),
    }
    whole = {"metadata.json": "{}", "config.json": texts["sequential"], "model.weights.h5": files["old"]}
    arrays = {f"{name}.npy": npy(np.arange(6).reshape(2, 3).astype(name)) for name in ("f4", "i8", "u1", "?", "i2")}
    arrays["columns.npy"] = npy(np.asfortranarray(np.ones((3, 2))))
    place = {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}
    two = {"__metadata__": {"format": "x"}, "a/b": place, "c": {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]}}
    models = {path.name: path.read_bytes() for path in (GOLDEN / "plain.keras", GOLDEN / "plain.h5")}
    return {
        "zip": {"stored": archive(whole), "deflated": archive(whole, zipfile.ZIP_DEFLATED),
                "paths": archive({"a/b/../c": b"x", "/d": b"y"}), "empty": archive({})},
        "json": texts,
        "hdf5": files,
        "npy": {**{name[:-4].replace("?", "b1"): value for name, value in arrays.items()}, "object": npy(np.array([{}]), allow_pickle=True),
                "several": archive({name.replace("?", "b1"): value for name, value in arrays.items()})},
        "safetensors": {"two": safetensors(two, bytes(10)), "none": safetensors({}),
                        "wide": safetensors({"x": {"dtype": "I16", "shape": [3], "data_offsets": [0, 6]}}, bytes(6)),
                        "overlap": safetensors({"x": place, "y": place}, bytes(8))},
        "keras_model": {**texts, **models},
        "pickle": pickles(),
        "image": pictures(),
    }


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus"
    for target, files in seeds().items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    main()
