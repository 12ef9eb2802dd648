/** A stage on a driver that has less room than anybody knows: it keeps less until it fits, and what it takes really shrinks. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { StageOptions } from "../../../gpu/compute.ts";
import { fitStage } from "../../../gpu/stage_fit.ts";
import { TooLittleMemoryError, withLessKept } from "../../../gpu/fit/too_large.ts";
import type { DeviceLimits } from "../../../gpu/webgpu/device.ts";
import { specAt, specsOf, tinyConfig } from "../../support/tiny_model.ts";

const limits: DeviceLimits = {
  ...{ maxBufferSize: 2 ** 36, maxStorageBufferBindingSize: 2 ** 36 },
  ...{ maxComputeWorkgroupsPerDimension: 65_535, maxComputeInvocationsPerWorkgroup: 256 },
  maxComputeWorkgroupStorageSize: 16_384,
};
const adapter = { limits, isSoftware: false };

const spec: StageSpec = specAt(
  specsOf(tinyConfig({
    model: { width: 64, layers: 4, heads: 2, kvHeads: 1, ffnWidth: 128, contextLength: 64 },
    pipeline: { stages: 2 },
    train: { sequencesPerMicrobatch: 4 },
  })),
  0,
);

const asked: StageOptions = { activationBytes: 2 ** 24, openForwards: 2, optimizer: "adamw" };
const bytesWith = async (options: StageOptions) => (await fitStage(spec, adapter, options)).bytes;

/** What a driver with so many free bytes refuses, and what was built in the end. */
async function builtWithin(freeBytes: number, options: StageOptions) {
  const tried: number[] = [];
  const built = await withLessKept(options, async (own) => {
    const bytes = await bytesWith(own);
    tried.push(bytes);
    if (bytes <= freeBytes) return own;
    throw TooLittleMemoryError.given({ adapter: "a GPU", bytes, limitBytes: limits.maxBufferSize, reason: "full" });
  });
  return { built, tried };
}

Deno.test("Less kept: with room for all of it a stage keeps all, and is built once", async () => {
  const { built, tried } = await builtWithin(await bytesWith(asked), asked);
  assertEquals([built, tried.length], [asked, 1]);
});

Deno.test("Less kept: each attempt takes less, forwards go first, then blocks are computed again", async () => {
  const bare = await bytesWith({ ...asked, activationBytes: 0 });
  const least = await bytesWith({ ...asked, activationBytes: 0, recomputes: true });
  assert(least < bare && bare < await bytesWith(asked), "otherwise this test shows nothing");
  const withoutForwards = await builtWithin(bare, asked);
  assertEquals([withoutForwards.built.recomputes ?? false, withoutForwards.tried.length], [false, 2]);
  const again = await builtWithin(bare - 1, asked);
  assertEquals([again.built.recomputes, again.tried.at(-1)], [true, least]);
  assertEquals((await builtWithin(bare - 1, { ...asked, activationBytes: 0 })).tried, [bare, least]);
});

Deno.test("Less kept: a driver without room even for the least refuses with that size; other failures pass at once", async () => {
  const least = await bytesWith({ ...asked, activationBytes: 0, recomputes: true });
  const refusal = await assertRejects(() => builtWithin(least - 1, asked), TooLittleMemoryError);
  assert(refusal.message.includes(`${Math.ceil(least / 2 ** 20)} MiB`), refusal.message);
  let times = 0;
  const broken = () => withLessKept(asked, () => Promise.reject(new Error(`broken ${++times}`)));
  await assertRejects(broken, Error, "broken 1");
});
