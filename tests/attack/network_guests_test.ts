/** Silent guests: they lock out neither other addresses nor a returning node of their own address. */

import { assertEquals } from "@std/assert";
import { AttackedHub, joinedMs, newcomer } from "../support/attack/attacked_hub.ts";
import { Stranger } from "../support/attack/stranger.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { slowTest } from "../support/whole.ts";

/** As many guests as the table holds, which reconnect as soon as they are dropped. */
class Guests {
  readonly #all = new Set<Stranger>();
  #isOver = false;

  static async sitDown({ port, count }: { port: number; count: number }): Promise<Guests> {
    const guests = new Guests();
    const first = Array.from({ length: count }, () => guests.#come(port));
    await Promise.all(first.map((stranger) => stranger.upgrade()));
    return guests;
  }

  #come(port: number): Stranger {
    const stranger = new Stranger({ port });
    this.#all.add(stranger);
    stranger.closed.then(() => {
      this.#all.delete(stranger);
      if (!this.#isOver) this.#come(port).upgrade();
    });
    return stranger;
  }

  async leave(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#all].map((stranger) => stranger.leave()));
  }
}

for (const from of ["another address", "their own address"] as const) {
  Deno.test(`Attack: guests that crowd the table do not lock out a newcomer from ${from}`, async () => {
    const hub = await AttackedHub.start({ limits: { helloMs: 60_000 } }); // they may stay longer than the newcomer waits
    const guests = await Guests.sitDown({ port: hub.port, count: defaultNetLimits.pendingHellos });
    try {
      const isOther = from === "another address";
      const came = newcomer(hub, 1, isOther ? "127.0.0.9" : "127.0.0.1");
      await joinedMs(came, isOther ? 5_000 : 10_000).finally(() => came.node.close("test over"));
    } finally {
      await guests.leave();
      await hub.stop();
    }
  });
}

slowTest("Attack: a node with a ticket comes back among guests from its own address", async () => {
  const hub = await AttackedHub.start({ limits: { helloMs: 60_000 } }); // they may stay longer than the newcomer waits
  const member = newcomer(hub, 1, "127.0.0.1");
  await member.events.next("connected");
  const guests = await Guests.sitDown({ port: hub.port, count: defaultNetLimits.pendingHellos });
  try {
    member.link.cut();
    await member.events.next("disconnected");
    await joinedMs(member, 10_000);
    assertEquals(member.events.all.at(-1)?.type, "connected");
  } finally {
    member.node.close("test over");
    await guests.leave();
    await hub.stop();
  }
});
