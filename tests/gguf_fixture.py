"""Makes tests/fixtures/gguf: a tensor of every type that is read, and its numbers as PyPI's `gguf` widens them.

    pip install gguf safetensors
    python tests/gguf_fixture.py
"""

import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Type, GGUFWriter
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file

OUT = pathlib.Path(__file__).parent / "fixtures" / "gguf"
ROWS, COLUMNS = 3, 512


def random_blocks(rng, block_bytes, halves):
    """Blocks of random bits whose scales, at these places, are finite and of usual size."""
    blocks = rng.integers(0, 256, (ROWS * COLUMNS // 256, block_bytes), dtype=np.uint8)
    for at in halves:
        scales = (rng.normal(0, 0.02, len(blocks)).astype(np.float16)).view(np.uint8).reshape(-1, 2)
        blocks[:, at:at + 2] = scales
    return blocks.reshape(ROWS, -1)


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    numbers = rng.normal(0, 0.1, (ROWS, COLUMNS)).astype(np.float32)
    tensors = {kind: quantize(numbers, kind) for kind in [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q8_0]}
    # The package does not write these.
    tensors[Type.Q4_K] = random_blocks(rng, 144, [0, 2])
    tensors[Type.Q6_K] = random_blocks(rng, 210, [208])
    OUT.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(OUT / "types.gguf", "llama")
    expected = {}
    for layer, (kind, blocks) in enumerate(tensors.items()):
        # Values of a layer are stored in the order of Hugging Face.
        writer.add_tensor(f"blk.{layer}.attn_v.weight", blocks, raw_dtype=kind)
        expected[f"model.layers.{layer}.self_attn.v_proj.weight"] = dequantize(blocks, kind).astype(np.float32).reshape(ROWS, COLUMNS)
        print(kind.name, blocks.shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(expected, OUT / "types.safetensors")
