/** How long payloads count beside their peers', what other stages say of it, and who becomes a suspect. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type NodeId, nodeId } from "../../core/ids.ts";
import { reachOf } from "../../core/update/payload/residual_reach.ts";
import type { StageMerge } from "../../core/orchestrator/merge/merge_state.ts";
import type { PayloadCodecName } from "../../core/config/payload_codec_names.ts";
import { weighPayloads } from "../../core/orchestrator/merge/payloads/payload_check.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const usual = 0.35;

/** Weighs payloads of these lengths in stage 0; `elsewhere`: of the other stage's last rounds. Returns scale and suspicion. */
function weighed(
  lengths: Readonly<Record<string, number>>,
  { elsewhere, past = usual, payload = "float32", rounds = 3, reach = 1 }: {
    elsewhere: number;
    past?: number;
    payload?: PayloadCodecName;
    rounds?: number; // that came before
    reach?: number; // of the newest of them, in this round's
  },
) {
  const { state } = new ScriptedOrchestrator({
    model: { layers: 2 },
    pipeline: { stages: 2, codec: "none" },
    swarm: { replicas: 1, validators: 0 },
    outer: { payload },
  });
  const norms = [past, elsewhere];
  for (const [stage, { payloadNorms }] of state.scales.stages.entries()) {
    payloadNorms.push(...Array.from({ length: rounds }, () => norms[stage]!));
    state.scales.stages[stage]!.payloadReach = reach * reachOf(state);
  }
  const nodes = Object.keys(lengths).map(nodeId);
  const of = (value: (node: NodeId) => number) => new Map(nodes.map((node) => [node, value(node)]));
  const merge = {
    ...{ stage: 0, scales: new Map<NodeId, number>(), shapes: new Map() },
    ...{ lengths: of((node) => lengths[node]!), weights: of(() => 1) },
  };
  weighPayloads(state, merge as unknown as StageMerge);
  return (name: string) => ({
    scale: merge.scales.get(nodeId(name)) ?? 1,
    isSuspect: (state.standings.get(nodeId(name))?.suspectedRound ?? null) !== null,
  });
}

Deno.test("Payload lengths: a payload as long as the other stages' is not a suspect, however short its mates' are", () => {
  for (const short of [0.001, 0.01, 0.1, 0.17]) {
    const two = weighed({ short: short * usual, whole: usual }, { elsewhere: usual, past: short * usual });
    assertEquals(two("whole"), { scale: 1, isSuspect: false }, `one of two commits ${short}`);
    const three = weighed({ a: short * usual, b: short * usual, whole: usual }, {
      elsewhere: usual,
      past: short * usual,
    });
    assertEquals(three("whole").isSuspect, false, `two of three commit ${short}`);
  }
});

Deno.test("Payload lengths: one of three counts half of both others together, whatever another stage's lengths are", () => {
  const rows = [[0.35, 1.8, true], [0.48, 1.8, true], [1.2, 1.79, false], [2.4, 3.5, true], [3.9, 3.99, true]] as const;
  for (const [elsewhere, long, isOdd] of rows) {
    const { scale, isSuspect } = weighed({ a: usual, b: usual, long }, { elsewhere })("long");
    assertAlmostEquals(scale * long / (2 * usual), 0.5, 0.01, `${long} beside ${elsewhere}`);
    assertEquals(isSuspect, isOdd, `${long} beside ${elsewhere}`);
  }
});

Deno.test("Payload lengths: where sparse payloads may be 20 times as long, one of two or a majority counts as other rounds and stages do", () => {
  const sparse = { elsewhere: usual, payload: "sparse" } as const;
  const two = weighed({ honest: usual, long: 20 * usual }, sparse);
  assertEquals(two("honest"), { scale: 1, isSuspect: false });
  assertAlmostEquals(two("long").scale * 20, 1, 0.01);
  const three = weighed({ honest: usual, a: 20 * usual, b: 20 * usual }, sparse);
  for (const name of ["a", "b"]) assert(three(name).scale * 20 < 4, name);
  assertEquals(three("honest").isSuspect, false);
});

Deno.test("Payload lengths: sparse payloads of a first round, or of one with smaller rates than the last, count in full", () => {
  const sparse = { payload: "sparse" } as const;
  const both = (options: Parameters<typeof weighed>[1], long: number) => {
    const of = weighed({ a: long, b: long }, { ...sparse, ...options });
    return [of("a"), of("b")];
  };
  const whole = { scale: 1, isSuspect: false };
  assertEquals(both({ elsewhere: 0.01 * usual, rounds: 1 }, usual), [whole, whole], "beside a short stage");
  assertEquals(
    both({ elsewhere: usual, reach: 10 }, 10 * usual),
    [whole, whole],
    "as long within a tenth of the bound",
  );
  assert(both({ elsewhere: usual }, 10 * usual)[0]!.scale < 0.5, "as long in the same reach");
});
