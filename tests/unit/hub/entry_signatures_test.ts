/** Members' signatures in a log, with real keys: every value that they cover, who signed, and what nobody signed. */

import { assertEquals, assertNotEquals } from "@std/assert";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { isGenuine } from "../../../cli/roles/signatures/signature_check.ts";
import { signatureProblem, signedParts } from "../../../cli/observe/ledger/entry_signatures.ts";
import { nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import type { LogEntry } from "../../../core/ledger/entry.ts";
import { type Statement, statementText } from "../../../core/statements/statement.ts";

const run = "demo";
const key = hotkeyOfMiniSecret(new Uint8Array(32).fill(3));
const validator = nodeId(key.address);
const miner = nodeId("5Miner");
const task = "12.1.forward.0" as TaskId;
const sign = (statement: Statement) => key.sign(new TextEncoder().encode(statementText(run, statement))).toHex();

const numbers = { innovationError: 0.001, equalShare: 1, lossError: null };
const work = "ab".repeat(32);
const gradient = { claimed: 2, found: 2.5, least: 0 };
const verdict = { type: "verdict" as const, validator, miner, stage: stageIndex(1), task, passed: true };
const model = (parameters: readonly string[], loss: number | null): Statement => ({
  ...{ type: "model", round: 3, parameters, loss, tokens: 64 },
});
const answer = (parameters: readonly string[], loss: number | null) => [
  { validator, loss, tokens: 64, signature: sign(model(parameters, loss)) },
];

const entries: readonly LogEntry[] = [
  {
    ...{ ...verdict, ...numbers, round: 3, tolerance: 0.05, work, parameters: "initial" },
    signature: sign({ type: "task", round: 3, miner, task, work, parameters: "initial", ...numbers }),
  },
  {
    ...{ ...verdict, ...numbers, round: 3, tolerance: 0.01, step: 7, parameters: "initial", gradient },
    signature: sign({ type: "gradient", round: 3, step: 7, miner, task, parameters: "initial", squareSum: 2.5 }),
  },
  {
    ...{ type: "evaluated", round: 3, validator, loss: null, tokens: 64, parameters: ["initial", "ef"] },
    signature: sign(model(["initial", "ef"], null)),
  },
  {
    ...{ type: "tried", round: 3, stage: stageIndex(1), tokens: 64, base: 4, miners: [miner], losses: [3] },
    parameters: ["initial", "ef"],
    ends: [
      { node: null, parameters: null, answers: answer(["initial", "ef"], 4) },
      { node: miner, parameters: "cd", answers: answer(["initial", "cd"], 3) },
    ],
  },
];

const problem = (entry: LogEntry) =>
  signatureProblem(signedParts(entry), (signed) => isGenuine(signed, { run, verify: verifySignature }));

Deno.test("Signatures in the log: what validators found verifies, and not in another run", () => {
  for (const entry of entries) {
    assertEquals(problem(entry), null, entry.type);
    const other = signatureProblem(
      signedParts(entry),
      (signed) => isGenuine(signed, { run: "other", verify: verifySignature }),
    );
    assertNotEquals(other, null, entry.type);
  }
});

Deno.test("Signatures in the log: a change of anything that they cover is a wrong line", () => {
  const changes: readonly (readonly [number, Record<string, unknown>])[] = [
    ...["round", "innovationError", "equalShare", "lossError"].map((name) => [0, { [name]: 0.5 }] as const),
    ...["miner", "task", "work", "parameters", "validator"].map((name) => [0, { [name]: "other" }] as const),
    [1, { gradient: { ...gradient, found: 3 } }],
    [1, { step: 8 }],
    [2, { loss: 3 }],
    [2, { tokens: 65 }],
    [2, { parameters: ["initial", "cd"] }],
    [3, { parameters: ["initial", "cd"] }],
    [3, { ends: [{ node: miner, parameters: "cd", answers: answer(["initial", "ef"], 3) }] }],
  ];
  for (const [at, change] of changes) {
    assertNotEquals(problem({ ...entries[at]!, ...change } as LogEntry), null, JSON.stringify(change));
  }
});

Deno.test("Signatures in the log: what earlier versions wrote has none, and is counted", () => {
  const [first, , third, tried] = entries;
  const counts = [first, third, tried].map((entry) => {
    const { signature: _, parameters: __, ends: ___, ...rest } = entry as unknown as Record<string, unknown>;
    return signedParts(rest as unknown as LogEntry);
  });
  assertEquals(counts.map(({ signed, unsigned }) => [signed.length, unsigned]), [[0, 1], [0, 1], [0, 2]]);
});
