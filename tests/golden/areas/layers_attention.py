"""Attention layers and EinsumDense: masks of all kinds, causal, several axes, scores as an output."""

import keras
from keras import layers

MHA = layers.MultiHeadAttention


def einsum_dense():
    x, y = keras.Input((4, 6)), keras.Input((3, 2, 5))
    return keras.Model(
        [x, y],
        [
            layers.EinsumDense("abc,cd->abd", output_shape=(None, 3), bias_axes="d")(x),
            layers.EinsumDense("...x,xy->...y", output_shape=4, bias_axes="y", activation="relu")(x),
            layers.EinsumDense("ab...,bc->ac...", output_shape=3, bias_axes="c", activation="gelu")(x),
            layers.EinsumDense("abcd,def->abcef", output_shape=(None, None, 2, 3), bias_axes="ef")(y),
            layers.EinsumDense("abcd,cde->abe", output_shape=(None, 4), kernel_regularizer="l2")(y),
            layers.EinsumDense("abcd,bde->aeb", output_shape=(4, 3), bias_axes="e")(y),
            layers.EinsumDense("abcd,de->abce", (3, None, 3), bias_axes="be", activity_regularizer="l2")(y),
            layers.EinsumDense("abc,bcd->abd", (4, 2), bias_axes="bd", kernel_constraint="non_neg")(x),
        ],
    )


def multi_head_attention():
    q, v, k = keras.Input((4, 6)), keras.Input((5, 3)), keras.Input((5, 2))
    out, scores = MHA(2, 3, value_dim=4)(q, v, k, return_attention_scores=True)
    return keras.Model(
        [q, v, k],
        [
            MHA(2, 3)(q, q),
            MHA(1, 2, value_dim=5, use_bias=False)(q, v, key=k),
            MHA(3, 2, output_shape=4, kernel_regularizer="l2", activity_regularizer="l2")(query=q, value=v),
            MHA(2, 2, sliding_window=2, use_gate=True)(q, q, use_causal_mask=True),
            MHA(2, 2, kernel_constraint="non_neg", output_shape=[2, 3])(q, q, use_causal_mask=True),
            out,
            scores,
        ],
    )


def attention_masks():
    words, other = keras.Input((5,), dtype="int32"), keras.Input((4,), dtype="int32")
    mask, q = keras.Input((5, 5), dtype="int32"), keras.Input((5, 4))
    x = layers.Embedding(7, 4, mask_zero=True)(words)
    y = layers.Embedding(6, 4, mask_zero=True)(other)
    z = layers.Embedding(6, 3, mask_zero=True)(other)
    out, scores = MHA(2, 2)(q, q, attention_mask=mask, return_attention_scores=True, use_causal_mask=True)
    return keras.Model(
        [words, other, mask, q],
        [
            MHA(2, 3)(x, y),
            MHA(2, 3)(q, y, z),
            MHA(2, 3, dropout=0.0)(q, q, attention_mask=mask),
            layers.LSTM(3)(MHA(2, 2)(layers.Masking()(x), y, use_causal_mask=True)),
            out,
            scores * 1.0,  # without the mask that Keras leaves on scores
        ],
    )


def attention():
    words, q, v, k = keras.Input((5,), dtype="int32"), keras.Input((4, 3)), keras.Input((5, 3)), keras.Input((5, 3))
    x = layers.Embedding(7, 3, mask_zero=True)(words)
    out, scores = layers.Attention(use_scale=True)([q, v, k], return_attention_scores=True)
    return keras.Model(
        [words, q, v, k],
        [
            layers.Attention()([q, v]),
            layers.Attention(score_mode="concat")([q, v, k]),
            layers.Attention(use_scale=True, score_mode="concat")([v, v], use_causal_mask=True),
            layers.Attention()([q, x]),
            layers.Attention(use_scale=True)([x, v], use_causal_mask=True),
            layers.AdditiveAttention()([q, v]),
            layers.AdditiveAttention(use_scale=False)([x, x, k], use_causal_mask=True),
            out,
            scores,
        ],
    )


def group_query_attention():
    q, v, mask = keras.Input((4, 6)), keras.Input((5, 6)), keras.Input((4, 5), dtype="int32")
    out, scores = layers.GroupQueryAttention(2, 4, 1)(q, v, return_attention_scores=True)
    return keras.Model(
        [q, v, mask],
        [
            layers.GroupQueryAttention(3, 4, 2)(q, v),
            layers.GroupQueryAttention(2, 4, 4, use_bias=False)(q, v, v, attention_mask=mask),
            layers.GroupQueryAttention(2, 6, 2, use_gate=True)(q, q, use_causal_mask=True),
            out,
            scores,
        ],
    )


def attention_axes():
    x = keras.Input((3, 4, 5))
    return keras.Model(x, [MHA(2, 3)(x, x), MHA(2, 3, attention_axes=2)(x, x), MHA(1, 2, attention_axes=(-2,))(x, x)])


def encoder():
    """Two blocks, one with the default names, one with names."""
    x = inputs = keras.Input((6, 8))
    for index in range(2):
        y = MHA(2, 4, name=f"attention_{index}")(x, x)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(8)(layers.Dense(12, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return keras.Model(inputs, layers.Dense(3)(x[:, 0]))


MODELS = [
    ("einsum_dense", einsum_dense, [(4, 6), (3, 2, 5)]),
    ("multi_head_attention", multi_head_attention, [(4, 6), (5, 3), (5, 2)]),
    ("attention_masks", attention_masks, [("int", (5,), 7), ("int", (4,), 6), ("int", (5, 5), 2), (5, 4)]),
    ("attention", attention, [("int", (5,), 7), (4, 3), (5, 3), (5, 3)]),
    ("group_query_attention", group_query_attention, [(4, 6), (5, 6), ("int", (4, 5), 2)]),
    ("attention_axes", attention_axes, [(3, 4, 5)]),
    ("transformer_encoder", encoder, [(6, 8)]),
]
