/** The file format: written files read back, byte for byte as specified; every kind of damage is reported. */

import { assertEquals, assertRejects } from "@std/assert";
import { formatSafetensors, SafetensorsFile } from "../../../cli/model/tensors/safetensors.ts";
import { realDisk, writeAtomically } from "../../../cli/files/disk.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const tensors = [
  { name: "a.weight", shape: [2, 3], values: Float32Array.of(1, -2, 3.5, 0, NaN, Infinity) },
  { name: "b", shape: [1], values: Float32Array.of(-0) },
  { name: "empty", shape: [0, 4], values: new Float32Array(0) },
];

function fileOf(header: string | Record<string, unknown>, dataBytes: number): Uint8Array {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + dataBytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  return file;
}

async function openBytes(bytes: Uint8Array, body: (file: SafetensorsFile) => Promise<void> | void = () => {}) {
  await withScratchFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/x.safetensors`, bytes);
    const file = await SafetensorsFile.open(`${folder}/x.safetensors`);
    try {
      await body(file);
    } finally {
      file.close();
    }
  });
}

const refused = (bytes: Uint8Array, includes: string) => assertRejects(() => openBytes(bytes), UserError, includes);
const f32 = (from: number, to: number, shape = [(to - from) / 4]) => ({
  dtype: "F32",
  shape,
  data_offsets: [from, to],
});

Deno.test("Safetensors: tensors read back bit for bit", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/x.safetensors`;
    await writeAtomically(path, { disk: realDisk, chunks: formatSafetensors(tensors, { round: "12" }) });
    const file = await SafetensorsFile.open(path);
    for (const { name, shape, values } of tensors) {
      const out = new Float32Array(values.length);
      await file.readInto(name, { shape, out });
      assertEquals(new Uint32Array(out.buffer), new Uint32Array(values.buffer), name);
    }
    assertEquals([...file.header.tensors.keys()], tensors.map(({ name }) => name));
    assertEquals(file.header.metadata, { format: "pt", round: "12" });
    assertEquals(file.header.dataStart % 8, 0);
    file.close();
  });
});

Deno.test("Safetensors: the bytes are those of the format's reference implementation", async () => {
  // safetensors 0.8.0 (Python): save({"a": np.array([1, 2], np.float32)}, metadata={"format": "pt"})
  const expected = fileOf(
    '{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   ',
    8,
  );
  expected.set([0, 0, 0x80, 0x3f, 0, 0, 0, 0x40], expected.length - 8);
  await withScratchFolder(async (folder) => {
    const path = `${folder}/x.safetensors`;
    const chunks = formatSafetensors([{ name: "a", shape: [2], values: Float32Array.of(1, 2) }]);
    await writeAtomically(path, { disk: realDisk, chunks });
    assertEquals(Deno.readFileSync(path), expected);
  });
});

Deno.test("Safetensors: a file cut off anywhere is refused", async () => {
  const whole = fileOf({ a: f32(0, 8), b: f32(8, 16) }, 16);
  await openBytes(whole);
  for (let length = 0; length < whole.length; length++) {
    await assertRejects(
      () => openBytes(whole.slice(0, length)),
      UserError,
      "is not a valid safetensors file",
      `${length}`,
    );
  }
  await refused(Uint8Array.of(...whole, 0), "it must hold 16 bytes of tensors, but holds 17");
});

Deno.test("Safetensors: damaged headers are refused with the first thing wrong", async () => {
  const huge = new Uint8Array(64);
  new DataView(huge.buffer).setBigUint64(0, 2n ** 63n, true);
  await refused(huge, "its header must fit into the file of 64 bytes");
  await refused(fileOf("{ no JSON", 0), "its header is damaged");
  await refused(fileOf("[]", 0), "its header is damaged");
  await refused(fileOf({ a: { dtype: "F32", shape: [-1], data_offsets: [0, 4] } }, 4), "a.shape.0");
  await refused(fileOf({ a: { dtype: "F32", shape: [1] } }, 4), "data_offsets");
  await refused(fileOf({ a: { ...f32(0, 4), dtype: "F7" } }, 4), "unknown dtype: F7");
  await refused(fileOf({ a: f32(0, 8, [3]) }, 8), "must have 12 bytes for F32 [3], but has 8");
  await refused(fileOf({ a: f32(0, 8), b: f32(4, 12) }, 12), "'b' must start at byte 8");
  await refused(fileOf({ a: f32(0, 8), b: f32(12, 16) }, 16), "'b' must start at byte 8");
  await refused(fileOf({ a: f32(0, 8) }, 4), "it must hold 8 bytes of tensors, but holds 4");
  await refused(fileOf({ a: f32(-4, 0) }, 4), "'a' must start at byte 0");
});

Deno.test("Safetensors: a tensor of another name, shape or dtype is refused", async () => {
  const whole = { dtype: "I32", shape: [1], data_offsets: [8, 12] };
  await openBytes(fileOf({ a: f32(0, 8), whole }, 12), async (file) => {
    const out = new Float32Array(2);
    const readRefused = (name: string, shape: number[], includes: string) =>
      assertRejects(() => file.readInto(name, { shape, out }), UserError, includes);
    await readRefused("c", [2], "tensor 'c' must be in it");
    await readRefused("a", [1, 2], "must have shape [1, 2], but has [2]");
    await readRefused("whole", [1], "must be F32, BF16 or F16, but is I32");
  });
});
