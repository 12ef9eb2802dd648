/** A man in the middle of an unencrypted link: whatever he does after the hello, no message of his is accepted. */

import { assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { encodeFrame } from "../../net/messages/frame.ts";
import { createRefusal } from "../../net/auth/hello.ts";
import { createLoopback } from "../../net/links/loopback.ts";
import { must, received } from "../conformance/transport_check.ts";
import { type Member, TransportWorld } from "../conformance/transport_world.ts";
import { forged, TamperedLink } from "../support/attack/tampered_link.ts";

interface Scene {
  readonly world: TransportWorld;
  readonly member: Member;
  readonly between: TamperedLink;
}

function check(behaviour: string, body: (scene: Scene) => Promise<void>): void {
  Deno.test(`Man in the middle: ${behaviour}`, async () => {
    const between = new TamperedLink();
    const world = new TransportWorld(({ accept }) => {
      const dial = between.over(createLoopback(accept));
      return Promise.resolve({ url: "loopback", dial, stop: () => Promise.resolve() });
    }, {});
    await world.start();
    try {
      const member = await world.joined(1);
      await body({ world, member, between });
      assertEquals(member.events.count("refused"), 0);
    } finally {
      await world.stop();
    }
  });
}

const notesAt = (world: TransportWorld): number[] =>
  world.hubEvents.all.flatMap((event) => event.type === "message" ? [event.message.note] : []);

/** The link was dropped; the node reconnects and the session continues. */
async function comesBack({ world, member }: Scene): Promise<void> {
  await world.reconnect(member);
  assertEquals((await member.events.next("connected")).resumed, true);
}

/** A note's number is the last byte of its header, and a small one is that byte. */
const otherNote = (note: number) => (bytes: Uint8Array): void => void (bytes[bytes.length - 1] = note);

check("a frame with a flipped bit is dropped, and the session delivers the original message", async (scene) => {
  const { world, member, between } = scene;
  between.tamper = (frame, way) =>
    way === "toHub" ? [forged(frame, (bytes) => bytes[bytes.length - 1]! ^= 1)] : [frame];
  must(member.node.send({ note: 4 }));
  await world.hubEvents.next("linkDamaged");
  between.tamper = (frame) => [frame];
  await comesBack(scene);
  assertEquals(await received(world.hubEvents, 1), [4]);
  assertEquals(notesAt(world), [4]);
});

check("a message of his own with the next number is not taken, in either direction", async (scene) => {
  const { world, member, between } = scene;
  const forgery = encodeFrame({ header: { note: 66 }, sequence: 1 });
  between.inject(forgery, "toHub");
  await world.hubEvents.next("linkDamaged");
  await comesBack(scene);
  between.inject(forgery, "toNode");
  await comesBack(scene);
  must(member.node.send({ note: 1 }));
  must(world.hub.send(member.signer.address, { note: 2 }));
  assertEquals(await received(world.hubEvents, 1), [1]);
  assertEquals(await received(member.events, 1), [2]);
  assertEquals(notesAt(world), [1]);
  assertEquals(member.events.count("message"), 1);
});

check("a frame of an earlier link is rejected on a later one, unchanged or renumbered", async (scene) => {
  const { world, member, between } = scene;
  must(member.node.send({ note: 1 }));
  assertEquals(await received(world.hubEvents, 1), [1]);
  const old = between.seen.toHub.at(-1)!;
  member.link.cut();
  await comesBack(scene);
  const renumbered = forged(old, (bytes) => new DataView(bytes.buffer).setUint32(12, 2, true));
  for (const frame of [old, renumbered]) {
    between.inject(frame, "toHub");
    await world.hubEvents.next("linkDamaged");
    await comesBack(scene);
  }
  must(member.node.send({ note: 2 }));
  assertEquals(await received(world.hubEvents, 1), [2]);
  assertEquals(notesAt(world), [1, 2]);
});

check(
  "a frame that is repeated on its link counts once, and one that overtakes another waits its turn",
  async (scene) => {
    const { world, member, between } = scene;
    between.tamper = (frame) => [frame, frame];
    must(member.node.send({ note: 1 }));
    must(member.node.send({ note: 2 }));
    assertEquals(await received(world.hubEvents, 2), [1, 2]);
    const late: Uint8Array[] = [];
    between.tamper = (frame, way) =>
      way === "toNode" ? [frame] : late.length === 0 ? (late.push(frame), []) : [frame, ...late];
    must(member.node.send({ note: 3 }));
    must(member.node.send({ note: 4 }));
    await world.hubEvents.next("linkDamaged");
    between.tamper = (frame) => [frame];
    await comesBack(scene);
    assertEquals(await received(world.hubEvents, 2), [3, 4]);
    assertEquals(notesAt(world), [1, 2, 3, 4]);
  },
);

check("a frame that is sent back to its sender is not taken", async (scene) => {
  const { world, member, between } = scene;
  must(world.hub.send(member.signer.address, { note: 1 }));
  assertEquals(await received(member.events, 1), [1]);
  between.inject(between.seen.toNode.at(-1)!, "toHub");
  await world.hubEvents.next("linkDamaged");
  await comesBack(scene);
  assertEquals(notesAt(world), []);
});

check("a refusal of his own does not end the node", async (scene) => {
  const { world, member, between } = scene;
  const refusal = createRefusal(fault("notAdmitted", "this node was banned from the run"));
  between.inject(encodeFrame({ header: refusal }), "toNode");
  await comesBack(scene);
  must(member.node.send({ note: 1 }));
  assertEquals(await received(world.hubEvents, 1), [1]);
});

check("whose frames were changed is not blamed for it", async (scene) => {
  const { world, member, between } = scene;
  between.tamper = (frame, way) => way === "toHub" ? [forged(frame, otherNote(9))] : [frame];
  must(member.node.send({ note: 4 }));
  const { peer, fault: seen } = await world.hubEvents.next("linkDamaged");
  assertEquals([peer, seen.code, world.hubEvents.count("fault")], [member.signer.address, "malformedFrame", 0]);
  between.tamper = (frame) => [frame];
  await comesBack(scene);
});
