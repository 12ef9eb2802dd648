/** Every message: its frozen bytes, parsing them with the schema, and what the schemas reject. */

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { decodeFrame } from "../../../net/messages/frame.ts";
import { readRefusal } from "../../../net/auth/hello.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { readHubMessage } from "../../../net/messages/schema_hub.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import type { Read } from "../../../net/messages/schema_message.ts";
import {
  currentVectors,
  helloSamples,
  hubSamples,
  nodeSamples,
  renewed,
  type Vectors,
  vectorsPath,
} from "../../support/net/message_vectors.ts";

const vectors: Vectors = JSON.parse(Deno.readTextFileSync(vectorsPath));

function headerOf(hex: string): unknown {
  const frame = decodeFrame(Uint8Array.fromHex(hex), defaultNetLimits);
  assert(frame.ok);
  return frame.value.header;
}

Deno.test("Message vectors: every message and hello record has its frozen bytes", () => {
  assertEquals(currentVectors(), vectors);
});

Deno.test("Message vectors: other bytes need another version of the protocol", () => {
  const changed = { ...vectors, hub: { ...vectors.hub, welcome: "00" } };
  assertThrows(() => renewed(vectors, changed), Error, "raise PROTOCOL_VERSION");
  assertThrows(() => renewed(vectors, { ...changed, protocol: vectors.protocol - 1 }), Error, "raise PROTOCOL_VERSION");
  const raised = { ...changed, protocol: vectors.protocol + 1 };
  assertEquals([renewed(vectors, raised), renewed(vectors, vectors)], [raised, vectors]);
});

Deno.test("Message vectors: frozen bytes read back as the message", () => {
  const read = <M>(reader: Read<M>, frames: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(frames).map(([type, hex]) => {
        const message = reader(headerOf(hex), []);
        assert(message.ok, message.ok ? "" : message.fault.detail);
        return [type, message.value];
      }),
    );
  assertEquals(read<unknown>(readNodeMessage, vectors.node), { ...nodeSamples });
  assertEquals(read<unknown>(readHubMessage, vectors.hub), { ...hubSamples });
  assertEquals(readRefusal(headerOf(vectors.hello["refusal"]!)), helloSamples.refusal.fault);
});

function refusal(reader: Read<unknown>, header: unknown, segments: Uint8Array[] = []): string {
  const message = reader(header, segments);
  assert(!message.ok, "must be refused");
  assertEquals(message.fault.code, "malformedMessage");
  return message.fault.detail;
}

Deno.test("Message schema: the sentence names the message and the field", () => {
  const { taskDone, ready, join } = nodeSamples;
  const say = (header: unknown) => refusal(readNodeMessage, header);
  assertStringIncludes(
    say({ ...taskDone, task: "12.1.sideways.0" }),
    "a taskDone: 'task' is invalid: must read like",
  );
  assertStringIncludes(say({ ...taskDone, losses: [1, NaN] }), "'losses.1'");
  assertStringIncludes(say({ ...taskDone, computeMs: -1 }), "'computeMs'");
  assertStringIncludes(say({ ...ready, parameters: { hash: "AB".repeat(32), bytes: 1 } }), "64 lower-case hex");
  assertStringIncludes(say({ ...ready, assignment: 2 ** 53 }), "'assignment'");
  assertStringIncludes(say({ ...join, adapter: "x".repeat(200) }), "'adapter'");
  assertStringIncludes(say({ ...join, extra: 1 }), "'extra'");
  assertStringIncludes(say({ type: "join", role: "miner", adapter: "x" }), "'previousStage'");
  assertStringIncludes(say({ type: "welcome" }), "unknown type welcome");
  for (const header of [null, 3, "join", [], {}, { type: 5 }, { type: "toString" }]) say(header);
});

Deno.test("Message schema: only messages with tensors may carry segments", () => {
  const one = [new Uint8Array(8)];
  assert(readNodeMessage(nodeSamples.taskDone, one).ok);
  assertStringIncludes(refusal(readNodeMessage, nodeSamples.taskDone, [...one, ...one]), "2 segments, and may have 1");
  assertStringIncludes(refusal(readNodeMessage, nodeSamples.ready, one), "1 segments, and may have 0");
});

Deno.test("Message schema: a wrong configuration in welcome is refused in core's words", () => {
  const { welcome } = hubSamples;
  const config = { ...welcome.config, train: { ...welcome.config.train, steps: -1 } };
  assertStringIncludes(refusal(readHubMessage, { ...welcome, config }), "train.steps must be");
});

Deno.test("Message schema: removing or twisting any field of any message is refused or equal, never thrown", () => {
  const twists = [null, -1, 1.5, NaN, "", "x".repeat(5000), true, [], {}, [[]], { type: "initial" }];
  for (const [reader, samples] of [[readNodeMessage, nodeSamples], [readHubMessage, hubSamples]] as const) {
    for (const message of Object.values<Record<string, unknown>>({ ...samples } as never)) {
      for (const field of Object.keys(message)) {
        const { [field]: _, ...rest } = message;
        assert(!reader(rest, []).ok, `${message["type"]} without ${field}`);
        for (const twist of twists) reader({ ...message, [field]: twist }, []);
      }
    }
  }
});

Deno.test("Message schemas: a notification has one of three subjects, and names no duty that is not notified", () => {
  const read = (notice: Record<string, unknown>) => readHubMessage({ type: "notice", ...notice }, []).ok;
  assert(
    read({ about: "behind", merges: 2, startsAnew: false }) && read({ about: "rest", untilRound: 9 }) &&
      read({ about: "forfeit", fromRound: 0 }),
  );
  assert(read({ about: "withheld", duty: "committing", round: 3 }));
  const wrong = [
    { about: "rest", untilRound: -1 },
    { about: "rest", round: 9 },
    { about: "forfeit" },
    { about: "withheld", duty: "tasks", round: 3 },
    { about: "praise", round: 3 },
  ];
  for (const notice of wrong) assertEquals(read(notice), false, JSON.stringify(notice));
});
