"""What all stages share about arrays."""

from scipy import fft

from poinsot.arrays import fast_length


def test_lengths_of_fast_transforms_are_scipys():
    for samples in (*range(1, 1000), 4097, 32_769, 99_999, 1_000_001):
        assert fast_length(samples) == fft.next_fast_len(samples, real=True)
