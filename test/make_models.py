"""Writes the SavedModels in test/models with TensorFlow; PYTHON is one that has it.

    PYTHON test/make_models.py FOLDER

functions: no signatures; functions with captured variables, tables, an asset and constants, several
traces, nested arguments and results.
composites: signatures and functions that take and give ragged and sparse tensors.
datasets: functions that compute by datasets and iterators.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

import tensorflow as tf


def spec(*shape, dtype=tf.float32, name=None):
    return tf.TensorSpec(shape, dtype, name=name)


class Encoder(tf.Module):
    """All of its variables have the same name."""

    def __init__(self, factor):
        super().__init__()
        self.weights = tf.Variable([[factor, 0.0], [0.0, -factor]], name="v")

    @tf.function(input_signature=[spec(None, 2, name="x")])
    def predict(self, x):
        return x @ self.weights


class Functions(tf.Module):
    def __init__(self, words):
        super().__init__()
        self.scale = tf.Variable(3.0, name="v")
        self.calls = tf.Variable(0, dtype=tf.int64, name="calls")
        self.offset = tf.constant([10.0, 20.0])
        self.encoder = Encoder(2.0)
        self.layers = [Encoder(3.0), Encoder(4.0)]
        line = tf.lookup.TextFileInitializer(
            words,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticHashTable(line, -1)
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([7, 8], tf.int64))
        self.pairs = tf.lookup.StaticHashTable(pairs, -2)
        self.mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -3)
        self.words = tf.saved_model.Asset(words)

    @tf.function
    def scaled(self, x, by=2.0, negative=False):
        if negative:
            return -x * tf.cast(by, x.dtype)
        return {"y": x * tf.cast(self.scale, x.dtype), "both": (x, x + tf.cast(by, x.dtype))}

    @tf.function(input_signature=[])
    def count(self):
        return self.calls.assign_add(1)

    @tf.function(input_signature=[spec(dtype=tf.int64)])
    def reset(self, to):
        self.calls.assign(to)

    @tf.function(input_signature=[spec(None, dtype=tf.string)])
    def find(self, word):
        return self.table.lookup(word), self.pairs.lookup(word)

    @tf.function(input_signature=[spec(None, dtype=tf.string)])
    def remember(self, word):
        self.mutable.insert(word, tf.range(tf.size(word, tf.int64)))
        return self.mutable.size()

    @tf.function(input_signature=[])
    def text(self):
        return tf.io.read_file(self.words.asset_path)

    @tf.function(input_signature=[{"a": spec(), "pair": [spec(2), spec(2)]}])
    def nested(self, values):
        return values["a"] + self.offset + values["pair"][0] - values["pair"][1]

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def ragged(self, rows):
        return tf.reduce_sum(rows, 1)

    @tf.function(input_signature=[spec(dtype=tf.int32)])
    def sum_below(self, n):
        total = tf.constant(0)
        for i in tf.range(n):
            total += i
        return total

    @tf.function
    def either(self, a, b):
        return a + b


def write_functions(folder):
    folder = folder.absolute()
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        Path("words.txt").write_text("zero\none\ntwo\n")
        model = Functions("words.txt")
        trace = model.scaled.get_concrete_function
        trace(spec(None))
        trace(spec(None, dtype=tf.int32))
        trace(spec(2, 2), negative=True)
        trace(spec(3), 5.0)
        model.alone = trace(spec(1))
        model.either.get_concrete_function(spec(None, 2), spec(None, 2))
        model.either.get_concrete_function(spec(2, None), spec(2, None))
        options = tf.saved_model.SaveOptions(function_aliases={"scaling": model.scaled})
        tf.saved_model.save(model, str(folder / "functions"), options=options)
    (folder / "functions" / "fingerprint.pb").unlink()


class Composites(tf.Module):
    @tf.function(input_signature=[spec(None, dtype=tf.string)])
    def split(self, text):
        words = tf.strings.split(text)
        return {"words": words, "count": words.row_lengths(), "bytes": tf.strings.length(words)}

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, None], tf.int32)])
    def deep(self, x):
        return {"y": x + 1, "sum": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
    def doubled(self, x):
        return {"dense": tf.sparse.to_dense(x) * 2, "sparse": x * 2.0}

    @tf.function
    def nested(self, values, twice=True):
        rows, cells = values["rows"], values["cells"]
        return [rows * (2.0 if twice else 1.0), {"both": (cells, rows.row_lengths())}]

    @tf.function
    def rows(self, slices):
        return slices.values, slices.indices


def write_composites(folder):
    model = Composites()
    model.nested.get_concrete_function(
        {
            "rows": tf.RaggedTensorSpec([None, None], tf.float32),
            "cells": tf.SparseTensorSpec([2, 2], tf.float32),
        }
    )
    model.rows.get_concrete_function(tf.IndexedSlicesSpec([4, 2], tf.float32))
    signatures = {
        name: getattr(model, name).get_concrete_function() for name in ("split", "deep", "doubled")
    }
    tf.saved_model.save(model, str(folder / "composites"), signatures=signatures)
    (folder / "composites" / "fingerprint.pb").unlink()


class Datasets(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(2.0, name="scale")

    @tf.function(input_signature=[spec(None)])
    def total(self, x):
        rows = tf.data.Dataset.from_tensor_slices(x).map(lambda one: one * self.scale)
        return rows.reduce(0.0, lambda sum, one: sum + one)

    @tf.function(input_signature=[spec(dtype=tf.int64)])
    def shapes(self, n):
        numbers = tf.data.Dataset.range(n)
        windows = numbers.window(3, shift=2).flat_map(lambda window: window.batch(3))
        padded = numbers.map(lambda i: tf.fill([i], i)).padded_batch(4)
        mixed = numbers.interleave(lambda i: tf.data.Dataset.range(i), 2, 2)
        return {
            "windows": windows.map(tf.reduce_sum).batch(99).get_single_element(),
            "padded": padded.map(tf.shape).batch(99).get_single_element(),
            "mixed": mixed.batch(99).get_single_element(),
            "cardinality": numbers.skip(1).batch(2).repeat(3).cardinality(),
        }

    @tf.function(input_signature=[spec(None)])
    def until(self, x):
        sum = tf.constant(0.0)
        for i, one in tf.data.Dataset.from_tensor_slices(x).enumerate():
            if one < 0:
                break
            sum += one * tf.cast(i, tf.float32)
        return sum

    @tf.function(input_signature=[spec(None)])
    def by_iterator(self, x):
        rows = iter(tf.data.Dataset.from_tensor_slices(x).filter(lambda one: one > 1))
        first = next(rows)
        rest = 0.0
        for one in rows:
            rest += one
        return first, rest

    @tf.function(input_signature=[spec(None)])
    def only(self, x):
        return tf.data.Dataset.from_tensor_slices(x).get_single_element()

    @tf.function(input_signature=[spec(dtype=tf.int64)])
    def shuffled(self, n):
        return tf.data.Dataset.range(n).shuffle(2).reduce(n, lambda a, b: a + b)


def write_datasets(folder):
    tf.saved_model.save(Datasets(), str(folder / "datasets"))
    (folder / "datasets" / "fingerprint.pb").unlink()


if __name__ == "__main__":
    write_functions(Path(sys.argv[1]))
    write_composites(Path(sys.argv[1]))
    write_datasets(Path(sys.argv[1]))
