"""While it lasts, everybody reads a GGUF file in one reading, and reads the same."""

from pathlib import Path

import gguf
import numpy
import pytest

from workers.runtimes.native.quick_gguf import reading_once

WEIGHT = numpy.arange(64, dtype=numpy.float32).reshape(2, 32)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One tensor and a field that is a list of words."""
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "the", "sky"])
    writer.add_tensor("token_embd.weight", WEIGHT)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_is_read_once_and_reads_the_same(file: Path) -> None:
    plain = gguf.GGUFReader(file)
    with reading_once():
        quick = gguf.GGUFReader(file)
        assert gguf.GGUFReader(file) is quick
    assert quick.fields.keys() == plain.fields.keys()
    tokens = "tokenizer.ggml.tokens"
    assert quick.fields[tokens].contents() == plain.fields[tokens].contents()
    assert [each.name for each in quick.tensors] == ["token_embd.weight"]
    assert numpy.array_equal(quick.tensors[0].data, WEIGHT)


def test_a_table_of_names_is_made_once() -> None:
    llama = gguf.MODEL_ARCH.LLAMA
    with reading_once():
        assert gguf.get_tensor_name_map(llama, 2) is gguf.get_tensor_name_map(llama, 2)


def test_afterwards_the_package_is_as_it_was(file: Path) -> None:
    before = (gguf.GGUFReader, gguf.get_tensor_name_map)
    with pytest.raises(KeyError), reading_once():
        raise KeyError(file)
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before
