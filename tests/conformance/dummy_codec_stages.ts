/** What a codec that only the tests know must come to on a device: its record, and no line of the device's, makes it work. */

import { assert, assertEquals } from "@std/assert";
import { decodeWire } from "../../core/codec/wire.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { wiresOfDirection } from "../../core/model/stage_wires.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { createReferenceStage } from "../lab/reference/stage.ts";
import { dummyCodec, withDummyCodec } from "../support/dummy_codec.ts";
import { parametersOf, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";
import { assertClose, gradientTolerance, suiteMicrobatch } from "./compute_world.ts";

export const dummyConfig = tinyConfig({ pipeline: { codec: dummyCodec } });

/** Forward through all stages, then back; what each stage put out, and each stage's gradients. */
async function trainOnce(stages: readonly StageCompute[], given?: { wires: Uint8Array[]; gradients: Uint8Array[] }) {
  const [head, body, tail] = stages as [StageCompute, StageCompute, StageCompute];
  const { tokens, targets } = tokensOf(head.spec);
  const first = await head.forward({ type: "tokens", tokens });
  const second = await body.forward({ type: "wire", wire: given?.wires[0] ?? first });
  const turned = await tail.turnaround({ type: "wire", wire: given?.wires[1] ?? second }, targets);
  assert(turned.gradient !== null);
  const back = await body.backward(
    { type: "wire", wire: given?.wires[0] ?? first },
    given?.gradients[0] ?? turned.gradient,
  );
  assert(back !== null);
  assertEquals(await head.backward({ type: "tokens", tokens }, given?.gradients[1] ?? back), null);
  const sums = await Promise.all(stages.map((stage) => stage.readGradients()));
  return { wires: [first, second], gradients: [turned.gradient, back], losses: turned.lossPerSequence, sums };
}

/** Three stages compute what the codec's reference does. */
export async function checkDummyStages(create: (spec: StageSpec) => Promise<StageCompute>): Promise<void> {
  await withDummyCodec(async () => {
    const specs = specsOf(dummyConfig);
    const open = async (createOne: (spec: StageSpec) => Promise<StageCompute>) => {
      const stages = await Promise.all(specs.map(createOne));
      for (const stage of stages) await stage.loadParameters(parametersOf(stage.spec));
      return stages;
    };
    const oracles = await open((spec) => Promise.resolve(createReferenceStage(spec)));
    const stages = await open(create);
    const expected = await trainOnce(oracles);
    const actual = await trainOnce(stages, expected); // the same wires for both: a code may round the other way
    actual.sums.forEach((sum, i) => {
      assertClose({ what: `gradients of stage ${i}`, actual: sum, expected: expected.sums[i]! }, gradientTolerance);
    });
    assertClose({ what: "losses", actual: actual.losses, expected: expected.losses }, gradientTolerance);
    const [forward] = wiresOfDirection(dummyConfig, "forward");
    actual.wires.forEach((wire, i) => {
      const values = { actual: decodeWire(forward!, wire), expected: decodeWire(forward!, expected.wires[i]!) };
      assertClose({ what: `wire ${i}`, ...values }, 1e-2);
    });
    const microbatch = suiteMicrobatch(specs[1]!, 0);
    const once = await stages[1]!.forward(microbatch.input);
    assertEquals(await stages[1]!.forward(microbatch.input), once, "the same bytes twice");
    for (const stage of stages) stage.close();
  });
}
