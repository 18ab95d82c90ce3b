"""What Keras' layers that change images make of given draws, and the models that hold these layers."""

import json
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .common import Random, header, tensor, tensors, write_json

ROWS, HEIGHT, WIDTH = 3, 5, 6


def images(random, low, high, channels=3, sides=(HEIGHT, WIDTH)):
    """Random values, a black pixel, a grey one and one with two equal channels."""
    x = random.uniform(ROWS, *sides, channels, low=low, high=high)
    x[0, 0, 0] = 0.0
    x[0, 0, 1] = x[0, 0, 1, 0]
    x[1, 2, 3, -1] = x[1, 2, 3, 0]
    return x


def case(
    seed, layer, transformation, each=(), shared=(), normal=None, bounds=(0.0, 1.0), channels=3, transform=None, gammas=0,
    sides=(HEIGHT, WIDTH), normal_channels=None
):
    """`each`, `shared`: limits of the numbers of an image and of those of the batch; `transformation` makes of
    (images, numbers of each, of all, normal ones) what the layer's own draws would be."""
    name = type(layer).__name__
    random = Random(seed, "augmentation_layers", name, json.dumps(layer.get_config(), default=str, sort_keys=True))
    x = images(random, *bounds, channels, sides)
    numbers = np.stack([random.uniform(ROWS, low=a, high=b) for a, b in each], 1) if each else None
    of_all = np.stack([random.uniform(1, low=a, high=b) for a, b in shared], 1) if shared else None
    drawn = random.normal(*x.shape[:3], normal_channels or channels) if normal else random.normal(1, gammas) if gammas else None
    y = (transform or layer.transform_images)(x, transformation(x, numbers, of_all, drawn))
    result = {
        "class": name,
        "config": keras.saving.serialize_keras_object(layer)["config"],
        "x": tensor(x),
        "y": tensor(np.asarray(y)),
    }
    for key, value in (("each", numbers), ("all", of_all), ("gamma" if gammas else "normal", drawn)):
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


def elastic(seed):
    """Keras draws the shifts along both axes with one seed: they are equal."""
    unit = (0.0, 1.0)
    for mode, interpolation, sides in (
        ("reflect", "bilinear", (HEIGHT, WIDTH)),
        ("constant", "nearest", (21, 24)),
        ("wrap", "bilinear", (24, 21)),
        ("nearest", "bilinear", (22, 22)),
    ):
        layer = layers.RandomElasticTransform(
            (0.5, 0.9), scale=(0.95, 1.0), interpolation=interpolation, fill_mode=mode, fill_value=0.5,
            value_range=(0.1, 0.9))

        def drawn(x, n, s, normal):
            return {"apply_transform": n[:, 1] < n[:, 0], "distortion_factor": s[0, 0], "seed": 1}, normal

        def transformed(x, given, layer=layer):
            transformation, normal = given
            with mock.patch.object(tf.random, "stateless_normal", lambda **_: tf.constant(normal[..., 0])):
                return layer._transform_images(tf.constant(x), transformation, layer.interpolation)

        yield case(seed, layer, drawn, [(0.5, 0.9), unit], [(0.95, 1.0)], normal=True, normal_channels=1, channels=2,
                   transform=transformed, sides=sides)


def evened(seed):
    def nothing(*_):
        return None

    yield case(seed, layers.AutoContrast(), nothing, bounds=(20.0, 180.0), channels=2)
    yield case(seed, layers.AutoContrast(value_range=(0, 1)), nothing, bounds=(0.3, 0.5))
    yield case(seed, layers.Equalization(), nothing, bounds=(20.0, 180.0), channels=2)
    yield case(seed, layers.Equalization(value_range=(0, 1), bins=7), nothing, bounds=(0.3, 0.9))


def tiled(seed):
    def nothing(*_):
        return None

    Clahe = layers.ContrastLimitedAdaptiveHistogramEqualization
    yield case(seed, Clahe(tile_grid_size=(2, 3)), nothing, bounds=(20.0, 180.0))
    yield case(seed, Clahe(tile_grid_size=(2, 4), clip_limit=80.0), nothing, bounds=(20.0, 180.0), channels=1)
    yield case(seed, Clahe((0, 1), clip_limit=0.0, tile_grid_size=(1, 2)), nothing)


NUMBERS = {  # of each layer of RandAugment with a factor of (low, high)
    "random_shear": lambda low, high: [(0.0, 1.0), (low, high), (low, high)],
    "random_translation": lambda low, high: [(low, high), (low, high)],
    "random_rotation": lambda low, high: [(360.0 * low, 360.0 * high)],
    "random_brightness": lambda low, high: [(low, high)],
    "random_color_degeneration": lambda low, high: [(low, high)],
    "random_contrast": lambda low, high: [(1.0 - low, 1.0 + high)],
    "random_sharpness": lambda low, high: [(low, high)],
    "random_posterization": lambda low, high: [(1.0, max(1, int(8 * high)))],
    "solarization": lambda low, high: [(low, 255.0 * high), (low, 255.0 * high)],
    "auto_contrast": lambda low, high: [],
    "equalization": lambda low, high: [],
}


def part_transformation(policy, name, x, n):
    """What a layer of RandAugment or AugMix would have drawn."""
    if name == "random_shear":
        return {"shear_factor": np.stack([n[:, 2], n[:, 1]], 1) * sign(n[:, :1]), "input_shape": x.shape}
    if name == "random_translation":
        return {"translations": np.stack([n[:, 1] * WIDTH, n[:, 0] * HEIGHT], 1).astype("float32")}
    if name == "random_rotation":
        zeros = np.zeros(ROWS, "float32")
        matrix = policy.random_rotation._compute_affine_matrix(
            0.5, 0.5, n[:, 0], zeros, zeros, zeros + 1.0, zeros, zeros, HEIGHT, WIDTH)
        return {"rotation_matrix": matrix}
    if name == "random_brightness":
        low, high = policy.value_range
        return {"rgb_delta": n[:, 0, None, None, None] * (high - low)}
    if name == "random_contrast":
        return {"contrast_factor": n[:, 0, None, None, None]}
    if name == "random_color_degeneration":
        return {"factor": n[:, 0, None, None, None]}
    if name == "random_sharpness":
        return {"factor": n[:, 0]}
    if name == "random_posterization":
        return {"shift_factor": (8 - np.floor(n[:, 0])).astype("uint8")}
    if name == "solarization":
        return {"additions": n[:, 0, None, None, None], "thresholds": n[:, 1, None, None, None]}
    return None


def policies(seed):
    for factor in (0.5, (0.1, 0.7)):
        layer = layers.RandAugment(num_ops=3, factor=factor, interpolation="nearest")
        names = layer._AUGMENT_LAYERS
        ranges = [NUMBERS[name](*layer.factor) for name in names]
        first = np.cumsum([0] + [len(r) for r in ranges])

        def chosen(x, n, s, _):
            return {
                "layer_idxes": np.floor(s[0]).astype("int32"),
                "transforms": {
                    name: part_transformation(layer, name, x, n[:, first[i] : first[i + 1]])
                    for i, name in enumerate(names)
                },
            }

        for high in (4, 8, 11):
            entry = case(seed, layer, chosen, sum(ranges, []), [(0.0, high), (3.0, 9.0), (5.0, 11.0)],
                         bounds=(0.0, 255.0))
            yield entry

    for all_ops in (True, False):
        layer = layers.AugMix(value_range=(0, 1), num_chains=2, chain_depth=3, all_ops=all_ops)
        names = layer._augment_layers

        def chains(x, n, s, gamma):
            weights = np.exp(gamma[0, :2]) / np.exp(gamma[0, :2]).sum()
            made = []
            for chain in range(2):
                depth = []
                for i in range(3):
                    place = 3 * chain + i
                    choice = int(s[0, place])
                    if choice == len(names):
                        continue
                    limits = NUMBERS[names[choice]](*layer.factor)
                    own = [n[:, 3 * place + j] * np.float32(b - a) + np.float32(a) for j, (a, b) in enumerate(limits)]
                    own = np.stack(own, 1) if own else None
                    depth.append({
                        "layer_name": names[choice],
                        "transformation": part_transformation(layer, names[choice], x, own),
                    })
                made.append(depth)
            return {
                "chain_mixing_weights": weights,
                "weight_sample": 1.0 / (1.0 + np.exp(gamma[0, 3] - gamma[0, 2])),
                "chain_transforms": made,
            }

        yield case(seed, layer, chains, [(0.0, 1.0)] * 18, [(0.0, len(names) + 1.0)] * 6, gammas=4)


def mixed(seed):
    for name, layer in (("mix_up", layers.MixUp(0.3)), ("cut_mix", layers.CutMix((0.2, 0.9)))):
        random = Random(seed, "augmentation_layers", name)
        x, labels = random.normal(ROWS, HEIGHT, WIDTH, 2), random.probabilities(ROWS, 4)
        order, gamma, places = np.array([2, 0, 1], "int32"), random.normal(ROWS, 2), random.uniform(ROWS, 2)
        weight = (1.0 / (1.0 + np.exp(gamma[:, 1] - gamma[:, 0]))).astype("float32")
        transformation = {"mix_weight": weight, "permutation_order": order}
        if name == "cut_mix":
            def bounds(place, length):
                size = np.sqrt(1.0 - weight) * np.float32(length)
                return place * (length - size), place * (length - size) + size

            corners = (*bounds(places[:, 0], WIDTH), *bounds(places[:, 1], HEIGHT))
            masks, weight = layer._generate_batch_mask(x.shape, corners)
            transformation.update(batch_masks=masks, mix_weight=weight)
        symbols = {"images": keras.Input((HEIGHT, WIDTH, 2)), "labels": keras.Input((4,))}
        outputs = layer(symbols)
        model = keras.Model(list(symbols.values()), [outputs["images"], outputs["labels"]])
        yield {
            "class": type(layer).__name__,
            "config": keras.saving.serialize_keras_object(layer)["config"],
            "x": tensors([x, labels]),
            "partners": tensors([x[order], labels[order]]),
            "gamma": tensor(gamma),
            "each": tensor(places),
            "y": tensors([np.asarray(layer.transform_images(x, transformation)),
                          np.asarray(layer.transform_labels(labels, transformation))]),
            "model": json.loads(model.to_json()),
        }


def nested(seed):
    """Layers of dictionaries and of layers: models and what they predict."""
    random = Random(seed, "augmentation_layers", "nested")
    for boxes in (2, 5):
        symbols = {
            "bounding_boxes": {"boxes": keras.Input((boxes, 4)), "labels": keras.Input((boxes,))},
            "images": keras.Input((4, 5, 3)),
        }
        outputs = layers.MaxNumBoundingBoxes(3, bounding_box_format="xyxy")(symbols)
        model = keras.Model(keras.tree.flatten(symbols), keras.tree.flatten(outputs))
        x = [random.normal(ROWS, *s.shape[1:]) for s in keras.tree.flatten(symbols)]
        yield {"model": json.loads(model.to_json()), "x": tensors(x),
               "predicted": tensors(model.predict(x, verbose=0))}
    x = keras.Input((4, 5, 3))
    pipeline = layers.Pipeline([layers.AutoContrast(), layers.RandomHue(0.2), layers.Rescaling(0.5)])
    model = keras.Model(x, pipeline(x))
    value = random.uniform(ROWS, 4, 5, 3, high=255.0)
    yield {"model": json.loads(model.to_json()), "x": tensors([value]),
           "predicted": tensors([model.predict(value, verbose=0)])}


def generate(seed, out):
    parts = (colours, erased, moved, elastic, evened, tiled, policies)
    cases = [c for part in parts for c in part(seed)]
    document = {**header(seed), "cases": cases, "mixed": list(mixed(seed)), "nested": list(nested(seed))}
    write_json(out / "augmentation_layers.json", document)
