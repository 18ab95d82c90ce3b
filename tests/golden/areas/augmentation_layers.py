"""What Keras' layers that change images make of given draws, and the models that hold these layers."""

import json

import keras
import numpy as np
from keras import layers

from .common import Random, header, tensor, write_json

ROWS, HEIGHT, WIDTH = 3, 5, 6


def images(random, low, high, channels=3):
    """Random values, a black pixel, a grey one and one with two equal channels."""
    x = random.uniform(ROWS, HEIGHT, WIDTH, channels, low=low, high=high)
    x[0, 0, 0] = 0.0
    x[0, 0, 1] = x[0, 0, 1, 0]
    x[1, 2, 3, -1] = x[1, 2, 3, 0]
    return x


def case(seed, layer, transformation, each=(), shared=(), normal=None, bounds=(0.0, 1.0), channels=3, transform=None):
    """`each`, `shared`: limits of the numbers of an image and of those of the batch; `transformation` makes of
    (images, numbers of each, of all, normal ones) what the layer's own draws would be."""
    name = type(layer).__name__
    random = Random(seed, "augmentation_layers", name, json.dumps(layer.get_config(), default=str, sort_keys=True))
    x = images(random, *bounds, channels)
    numbers = np.stack([random.uniform(ROWS, low=a, high=b) for a, b in each], 1) if each else None
    of_all = np.stack([random.uniform(1, low=a, high=b) for a, b in shared], 1) if shared else None
    drawn = random.normal(*x.shape) if normal else None
    y = (transform or layer.transform_images)(x, transformation(x, numbers, of_all, drawn))
    result = {
        "class": name,
        "config": keras.saving.serialize_keras_object(layer)["config"],
        "x": tensor(x),
        "y": tensor(np.asarray(y)),
    }
    for key, value in (("each", numbers), ("all", of_all), ("normal", drawn)):
        if value is not None:
            result[key] = tensor(value)
    if name != "Equalization":  # which Keras cannot place in a graph
        symbol = keras.Input(x.shape[1:])
        model = keras.Model(symbol, layer(symbol))
        result["model"] = json.loads(model.to_json())
        result["predicted"] = tensor(model.predict(x, verbose=0))
    return result


def sign(u):
    return np.where(u > 0.5, -1.0, 1.0).astype("float32")


def colours(seed):
    unit, byte = (0.0, 1.0), (0.0, 255.0)

    def hue(x, n, *_):
        return {"factor": sign(n[:, 0]) * n[:, 1] * 0.5}

    yield case(seed, layers.RandomHue((0.1, 0.9), value_range=(0, 1)), hue, [unit, (0.1, 0.9)])
    yield case(seed, layers.RandomHue(0.5), hue, [unit, (0.0, 0.5)], bounds=byte)
    yield case(seed, layers.RandomHue(0.5, value_range=(-1, 1), seed=4), hue, [unit, (0.0, 0.5)], bounds=(-1.0, 1.0))

    def saturation(x, n, *_):
        return {"factor": n[:, 0] / (1 - n[:, 0] + keras.backend.epsilon())}

    yield case(seed, layers.RandomSaturation((0.1, 0.9), value_range=(0, 1)), saturation, [(0.1, 0.9)])
    yield case(seed, layers.RandomSaturation(0.8), saturation, [(-0.8, 0.8)], bounds=byte)

    def grey(x, n, *_):
        return (n[:, 0] < 0.6)[:, None, None, None]

    yield case(seed, layers.RandomGrayscale(0.6), grey, [unit])
    yield case(seed, layers.RandomGrayscale(0.6), grey, [unit], channels=1)

    def factor4(x, n, *_):
        return {"factor": n[:, :1, None, None]}

    yield case(seed, layers.RandomColorDegeneration((0.2, 0.9), value_range=(0.1, 0.8)), factor4, [(0.2, 0.9)])
    yield case(seed, layers.RandomColorDegeneration(0.5), factor4, [(-0.5, 0.5)], bounds=byte)

    def inverted(x, n, *_):
        return {"apply_inversion": n[:, 1] < n[:, 0]}

    for value_range in ((0, 255), (-0.5, 1.5)):
        layer = layers.RandomInvert((0.2, 0.8), value_range=value_range)
        yield case(seed, layer, inverted, [(0.2, 0.8), unit], channels=2)

    def posterized(x, n, *_):
        return {"shift_factor": (8 - np.floor(n[:, 0])).astype("uint8")}

    yield case(seed, layers.RandomPosterization(5), posterized, [(1.0, 5.0)], bounds=byte)
    yield case(seed, layers.RandomPosterization((3, 3), value_range=(0, 1)), posterized, [(3.0, 3.0)])

    def solarized(x, n, *_):
        return {"additions": n[:, 0, None, None, None], "thresholds": n[:, 1, None, None, None]}

    yield case(seed, layers.Solarization(), solarized, [(0.0, 0.0), (0.0, 0.0)], bounds=byte)
    yield case(seed, layers.Solarization(0.3, (0.2, 0.6), value_range=(0, 1)), solarized, [(0.0, 76.5), (0.2, 153.0)])

    def sharp(x, n, *_):
        return {"factor": n[:, 0]}

    yield case(seed, layers.RandomSharpness((0.1, 0.9), value_range=(0, 1)), sharp, [(0.1, 0.9)])
    yield case(seed, layers.RandomSharpness(1.0), sharp, [unit], bounds=byte, channels=2)

    def blurred(x, n, s, _):
        return {"should_apply_blur": n[:, 1] < n[:, 0], "blur_factor": s[0] + np.float32(1e-6)}

    for size in (3, 5):
        layer = layers.RandomGaussianBlur((0.5, 0.9), kernel_size=size, sigma=(0.2, 0.9), value_range=(0.1, 0.9))
        yield case(seed, layer, blurred, [(0.5, 0.9), unit], [(0.2, 0.9), (0.2, 0.9)], channels=2)
    layer = layers.RandomGaussianBlur(kernel_size=(3, 5))
    yield case(seed, layer, blurred, [(0.9, 1.0), unit], [(0.2, 0.9), (0.2, 0.9)], bounds=byte)

    layer = layers.RandomColorJitter(
        brightness_factor=0.2, contrast_factor=(0.2, 0.5), saturation_factor=(0.3, 0.8), hue_factor=0.4)

    def jittered(x, n):
        """The parts one behind the other, by given numbers."""
        x = keras.ops.convert_to_tensor(x)
        x = layer.random_brightness.transform_images(x, {"rgb_delta": n[:, 0, None, None, None] * 255.0})
        x = layer.random_contrast.transform_images(x, {"contrast_factor": n[:, 1, None, None, None]})
        x = layer.random_saturation.transform_images(x, saturation(x, n[:, 2:]))
        return layer.random_hue.transform_images(x, hue(x, n[:, 3:]))

    limits = [(-0.2, 0.2), (0.8, 1.5), (0.3, 0.8), unit, (0.0, 0.4)]
    yield case(seed, layer, lambda x, n, *_: n, limits, bounds=byte, transform=jittered)


def erased(seed):
    unit = (0.0, 1.0)
    scale = (0.1, 0.6)

    def transformation(layer):
        def made(x, n, _, normal):
            def bounds(ratio, place, length):
                begin = place * (length - ratio * length)
                return begin, begin + ratio * length

            ratios = np.sqrt(n[:, :2])
            x0, x1 = bounds(ratios[:, 0], n[:, 2], np.float32(WIDTH))
            y0, y1 = bounds(ratios[:, 1], n[:, 3], np.float32(HEIGHT))
            fill = layer._get_fill_value(x, x.shape, None) if normal is None else np.clip(
                normal * layer.value_range[1], *layer.value_range)
            return {
                "apply_erasing": n[:, 5] < n[:, 4],
                "batch_masks": layer._generate_batch_mask(x.shape, (x0, x1, y0, y1)),
                "fill_value": fill,
            }
        return made

    for fill in (None, 0.25, (0.1, 0.2, 1.5)):
        layer = layers.RandomErasing((0.6, 0.9), scale=scale, fill_value=fill, value_range=(0, 1))
        limits = [scale, scale, unit, unit, (0.6, 0.9), unit]
        yield case(seed, layer, transformation(layer), limits, normal=fill is None)


def moved(seed):
    unit = (0.0, 1.0)

    def sheared(x, n, *_):
        return {"shear_factor": np.stack([n[:, 2], n[:, 1]], 1) * sign(n[:, :1]), "input_shape": x.shape}

    for mode in ("reflect", "constant", "nearest", "wrap"):
        how = {"fill_mode": mode, "fill_value": 0.5, "interpolation": "nearest" if mode == "wrap" else "bilinear"}
        yield case(seed, layers.RandomShear((0.1, 0.9), (0.2, 0.4), **how), sheared, [unit, (0.2, 0.4), (0.1, 0.9)])
    yield case(seed, layers.RandomShear(0.5), sheared, [unit, (0.0, 0.0), (-0.5, 0.5)])

    def seen(x, n, *_):
        right, bottom = WIDTH - 1, HEIGHT - 1
        start = np.array([[[0, 0], [right, 0], [0, bottom], [right, bottom]]], "float32").repeat(ROWS, 0)
        end = start + start * n[:, 2:].reshape(ROWS, 4, 2)
        return {"apply_perspective": n[:, 1] < n[:, 0], "start_points": start, "end_points": end}

    for scale in (0.3, 1.0):
        for interpolation in ("bilinear", "nearest"):
            layer = layers.RandomPerspective((0.8, 1.0), scale=scale, interpolation=interpolation, fill_value=0.5)
            yield case(seed, layer, seen, [(0.8, 1.0), unit] + [(-0.5 * scale, 0.5 * scale)] * 8)


def evened(seed):
    def nothing(*_):
        return None

    yield case(seed, layers.AutoContrast(), nothing, bounds=(20.0, 180.0), channels=2)
    yield case(seed, layers.AutoContrast(value_range=(0, 1)), nothing, bounds=(0.3, 0.5))
    yield case(seed, layers.Equalization(), nothing, bounds=(20.0, 180.0), channels=2)
    yield case(seed, layers.Equalization(value_range=(0, 1), bins=7), nothing, bounds=(0.3, 0.9))


def generate(seed, out):
    cases = [c for part in (colours, erased, moved, evened) for c in part(seed)]
    write_json(out / "augmentation_layers.json", {**header(seed), "cases": cases})
