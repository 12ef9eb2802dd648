/** Answers of validators and their signatures: nothing counts before the check, and a wrong one costs its sender. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { MachineEntry } from "../../core/ledger/entry.ts";
import { statementText } from "../../core/statements/statement.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const right = { innovationError: 1e-6, equalShare: 0.9, lossError: null, signature: "" };

/** Two validators have evaluated; the first of three steps is closed, so there are tasks to repeat. */
function audited() {
  const hub = new ScriptedOrchestrator({
    validate: { replaysPerMiner: 1 },
    train: { microbatchesPerStep: 8, steps: 9, stepsPerRound: 3 },
    swarm: { replicas: 2, validators: 2 },
    limits: { leaseMs: 600_000, mergePhaseMs: 600_000 },
  });
  const [judge, other] = [hub.validator("validator-0"), hub.validator("validator-1")];
  const nodes = [0, 1, 2, 3].map((i) => hub.ready(`miner-${i}`));
  for (const each of [judge, other]) {
    const { request } = hub.take(each, "evaluate");
    hub.tell(each, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
  }
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  return { hub, judge, other };
}

const entries = ({ effects }: ScriptedOrchestrator): MachineEntry[] =>
  effects.flatMap((effect) => effect.type === "log" ? [effect.entry] : []);

const checks = ({ effects }: ScriptedOrchestrator) => effects.filter((effect) => effect.type === "checkSignatures");

function repeat(hub: ScriptedOrchestrator, judge: NodeId): number {
  const { request } = hub.take(judge, "replay");
  hub.tell(judge, { type: "replayed", request, ...right });
  return request;
}

Deno.test("Signed answers: what was asked is what must be signed, and a verdict waits for the check", () => {
  const { hub, judge } = audited();
  hub.checksSignatures = false;
  const asked = hub.inbox(judge).find((message) => message.type === "replay");
  const request = repeat(hub, judge);
  assertEquals(hub.count("verdict"), 0);
  const check = checks(hub).at(-1);
  assert(check?.type === "checkSignatures" && asked?.type === "replay");
  const [signed] = check.signed;
  assertEquals([signed?.signer, check.signed.length], [judge, 1]);
  const [, run, type, round, miner, task] = JSON.parse(statementText("run", signed!.statement));
  assertEquals([run, type, round, miner, task], ["run", "task", asked.round, asked.miner, asked.task]);
  hub.step({ type: "signaturesChecked", request, areGenuine: [true] });
  assertEquals(hub.count("verdict"), 1);
  const entry = entries(hub).findLast((each) => each.type === "verdict");
  assert(entry?.type === "verdict" && signed?.statement.type === "task");
  assertEquals([entry.work, entry.parameters], [signed.statement.work, signed.statement.parameters]);
});

Deno.test("Signed answers: a wrong signature is blamed, nothing it says counts, and another validator is asked", () => {
  const { hub, judge, other } = audited();
  const task = hub.inbox(judge).find((message) => message.type === "replay");
  assert(task?.type === "replay");
  hub.isGenuine = ({ signer }) => signer !== judge;
  repeat(hub, judge);
  const [blamed] = hub.records.filter((record) => record.type === "blamed");
  assert(blamed?.type === "blamed");
  assertEquals([hub.count("verdict"), blamed.node, blamed.code], [0, judge, "unauthenticated"]);
  const seen: string[] = [];
  while (hub.inbox(other).some(({ type }) => type === "replay")) {
    seen.push(hub.inbox(other).flatMap((message) => message.type === "replay" ? [message.task] : [])[0]!);
    repeat(hub, other);
  }
  assert(seen.includes(task.task), "the other one repeats it");
});

Deno.test("Signed answers: a validator that is gone before the check has not answered, and the check changes nothing", () => {
  const { hub, judge } = audited();
  hub.checksSignatures = false;
  const request = repeat(hub, judge);
  hub.tell(judge, { type: "leaving", reason: "bye" });
  hub.step({ type: "signaturesChecked", request, areGenuine: [true] });
  assertEquals([hub.count("verdict"), hub.count("blamed")], [0, 0]);
});

Deno.test("Signed answers: a deadline that passes during the check takes the request from nobody", () => {
  const { hub, judge } = audited();
  hub.checksSignatures = false;
  const request = repeat(hub, judge);
  hub.wait(700_000);
  hub.step({ type: "signaturesChecked", request, areGenuine: [true] });
  assertEquals(hub.count("verdict"), 1);
});

Deno.test("Signed answers: a second answer to a request, and a failure after an answer, change nothing", () => {
  const { hub, judge } = audited();
  hub.checksSignatures = false;
  const request = repeat(hub, judge);
  hub.tell(judge, { type: "replayed", request, ...right, innovationError: 1 });
  hub.tell(judge, { type: "requestFailed", request, fault: { code: "badBlob", detail: "cannot be had" } });
  assertEquals(checks(hub).filter((check) => check.type === "checkSignatures" && check.request === request).length, 1);
  hub.step({ type: "signaturesChecked", request, areGenuine: [true] });
  const verdicts = hub.records.flatMap((record) => record.type === "verdict" ? [record.passed] : []);
  assertEquals(verdicts, [true]);
});

Deno.test("Signed answers: evaluations are logged with the parameters that their validators signed", () => {
  const { hub, judge, other } = audited();
  const logged = entries(hub).flatMap((entry) => entry.type === "evaluated" ? [entry] : []);
  assertEquals(logged.map(({ validator, loss, tokens }) => [validator, loss, tokens]), [[judge, 5, 64], [
    other,
    5,
    64,
  ]]);
  assertEquals(logged[0]?.parameters, ["initial", "initial"]);
});
