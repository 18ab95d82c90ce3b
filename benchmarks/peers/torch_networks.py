"""The convolutional networks of torch_train.py that are not its own: as torchvision and d2l have them, by hand."""

from torch import nn


def normalized(inputs, outputs, size, stride=1, padding=None, groups=1):
    padding = size // 2 if padding is None else padding
    return [
        nn.Conv2d(inputs, outputs, size, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


class Residual(nn.Module):
    """path(x) + shortcut(x), perhaps with a ReLU behind."""

    def __init__(self, path, shortcut=None, relu=True):
        super().__init__()
        self.path = nn.Sequential(*path)
        self.shortcut = nn.Sequential(*shortcut) if shortcut else nn.Identity()
        self.end = nn.ReLU(inplace=True) if relu else nn.Identity()

    def forward(self, x):
        return self.end(self.path(x) + self.shortcut(x))


def relu():
    return nn.ReLU(inplace=True)


def head(width, classes):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)]


def resnet18():
    """d2l's for Fashion-MNIST: a stem of 3x3 with neither stride nor pooling."""
    layers, width = [*normalized(1, 64, 3), relu()], 64
    for filters in (64, 128, 256, 512):
        for index in range(2):
            stride = 2 if index == 0 and filters > 64 else 1
            path = [*normalized(width, filters, 3, stride), relu(), *normalized(filters, filters, 3)]
            layers.append(Residual(path, normalized(width, filters, 1, stride) if width != filters else None))
            width = filters
    return nn.Sequential(*layers, *head(512, 10))


def resnet50():
    """The stride stands on the first convolution of a block, as in Keras."""
    layers, width = [*normalized(3, 64, 7, 2), relu(), nn.MaxPool2d(3, 2, 1)], 64
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for index in range(blocks):
            stride = 2 if index == 0 and filters > 64 else 1
            path = [
                *normalized(width, filters, 1, stride), relu(),
                *normalized(filters, filters, 3), relu(),
                *normalized(filters, 4 * filters, 1)]  # fmt: skip
            layers.append(Residual(path, normalized(width, 4 * filters, 1, stride) if index == 0 else None))
            width = 4 * filters
    return nn.Sequential(*layers, *head(2048, 1000))


def mobilenet_v2():
    def relu6():
        return nn.ReLU6(inplace=True)

    layers, width = [*normalized(3, 32, 3, 2), relu6()], 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, filters, blocks, first in stages:
        for index in range(blocks):
            stride, inner = first if index == 0 else 1, expansion * width
            path = [*normalized(width, inner, 1), relu6()] if expansion > 1 else []
            path += [*normalized(inner, inner, 3, stride, groups=inner), relu6(), *normalized(inner, filters, 1)]
            residual = stride == 1 and width == filters
            layers += [Residual(path, relu=False)] if residual else path
            width = filters
    return nn.Sequential(*layers, *normalized(width, 1280, 1), relu6(), *head(1280, 1000))


def xception():
    def separable(inputs, outputs):
        depthwise = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False)
        return [depthwise, *normalized(inputs, outputs, 1)]

    def reduction(inputs, middle, outputs, first):
        path = [nn.ReLU()] if first else []  # not in place: the shortcut reads the same tensor
        path += [*separable(inputs, middle), relu(), *separable(middle, outputs), nn.MaxPool2d(3, 2, 1)]
        return Residual(path, normalized(inputs, outputs, 1, 2), relu=False)

    def middle():
        path = [nn.ReLU(), *separable(728, 728), relu(), *separable(728, 728), relu(), *separable(728, 728)]
        return Residual(path, relu=False)

    return nn.Sequential(
        *normalized(3, 32, 3, 2, 0), relu(), *normalized(32, 64, 3, 1, 0), relu(),
        reduction(64, 128, 128, False), reduction(128, 256, 256, True), reduction(256, 728, 728, True),
        *(middle() for _ in range(8)), reduction(728, 728, 1024, True),
        *separable(1024, 1536), relu(), *separable(1536, 2048), relu(), *head(2048, 1000))  # fmt: skip
