/** Sessions without sockets: numbers, window, acknowledgements, and a random world of breaking links. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decodeFrame, encodeFrame } from "../../../net/messages/frame.ts";
import { FrameMemory } from "../../../net/messages/frame_memory.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { type Receipt, Session } from "../../../net/links/session.ts";
import { prngOf } from "../../support/small_prng.ts";
import { cases } from "../../support/whole.ts";

const limits = {
  ...defaultNetLimits,
  frameBytes: 4096,
  outboxBytes: 16_384,
  windowBytes: 2048,
  ackEveryBytes: 512,
  ackEveryMessages: 4,
};

const openSession = (memory = new FrameMemory(), bufferedBytes = () => 0) =>
  new Session({ limits, memory, bufferedBytes });

function arrive(session: Session, bytes: Uint8Array): Receipt {
  const frame = decodeFrame(bytes, limits);
  assert(frame.ok);
  const receipt = session.receive(frame.value, bytes.length);
  assert(receipt.ok, receipt.ok ? "" : receipt.fault.detail);
  session.assertInvariants();
  return receipt.value;
}

function drain(session: Session): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let frame = session.takeFrame(); frame !== null; frame = session.takeFrame()) frames.push(frame.slice());
  return frames;
}

Deno.test("Session: the window closes until an acknowledgement opens it", () => {
  const [sender, receiver] = [openSession(), openSession()];
  for (let note = 0; note < 10; note++) assert(sender.enqueue({ note }, [new Uint8Array(560)]).ok);
  const first = drain(sender);
  assertEquals(first.length, 4); // the fourth overshoots 2048 bytes, the fifth has to wait
  for (const frame of first) assertEquals(arrive(receiver, frame), "delivered");
  const acknowledgement = receiver.takeAcknowledgement();
  assert(acknowledgement !== null);
  assertEquals(arrive(sender, acknowledgement), "acknowledgement");
  assertEquals(drain(sender).length, 4);
});

Deno.test("Session: an acknowledgement rides on traffic that goes the other way", () => {
  const [left, right] = [openSession(), openSession()];
  for (let note = 0; note < 4; note++) assert(left.enqueue({ note }, []).ok);
  for (const frame of drain(left)) arrive(right, frame);
  assert(right.enqueue({ answer: 1 }, []).ok);
  const [answer] = drain(right);
  assertEquals(right.takeAcknowledgement(), null);
  arrive(left, answer!);
  assertEquals(left.outboxBytes, 0);
});

Deno.test("Session: a full outbox refuses, keeps its content, and the session stays over", () => {
  const session = openSession();
  let taken = 0;
  let detail = "";
  for (; detail === ""; taken++) {
    const result = session.enqueue({ taken }, [new Uint8Array(1000)]);
    if (!result.ok) detail = result.fault.detail;
  }
  assertEquals(taken, 16);
  assertStringIncludes(detail, "'outboxBytes' must be at most 16384");
  assert(session.overflowed && session.outboxBytes <= limits.outboxBytes);
});

Deno.test("Session: gaps, unnumbered messages and acknowledgements of the unsent are faults", () => {
  const session = openSession();
  const frame = { header: {}, segments: [], acknowledged: 0 };
  const detail = (sequence: number, acknowledged = 0) => {
    const receipt = session.receive({ ...frame, sequence, acknowledged }, 20);
    return receipt.ok ? receipt.value : receipt.fault.detail;
  };
  assertStringIncludes(detail(2), "Message 2 arrived instead of 1");
  assertStringIncludes(detail(0), "has no number");
  assertStringIncludes(detail(1, 1), "Message 1 was acknowledged, but 0 was the last one sent");
  assertEquals(session.canResume(1), false);
});

Deno.test("Session: a heartbeat shows that the last message was lost", () => {
  const [sender, receiver] = [openSession(), openSession()];
  assert(sender.enqueue({ note: 1 }, []).ok);
  drain(sender); // and nothing of it arrives
  const beat = decodeFrame(sender.takeAcknowledgement(true)!, limits);
  assert(beat.ok);
  const receipt = receiver.receive(beat.value, 28);
  assertStringIncludes(receipt.ok ? "" : receipt.fault.detail, "1 messages were sent on this link, but 0 arrived");
});

/** Two sessions on a link that loses everything in flight when it breaks; every message must arrive once, in order. */
Deno.test("Session: random histories of sends, arrivals and breaks deliver exactly once, in order", () => {
  for (let seed = 1; seed <= cases(200); seed++) {
    const pick = prngOf(seed);
    const sides = [0, 1].map(() => ({
      session: openSession(),
      inFlight: [] as Uint8Array[],
      sent: 0,
      got: [] as number[],
    }));
    const pump = (from: typeof sides[0]) => {
      from!.inFlight.push(...drain(from!.session));
      const acknowledgement = from!.session.takeAcknowledgement(pick(8) === 0);
      if (acknowledgement !== null) from!.inFlight.push(acknowledgement);
    };
    const arriveOne = (from: number) => {
      const bytes = sides[from]!.inFlight.shift();
      const to = sides[1 - from]!;
      if (bytes === undefined) return;
      const frame = decodeFrame(bytes, limits);
      if (arrive(to.session, bytes) === "delivered" && frame.ok) to.got.push((frame.value.header as { n: number }).n);
      pump(to);
    };
    const reconnect = () => {
      const received = sides.map(({ session }) => session.received);
      sides.forEach((side, index) => {
        side.inFlight = [];
        assert(side.session.canResume(received[1 - index]!));
        side.session.resume(received[1 - index]!);
        pump(side);
      });
    };
    for (let turn = 0; turn < 300; turn++) {
      const index = pick(2);
      const side = sides[index]!;
      if (pick(40) === 0) reconnect();
      else if (pick(3) > 0) arriveOne(index);
      else if (side.session.enqueue({ n: side.sent }, [new Uint8Array(pick(900))]).ok) {
        side.sent++;
        pump(side);
      }
    }
    reconnect();
    while (sides.some(({ inFlight }) => inFlight.length > 0)) for (const index of [0, 1]) arriveOne(index);
    sides.forEach((side, index) => {
      assertEquals(sides[1 - index]!.got, Array.from({ length: side.sent }, (_, n) => n), `seed ${seed}`);
    });
  }
});

/** One frame of 100 kB, sent and acknowledged; returns the free memory afterwards. */
function freeAfter(from: { links: number; bufferedBytes: number }): number {
  const memory = new FrameMemory();
  const large = { ...limits, frameBytes: 200_000, outboxBytes: 400_000, windowBytes: 400_000 };
  const sender = new Session({ limits: large, memory, bufferedBytes: () => from.bufferedBytes });
  assert(sender.enqueue({ note: 1 }, [new Uint8Array(100_000)]).ok);
  drain(sender);
  for (let links = 1; links < from.links; links++) {
    sender.resume(0);
    drain(sender);
  }
  arrive(sender, encodeFrame({ header: null, acknowledged: 1 }));
  return memory.freeBytes;
}

Deno.test("Session: memory is used again only when one link had the frame and has sent all of it", () => {
  assertEquals(freeAfter({ links: 1, bufferedBytes: 0 }), 131_072);
  assertEquals(freeAfter({ links: 2, bufferedBytes: 0 }), 0);
  assertEquals(freeAfter({ links: 1, bufferedBytes: 1 }), 0);
});

Deno.test("Session: a frame in used memory has nothing of the old one", () => {
  const memory = new FrameMemory();
  const old = memory.take(100_000);
  old.fill(0xff);
  memory.giveBack(old);
  const content = { header: { note: 1 }, segments: [new Uint8Array(5).fill(1), new Uint8Array(90_001).fill(2)] };
  const frame = encodeFrame(content, (bytes) => memory.take(bytes));
  assertEquals([frame.buffer === old.buffer, memory.freeBytes], [true, 0]);
  assertEquals(frame, encodeFrame(content));
});

Deno.test("Session: unused memory is bounded", () => {
  const memory = new FrameMemory();
  const frames = Array.from({ length: 100 }, (_, size) => memory.take(700_000 + 1000 * size));
  for (const frame of frames) memory.giveBack(frame);
  assert(memory.freeBytes <= 32 * 1024 * 1024);
});
