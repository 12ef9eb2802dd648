/** What members sign: the published text, and that it binds everything that it should. */

import { assertEquals, assertNotEquals } from "@std/assert";
import { nodeId, type TaskId } from "../../../core/ids.ts";
import { statementOf } from "../../../core/statements/findings.ts";
import { type Statement, statementText, workHash } from "../../../core/statements/statement.ts";

const task = "12.1.forward.0" as TaskId;
const miner = nodeId("5Miner");
const work = workHash({ task, input: "ab", gradient: null, output: "cd", losses: null });
const statements: readonly (readonly [Statement, string])[] = [
  [
    {
      ...{ type: "task", round: 3, miner, task, work, parameters: "initial" },
      ...{ innovationError: 0.001, equalShare: 1, lossError: null },
    },
    `["iota-statement-1","demo","task",3,"5Miner","12.1.forward.0","${work}","initial",0.001,1,null]`,
  ],
  [
    { type: "gradient", round: 3, step: 7, miner, task, parameters: "ef", squareSum: 2.5 },
    `["iota-statement-1","demo","gradient",3,7,"5Miner","12.1.forward.0","ef",2.5]`,
  ],
  [
    { type: "model", round: 3, parameters: ["initial", "ef"], loss: null, tokens: 64 },
    `["iota-statement-1","demo","model",3,["initial","ef"],null,64]`,
  ],
  [
    { type: "step", round: 3, step: 7, previous: "ab", root: "cd", tasks: 4, squareSum: 2.5 },
    `["iota-statement-1","demo","step",3,7,"ab","cd",4,2.5]`,
  ],
  [
    { type: "round", round: 3, head: "ab", payload: "cd" },
    `["iota-statement-1","demo","round",3,"ab","cd"]`,
  ],
];

Deno.test("Statements: their text is the one that signed logs hold", () => {
  for (const [statement, text] of statements) assertEquals(statementText("demo", statement), text);
  assertEquals(work, "d1d804cc62527856e5547f58d4be3ba95c2c514e9d1905b35e2c41568133c784");
});

Deno.test("Statements: a change of any value, or of the run, changes the text", () => {
  for (const [statement, text] of statements) {
    assertNotEquals(statementText("other", statement), text);
    for (const name of Object.keys(statement).filter((each) => each !== "type")) {
      assertNotEquals(statementText("demo", { ...statement, [name]: "other" } as Statement), text, name);
    }
  }
});

Deno.test("Statements: a message that answers something else says nothing about it", () => {
  const message = { type: "evaluated" as const, request: 1, loss: 3, tokens: 64, signature: "" };
  assertEquals(statementOf({ type: "task", round: 3, miner, task, work, parameters: "initial" }, message), null);
});
