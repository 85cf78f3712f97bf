#!/usr/bin/env python3
"""Makes SavedModels of nets of many kinds, with random weights and TensorFlow's answers, for
`./dev bench models`.

    PYTHON=build/bench-venv/bin/python
    $PYTHON bench/make_models.py OUT               every net
    $PYTHON bench/make_models.py OUT vit speech    those whose names have one of these

Normalisations have statistics as trained nets do, so that nothing is multiplied by 1.
"""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

random = np.random.default_rng(7)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def trained(net):
    """The net, as if it had been trained."""
    for weight in net.weights:
        shape, name = weight.shape, weight.path.rsplit("/", 1)[-1]
        if name in ("moving_mean", "beta", "bias"):
            weight.assign(0.1 * normal(*shape))
        elif name in ("moving_variance", "gamma"):
            weight.assign(1 + 0.3 * np.abs(normal(*shape)))
    return net


def signature(net, data, name="image", before=lambda x: x, after=lambda y: {"result": y}):
    """A module, its function with the first dimension free, and the inputs of a call."""
    module = tf.Module()
    module.net = net
    shape = [None, *data.shape[1:]]
    module.call = tf.function(
        lambda x: after(net(before(x), training=False)),
        input_signature=[tf.TensorSpec(shape, data.dtype, name=name)],
    )
    return module, {name: data}


def application(name, size=224, scale=1.0):
    net = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3))
    return signature(trained(net), scale * normal(1, size, size, 3))


def vit(width=192, depth=6, heads=3, patch=16, size=224):
    image = keras.Input((size, size, 3))
    x = layers.Reshape((-1, width))(layers.Conv2D(width, patch, patch)(image))
    for _ in range(depth):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.MultiHeadAttention(heads, width // heads)(y, y)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = keras.activations.gelu(layers.Dense(4 * width)(y), approximate=True)
        x = x + layers.Dense(width)(y)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    net = keras.Model(image, layers.Dense(100, activation="softmax")(x[:, 0]))
    return signature(trained(net), normal(1, size, size, 3))


def unet(up, size=128):
    def block(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        return x

    image = x = keras.Input((size, size, 3))
    skips = []
    for width in (32, 64, 128):
        x = block(x, width)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, 256)
    for skip in reversed(skips):
        x = layers.Concatenate()([skip, up(skip.shape[-1])(x)])
        x = block(x, skip.shape[-1])
    net = keras.Model(image, layers.Conv2D(4, 1, activation="softmax")(x))
    return signature(trained(net), normal(1, size, size, 3))


def detector(size=256, classes=20):
    """Depthwise convolutions, heads at three scales, and the suppression of boxes."""
    image = keras.Input((size, size, 3))
    x = layers.ReLU(6.0)(layers.Conv2D(16, 3, 2, padding="same")(image))
    levels = []
    for width in (64, 128, 256, 256):
        x = layers.DepthwiseConv2D(3, 2, padding="same", use_bias=False)(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        x = layers.Conv2D(width, 1, use_bias=False)(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        levels.append(x)
    boxes, scores = [], []
    for x in levels[1:]:
        x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
        boxes.append(layers.Reshape((-1, 4))(layers.Conv2D(12, 3, padding="same")(x)))
        logits = layers.Conv2D(3 * classes, 3, padding="same")(x)
        scores.append(layers.Reshape((-1, classes))(logits))
    join = layers.Concatenate(axis=1)
    net = keras.Model(image, [join(boxes), join(scores)])

    def suppress(results):
        shift, logits = results
        places = tf.constant(random.random((shift.shape[1], 2)), tf.float32)
        center, half = places + 0.1 * shift[..., :2], 0.05 * tf.exp(0.3 * shift[..., 2:])
        corners = tf.concat([center - half, center + half], -1)[:, :, None]
        best = tf.image.combined_non_max_suppression(
            corners, tf.sigmoid(10 * logits), 50, 100, 0.5, 0.3
        )
        return {"boxes": best[0], "scores": best[1]}

    return signature(trained(net), normal(1, size, size, 3), after=suppress)


def spectrogram(audio, bins=40):
    spectrum = tf.abs(tf.signal.stft(audio, 400, 160, 512, pad_end=True))
    weights = tf.signal.linear_to_mel_weight_matrix(bins, 257, 16000, 20.0, 7600.0)
    return tf.math.log(tf.tensordot(spectrum, weights, 1) + 1e-6)


def speech(cell):
    frames = keras.Input((None, 40))
    x = layers.Reshape((-1, 40, 1))(frames)
    for stride in ((2, 2), (1, 2)):
        x = layers.Conv2D(32, 3, stride, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Reshape((-1, 320))(x)
    for _ in range(2):
        x = layers.Bidirectional(cell(128, return_sequences=True))(x)
    net = keras.Model(frames, layers.Dense(29, activation="softmax")(x))
    return signature(trained(net), normal(1, 24000), "audio", before=spectrogram)


NETS = {
    "densenet121": lambda: application("DenseNet121"),
    "detector": detector,
    "efficientnet_b0": lambda: application("EfficientNetB0", scale=50),
    "mobilenet_v3": lambda: application("MobileNetV3Large", scale=50),
    "speech_gru": lambda: speech(layers.GRU),
    "speech_lstm": lambda: speech(layers.LSTM),
    "unet_resized": lambda: unet(lambda width: layers.UpSampling2D(interpolation="bilinear")),
    "unet_transposed": lambda: unet(
        lambda width: layers.Conv2DTranspose(width, 2, 2, activation="relu")
    ),
    "vit": vit,
}


def save(name, folder):
    keras.utils.set_random_seed(1)
    module, inputs = NETS[name]()
    tf.saved_model.save(module, folder, signatures={"serving_default": module.call})
    call = tf.saved_model.load(folder).signatures["serving_default"]
    outputs = call(**{key: tf.constant(value) for key, value in inputs.items()})
    arrays = {f"in/{key}": value for key, value in inputs.items()}
    arrays |= {f"out/{key}": value.numpy() for key, value in outputs.items()}
    np.savez(folder / "io.npz", **arrays)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for name in NETS:
        if len(sys.argv) == 2 or any(part in name for part in sys.argv[2:]):
            save(name, pathlib.Path(sys.argv[1]) / name)
            print(name)


if __name__ == "__main__":
    main()
