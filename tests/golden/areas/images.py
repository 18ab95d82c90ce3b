"""Pictures: what Keras reads from files, its resizers, image_dataset_from_directory and pad_sequences.

Needs Pillow besides what the other areas need. The small picture files lie in the folder pictures.
"""

import io
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras.src.utils import dataset_utils
from PIL import Image

from .common import Random, header, tensor, write_bytes, write_json

MODES = ["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"]
SIZES = [(5, 4), (9, 13), (3, 14), (1, 1)]
PILLOW_MODES = ["nearest", "bilinear", "bicubic", "lanczos", "box", "hamming"]
TREE = [
    "cats/b.png", "cats/a.PNG", "cats/sub/z.jpg", "cats/sub-1/y.bmp", "cats/sub/deep/x.gif", "cats/.hidden.png",
    "cats/notes.txt", "dogs/10.jpeg", "dogs/9.jpeg", "dogs/a b.png", "Zebras/1.png", "Zebras/2.JPG", ".git/c.png",
    "loose.png", "bats/only.webp", "dogs/ä.png",
]  # fmt: skip


def smooth(rng, height, width, channels):
    """Large soft spots: what JPEG keeps nearly as it is."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for _ in range(channels):
        a, b, c = rng.uniform(3, low=0.05, high=0.2)
        planes.append(127 + 60 * np.sin(a * x + 6 * c) + 60 * np.cos(b * y))
    return np.clip(np.stack(planes, -1), 0, 255).astype("uint8")


def encoded(image, file_format, **options):
    out = io.BytesIO()
    image.save(out, format=file_format, **options)
    return out.getvalue()


def pictures(seed):
    rng = Random(seed, "images", "pictures")
    rgb = Image.fromarray(rng.integers(9, 13, 3, low=0, high=256).astype("uint8"), "RGB")
    soft = Image.fromarray(smooth(rng, 24, 32, 3), "RGB")
    odd = Image.fromarray(smooth(rng, 17, 21, 3), "RGB")
    rgba = Image.fromarray(rng.integers(8, 11, 4, low=0, high=256).astype("uint8"), "RGBA")
    grey = Image.fromarray(rng.integers(7, 5, low=0, high=256).astype("uint8"), "L")
    deep = Image.fromarray(rng.integers(6, 5, low=0, high=65536).astype("uint16"))
    bits = Image.fromarray((rng.integers(9, 10, low=0, high=2) * 255).astype("uint8"), "L").convert("1")
    frames = [Image.fromarray(rng.integers(6, 8, 3, low=0, high=256).astype("uint8"), "RGB").quantize(16) for _ in "ab"]
    return {
        "rgb.png": encoded(rgb, "PNG"),
        "rgba.png": encoded(rgba, "PNG"),
        "grey.png": encoded(grey, "PNG"),
        "grey_alpha.png": encoded(rgba.convert("LA"), "PNG"),
        "palette.png": encoded(rgb.quantize(16), "PNG"),
        "deep.png": encoded(deep, "PNG"),
        "bits.png": encoded(bits, "PNG"),
        "one_pixel.png": encoded(rgb.crop((0, 0, 1, 1)), "PNG"),
        "halved.jpg": encoded(soft, "JPEG", quality=90, subsampling="4:2:0"),
        "full.jpg": encoded(odd, "JPEG", quality=95, subsampling="4:4:4"),
        "progressive.jpg": encoded(odd, "JPEG", quality=90, progressive=True),
        "grey.jpg": encoded(odd.convert("L"), "JPEG", quality=90),
        "cmyk.jpg": encoded(odd.convert("CMYK"), "JPEG", quality=95),
        "rgb.bmp": encoded(rgb, "BMP"),
        "palette.bmp": encoded(rgb.quantize(16), "BMP"),
        "bits.bmp": encoded(bits, "BMP"),
        "frames.gif": encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]),
    }


def load(path, **options):
    return keras.utils.img_to_array(keras.utils.load_img(str(path), **options)).astype("uint8")


def decoded(folder, files):
    for name in files:
        for color_mode in ("rgb",) if name.endswith("jpg") else ("rgb", "rgba", "grayscale"):
            if name == "deep.png":  # Pillow keeps 16 bits, or clips them; TensorFlow takes the high byte, as is done here
                channels = {"rgb": 3, "rgba": 4, "grayscale": 1}[color_mode]
                image = tf.io.decode_png((folder / name).read_bytes(), channels=channels).numpy()
            else:
                image = load(folder / name, color_mode=color_mode)
            yield {"file": name, "color_mode": color_mode, "image": tensor(image)}


def pillow_resized(folder):
    for name, color_mode in (("rgb.png", "rgb"), ("rgba.png", "rgba"), ("grey.png", "grayscale")):
        for interpolation in PILLOW_MODES:
            for size, keep in (((4, 6), False), ((12, 3), True), ((9, 13), False), ((3, 15), True), ((13, 17), False)):
                config = {"color_mode": color_mode, "target_size": list(size), "interpolation": interpolation}
                if keep:
                    config["keep_aspect_ratio"] = True
                yield {"file": name, "config": config, "image": tensor(load(folder / name, **config))}


def resized(seed):
    for mode in MODES:
        for size in SIZES:
            x = Random(seed, "images", "resize", mode, str(size)).normal(1, 7, 9, 1)
            configs = [{}] + ([{"antialias": True}] if mode != "nearest" else [])
            configs += [{"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.5}]
            for config in configs:
                y = keras.ops.image.resize(x, size, interpolation=mode, **config)
                yield {"config": {"interpolation": mode, **config}, "size": list(size), "x": tensor(x),
                       "y": tensor(np.asarray(y))}  # fmt: skip
    for size in SIZES:
        x = Random(seed, "images", "resize", "area", str(size)).normal(1, 7, 9, 1)
        y = tf.image.resize(x, size, method="area").numpy()
        yield {"config": {"interpolation": "area"}, "size": list(size), "x": tensor(x), "y": tensor(y)}


def padded_to_fit(seed):
    for mode in MODES + ["area"]:
        for size in SIZES[:2] + [(12, 5)]:
            x = Random(seed, "images", "fit", mode, str(size)).normal(9, 6, 2)
            y = tf.image.resize_with_pad(x, *size, method=mode).numpy()
            yield {"interpolation": mode, "size": list(size), "x": tensor(x), "y": tensor(y)}


def listings(root):
    """The files and labels of image_dataset_from_directory, and where its splits lie."""
    configs = [
        {"shuffle": False},
        {"seed": 7},
        {"seed": 2026},
        {"seed": 7, "validation_split": 0.3, "subset": "training"},
        {"seed": 7, "validation_split": 0.3, "subset": "validation"},
        {"shuffle": False, "validation_split": 0.25, "subset": "validation"},
        {"shuffle": False, "class_names": ["dogs", "cats"]},
        {"seed": 3, "labels": None},
        {"shuffle": False, "label_mode": None},
        {"shuffle": False, "labels": list(range(3, 17))},
    ]
    for config in configs:
        dataset = keras.utils.image_dataset_from_directory(root, verbose=False, **config)
        labels = config.get("labels", "inferred") if config.get("label_mode", "int") else None
        formats = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
        shuffle, seed = config.get("shuffle", True), config.get("seed")
        paths, numbers, _ = dataset_utils.index_directory(
            str(root), labels, formats, config.get("class_names"), shuffle, seed, verbose=False
        )
        split = (config.get("validation_split"), config.get("subset"))
        paths, numbers = dataset_utils.get_training_or_validation_split(paths, numbers, *split)
        assert paths == list(dataset.file_paths)
        yield {
            "config": config,
            "class_names": dataset.class_names,
            "files": [str(pathlib.Path(path).relative_to(root)) for path in paths],
            "labels": None if numbers is None else [int(n) for n in numbers],
        }


def batches(folder):
    """Whole batches: decoding, resizing and labels together."""
    classes = {"a": ["rgb.png", "grey.png"], "b": ["rgba.png", "rgb.bmp", "frames.gif"]}
    with tempfile.TemporaryDirectory() as root:
        for name, files in classes.items():
            (pathlib.Path(root) / name).mkdir()
            for file in files:
                (pathlib.Path(root) / name / file).write_bytes((folder / file).read_bytes())
        for config in [
            {},
            {"interpolation": "bicubic", "label_mode": "categorical"},
            {"interpolation": "area", "label_mode": "binary"},
            {"interpolation": "lanczos3", "crop_to_aspect_ratio": True},
            {"interpolation": "nearest", "label_mode": None},
            {"pad_to_aspect_ratio": True},
            {"image_size": [9, 13]},
        ]:
            config = {"shuffle": False, "batch_size": 3, "image_size": [6, 5], **config}
            found = list(keras.utils.image_dataset_from_directory(root, verbose=False, **config))
            if config.get("label_mode", "int") is None:
                found = [(x, None) for x in found]
            yield {
                "config": config,
                "classes": classes,
                "x": [tensor(np.asarray(x, "float32")) for x, _ in found],
                "y": [None if y is None else tensor(y.numpy()) for _, y in found],
            }


def padded_sequences(seed):
    rng = Random(seed, "images", "sequences")
    ragged = [list(map(int, rng.integers(n, low=-9, high=99))) for n in (3, 0, 7, 1, 12)]
    vectors = [rng.normal(n, 2).tolist() for n in (2, 4, 1)]
    for config in [
        {}, {"maxlen": 5}, {"maxlen": 1}, {"maxlen": 20}, {"padding": "post"}, {"maxlen": 4, "truncating": "post"},
        {"maxlen": 4, "padding": "post", "truncating": "post", "value": -1}, {"value": 2.75}, {"dtype": "float32", "value": 0.5},
        {"dtype": "int64", "value": 7},
    ]:  # fmt: skip
        yield {"config": config, "sequences": ragged, "y": tensor(keras.utils.pad_sequences(ragged, **config))}
    for config in [{"dtype": "float32"}, {"dtype": "float32", "maxlen": 3, "padding": "post", "value": 1}, {}]:
        yield {"config": config, "sequences": vectors, "y": tensor(keras.utils.pad_sequences(vectors, **config))}


def generate(seed, out):
    folder = out / "pictures"
    folder.mkdir(exist_ok=True)
    files = pictures(seed)
    for name, content in files.items():
        write_bytes(folder / name, content)
    with tempfile.TemporaryDirectory() as root:
        for name in TREE:
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        listed = list(listings(pathlib.Path(root)))
    write_json(
        out / "images.json",
        {
            **header(seed),
            "tree": TREE,
            "decoded": list(decoded(folder, files)),
            "load_img": list(pillow_resized(folder)),
            "resize": list(resized(seed)),
            "resize_with_pad": list(padded_to_fit(seed)),
            "listings": listed,
            "batches": list(batches(folder)),
            "pad_sequences": list(padded_sequences(seed)),
        },
    )
