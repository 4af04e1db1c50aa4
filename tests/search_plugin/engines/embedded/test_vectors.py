"""Vectors in 8 bits: what is read differs by at most half of the scale from what was stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from search_plugin.contract.schema import VectorField, paper_vector, sentence_vectors
from search_plugin.engines.embedded.vectors import as_stored, read_stored, stored_type

NUMBERS = st.floats(-(2.0**60), 2.0**60, width=32, allow_subnormal=False)


def field(dimension, quantization="int8"):
    return VectorField("v", "rgn", dimension, "dot", "passage", quantization)


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=NUMBERS))
def test_each_number_is_read_as_stored_but_for_half_of_the_scale(vectors):
    eighth = field(vectors.shape[1])
    read = read_stored(as_stored(vectors, eighth), eighth)
    assert read.shape == vectors.shape
    assert len(read) == len(vectors)
    largest = np.abs(vectors.astype(np.float64)).max(axis=1, keepdims=True)
    assert (np.abs(read[:].astype(np.float64) - vectors) <= largest / 127 * 0.501 + 1e-38).all()
    assert read[:].dtype == np.float32
    rows = np.arange(len(vectors))[::-1]
    np.testing.assert_array_equal(read[rows], read[:][rows])


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=NUMBERS))
def test_whole_vectors_are_read_exactly(vectors):
    whole = field(vectors.shape[1], "none")
    read = read_stored(as_stored(vectors, whole), whole)
    np.testing.assert_array_equal(read[:], vectors)


def test_a_vector_of_zeros_and_none_at_all_are_kept():
    eighth = field(3)
    read = read_stored(as_stored(np.zeros((1, 3), np.float32), eighth), eighth)
    assert read[:].tolist() == [[0.0, 0.0, 0.0]]
    assert read_stored(as_stored(np.zeros((0, 3), np.float32), eighth), eighth)[:].shape == (0, 3)


@pytest.mark.parametrize(
    ("of", "size"), [(paper_vector("prx", 384, "cosine"), 1_536), (sentence_vectors(384, "cosine"), 388)]
)
def test_a_vector_of_a_sentence_takes_a_quarter_of_the_space(of, size):
    assert stored_type(of).itemsize == size
    assert len(as_stored(np.ones((2, 384), np.float32), of).tobytes()) == 2 * size
