/** Directions of sparse payloads: one round tells little, what they come to over rounds tells a miner that goes the wrong way. */

import { assert, assertEquals } from "@std/assert";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import { atOnce } from "../../../core/long_work.ts";
import { sparse } from "../../../core/update/payload/sparse.ts";
import { ShapeSum } from "../../../core/update/payload_shape.ts";
import type { ParameterTensor } from "../../../core/model/spec.ts";
import type { StageMerge } from "../../../core/orchestrator/merge/merge_state.ts";
import { nodesAway } from "../../../core/orchestrator/merge/payloads/directions.ts";
import {
  dropTrails,
  keepTrails,
  sketchKeyOf,
  trailOf,
  youngRounds,
} from "../../../core/orchestrator/merge/payloads/payload_trails.ts";
import { gaussOf } from "../../support/small_gauss.ts";
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { ScriptedOrchestrator } from "../../support/swarm/scripted_orchestrator.ts";
import { isWhole, slowTest } from "../../support/whole.ts";

const size = 16 * 4096;
const tensors: ParameterTensor[] = [{ name: "w", shape: [256, 256], initial: { type: "ones" }, offset: 0, size }];

/** What the replicas of a stage learn has a part in common; each commits a sparse payload of it, some turned around. */
class Stage {
  readonly hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    swarm: { replicas: 1, validators: 0 },
    outer: { payload: "sparse" },
  });
  readonly miners: { node: NodeId; factor: number; residual: Float32Array }[] = [];
  readonly #common = Float32Array.from({ length: size }, gaussOf(1));
  #draws = 1;

  add(factor: number): NodeId {
    const node = this.hub.ready(`miner-${this.miners.length}`);
    this.miners.push({ node, factor, residual: new Float32Array(size) });
    return node;
  }

  /** Nodes that point away, by the payloads of this round and by their sum over rounds. */
  round(): { now: NodeId[]; trails: NodeId[] } {
    const { state } = this.hub;
    const shapes = new Map(this.miners.map(({ node, factor, residual }) => {
      const noise = gaussOf(this.#draws += 1);
      const values = this.#common.map((value) => value + noise());
      const payload = atOnce(sparse.encode({ values, residual, embeddings: noEmbeddings }));
      const mean = atOnce(sparse.average([{ payload, weight: 1, scale: 1 }]));
      assert(mean.ok);
      const sent = atOnce(sparse.decodeResult(mean.value, size))!.map((value) => factor * value);
      const sum = new ShapeSum(tensors, sketchKeyOf(state));
      atOnce(sum.add(sent, 0));
      return [node, sum.finish()] as const;
    }));
    const lengths = new Map([...shapes].map(([node, { tensorSquares }]) => [node, Math.sqrt(tensorSquares[0]!)]));
    const merge = { shapes, lengths } as unknown as StageMerge; // nothing else is read
    const trails = this.miners.map(({ node }) => ({ node, trail: trailOf(state, { merge, node })! }));
    keepTrails(state, merge);
    return {
      now: [...nodesAway([...shapes].map(([node, { sketch }]) => ({ node, sketch, isYoung: false })))],
      trails: [
        ...nodesAway(
          trails.map(({ node, trail: { sketch, rounds } }) => ({ node, sketch, isYoung: rounds < youngRounds })),
        ),
      ],
    };
  }
}

slowTest(
  "Accumulated sketches: sparse payloads of several rounds reveal a miner that goes the wrong way, those of one do not",
  () => {
    const stage = new Stage();
    for (let i = 0; i < 6; i++) stage.add(1);
    const liars = [stage.add(-1), stage.add(-1.9)];
    for (let round = 0; round < youngRounds + (isWhole ? 16 : 3); round++) {
      const { now, trails } = stage.round();
      assertEquals(now, [], `round ${round}: 1/64 of the values of one round say nothing`);
      if (round >= youngRounds) assertEquals(trails, liars, `round ${round}`);
      else assert(trails.every((node) => liars.includes(node)), `round ${round}: ${trails}`);
    }
    const late = stage.add(1);
    const lateLiar = stage.add(-1);
    for (let round = 0; round < youngRounds + (isWhole ? 6 : 2); round++) {
      const { trails } = stage.round();
      assert(!trails.includes(late), `a newcomer in its round ${round}`);
      if (round >= youngRounds) assert(trails.includes(lateLiar), `a newcomer that lies in its round ${round}`);
    }
  },
);

slowTest("Accumulated sketches: a huge payload now and then does not hide the ones that go the wrong way", () => {
  const stage = new Stage();
  for (let i = 0; i < 6; i++) stage.add(1);
  const liars = [stage.add(-1.9), stage.add(-1.9)];
  let found = 0;
  for (let round = 0; round < 26; round++) {
    const isHuge = round % 13 === 0;
    for (const miner of stage.miners) if (liars.includes(miner.node)) miner.factor = isHuge ? 200 : -1.9;
    const { trails } = stage.round();
    if (!isHuge) found += liars.filter((node) => trails.includes(node)).length;
    assert(trails.every((node) => liars.includes(node)), `round ${round}: ${trails}`);
  }
  assert(found >= 40, `${found} of 48 reversed payloads are left out`);
});

Deno.test("Accumulated sketches: one ends with the miner's assignment and with its place", () => {
  const stage = new Stage();
  const [first, second] = [stage.add(1), stage.add(1)];
  for (let round = 0; round < 3; round++) stage.round();
  const { state } = stage.hub;
  assertEquals([...state.trails.values()].map(({ rounds }) => rounds), [3, 3]);
  state.members.get(first!)!.assignment += 1;
  stage.round();
  assertEquals([...state.trails.values()].map(({ rounds }) => rounds), [1, 4]);
  state.members.delete(second!);
  dropTrails(state);
  assertEquals([...state.trails.keys()], [first]);
});

Deno.test("Accumulated sketches: codecs without a residual have none, and a key for each round", () => {
  const hub = new ScriptedOrchestrator({ model: { layers: 1 }, pipeline: { stages: 1, codec: "none" } });
  const node = hub.ready("miner");
  const shapes = new Map([[node, { tensorSquares: [], peakSquares: [], sketch: [1] }]]);
  const merge = { shapes, lengths: new Map([[node, 1]]) } as unknown as StageMerge;
  assertEquals(trailOf(hub.state, { merge, node }), null);
  assertEquals(sketchKeyOf(hub.state), hub.state.stream.key[0]);
  assertEquals(trailOf(hub.state, { merge, node: nodeId("stranger") }), null);
});
