/** Whom an orchestrator admits: the subnet's list, and nobody is turned away by a list older than the question. */

import { assertEquals } from "@std/assert";
import { Admission } from "../../cli/duty/admission.ts";
import { miner, netuid, otherMiner, validator } from "../conformance/chain_world.ts";
import { type FindingWorld, withFindingWorld } from "../support/finding_world.ts";

function admissionOf(world: FindingWorld): Admission {
  const admission = new Admission({
    ...{ network: "local", netuid, onProblem: () => {} },
    onFailure: (error) => {
      throw error;
    },
  });
  admission.follow(world.chain);
  return admission;
}

async function blocks(world: FindingWorld, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    world.block();
    for (let turns = 0; turns < 50; turns++) await Promise.resolve();
  }
}

const codeOf = (admission: Admission, node: string, role: "miner" | "validator" = "miner"): string =>
  admission.check({ node, role })?.code ?? "admitted";

Deno.test("Admission: whoever registered a block ago is not refused by the list of before, and waits a block", async () => {
  await withFindingWorld({}, async (world) => {
    const admission = admissionOf(world);
    assertEquals(codeOf(admission, miner.address), "wrongPhase", "nothing is read yet");
    await blocks(world, 2);
    assertEquals(codeOf(admission, miner.address), "notAdmitted", "the list is newer than the question");
    await blocks(world, 1);
    await world.register(miner); // between two reads of the list, which are five blocks apart
    assertEquals(codeOf(admission, miner.address), "wrongPhase");
    assertEquals(codeOf(admission, otherMiner.address), "wrongPhase");
    await blocks(world, 1);
    assertEquals(codeOf(admission, miner.address), "admitted");
    assertEquals(codeOf(admission, otherMiner.address), "notAdmitted");
  });
});

Deno.test("Admission: a permit counts as a registration does, and a list of many strangers stays bounded", async () => {
  await withFindingWorld({}, async (world) => {
    const admission = admissionOf(world);
    await world.register(validator);
    await blocks(world, 2);
    assertEquals(codeOf(admission, validator.address), "admitted");
    assertEquals(codeOf(admission, validator.address, "validator"), "wrongPhase");
    for (let i = 0; i < 3_000; i++) assertEquals(codeOf(admission, `stranger-${i}`), "wrongPhase");
    await world.stake(validator, 1_000);
    await blocks(world, 1);
    assertEquals(codeOf(admission, validator.address, "validator"), "admitted");
    assertEquals(codeOf(admission, "stranger-0"), "notAdmitted");
  });
});
