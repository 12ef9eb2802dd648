/** Hostile miners of a swarm: the words that name them, and what the summary says became of them. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import { attackNames, processAttackNames } from "../../../cli/redteam/attack_names.ts";
import { attacks } from "../../../cli/redteam/attacks.ts";
import { AttackerTally, parseAttackers } from "../../../cli/redteam/attackers.ts";

Deno.test("Attackers: names with counts, in their order", () => {
  assertEquals(parseAttackers("lazy:1,flip:2"), ["lazy", "flip", "flip"]);
  assertEquals(parseAttackers(" forged-loss : 1 "), ["forged-loss"]);
});

Deno.test("Attackers: other words are refused, and told what would do", () => {
  for (const text of ["", "lazy", "lazy:0", "lazy:1;flip:1", "lazy:1,,", "lazy:-1"]) {
    const parsed = parseAttackers(text);
    assert("problem" in parsed, text);
    assertStringIncludes(parsed.problem, "lazy:1,flip:1");
  }
  const unknown = parseAttackers("flipp:1");
  assert("problem" in unknown);
  assertStringIncludes(unknown.problem, "one of nan, zero");
});

Deno.test("Attackers: every attack of the catalogue says who it is, and those of processes are miners'", () => {
  assertEquals(Object.keys(attacks).sort(), [...attackNames].sort());
  for (const name of processAttackNames) assert(attacks[name].miner !== undefined && attacks[name].miners > 0, name);
});

Deno.test("Attackers: their end is told with the round, and their pay beside that of the honest", () => {
  const [bad, honest, other] = ["5Bad", "5Honest", "5Other"] as const;
  const tally = new AttackerTally();
  tally.enroll(bad, "flip");
  const lost = { type: "nodeLost", reason: "proven", tasksReissued: 0, tasksKept: 0 } as const;
  tally.onRecord({ ...lost, node: nodeId(bad) }); // a lost link is no expulsion
  tally.onRecord({ type: "roundMerged", round: 3, stages: [], bytesPerMiner: 0, mergeMs: 0, draws: "" });
  tally.onRecord({ ...lost, node: nodeId(bad), expelled: true });
  tally.onRecord({ ...lost, node: nodeId(other), expelled: true });
  assertEquals(tally.summary(new Map([[bad, 5], [honest, 40], [other, 10]])), {
    attackers: [{ hotkey: bad, attack: "flip", ejectedInRound: 3, payShareOfHonest: 0.2 }],
    honestEjected: 1,
  });
  assertEquals(tally.summary(new Map()).attackers[0]?.payShareOfHonest, null, "nobody was paid");
});
