/** `lab redteam`: an attack and a calm run beside it, and what is counted of both. */

import { lab } from "../lab/main.ts";
import { assert, assertEquals, assertLess } from "@std/assert";
import { main } from "../../cli/command_line.ts";
import { FakeHost } from "../support/fake_host.ts";
import { slowTest } from "../support/whole.ts";

async function redteam(...words: string[]): Promise<Record<string, unknown>> {
  const host = new FakeHost();
  const code = await main(["redteam", ...words, "--json"], host, lab);
  assertEquals(code, 0, host.written.stderr);
  return JSON.parse(host.written.stdout.trim().split("\n").at(-1)!);
}

slowTest("Red team: whoever sends the wrong sign is noticed, banned and unpaid, and nobody else is", async () => {
  const { attacks } = await redteam("--attack", "flip", "--rounds", "3", "--set", "train.stepsPerRound=2");
  const [row] = attacks as Record<string, unknown>[];
  assertEquals({ ...row, lossGap: 0 }, {
    name: "flip",
    rounds: 3,
    roundsToDetection: 1,
    ejected: true,
    lossGap: 0,
    honestEjected: 0,
    payShareOfHonest: 0,
  });
  assert(typeof row?.["lossGap"] === "number");
  assertLess(Math.abs(row["lossGap"]), 0.5);
});

slowTest(
  "Red team: a miner that leaves its gradients to others is drawn to open its parameters all the same",
  async () => {
    const { attacks } = await redteam("--attack", "unseen", "--rounds", "6");
    const [row] = attacks as Record<string, unknown>[];
    assertEquals([row?.["ejected"], row?.["payShareOfHonest"], row?.["honestEjected"]], [true, 0, 0]);
  },
);

slowTest("Red team: whoever is away whenever a step closes that it cheated in earns nothing", async () => {
  const { attacks } = await redteam("--attack", "absent", "--rounds", "6");
  const [row] = attacks as Record<string, unknown>[];
  assertEquals([row?.["payShareOfHonest"], row?.["honestEjected"]], [0, 0]);
});

Deno.test("Red team: what the attacks decide cannot be set", async () => {
  const host = new FakeHost();
  const code = await main(["redteam", "--attack", "flip", "--set", "swarm.replicas=2"], host, lab);
  assertEquals(code, 2);
  assert(host.written.stderr.includes("Cannot set swarm.replicas: the attacks determine it"), host.written.stderr);
});
