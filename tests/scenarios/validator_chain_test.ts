/** What a validator tells its owner of its chain: while nothing is due, and when the endpoint disappears; its summary. */

import { assertEquals, assertMatch } from "@std/assert";
import { localGenesis } from "../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { hotkeyOfMiniSecret } from "../../chain/wallet/hotkey.ts";
import { serveLedger } from "../../cli/chain/serve_ledger.ts";
import type { CommandContext } from "../../cli/terminal/command.ts";
import { ValidatorChain } from "../../cli/chain/duty/validator_chain.ts";
import { nodeId } from "../../core/ids.ts";
import { EventLog } from "../support/event_log.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

interface Said {
  readonly type: string; // "warn", "line", or an event's own
  readonly [key: string]: unknown;
}

/** As much of a command's context as the validator's chain uses; what is said is an event to wait for. */
function contextOf(said: EventLog<Said>, folder: string): CommandContext {
  const output = {
    event: (event: Said) => said.push(event),
    line: (text: string) => said.push({ type: "line", text }),
    log: { warn: (text: string) => said.push({ type: "warn", text }) },
  };
  return { output, dataFolder: () => folder } as unknown as CommandContext;
}

Deno.test("Validator: scores of nothing before the first work vests are said once, and nothing is sent", () =>
  withScratchFolder(async (folder) => {
    const linesOf = async (rounds: readonly number[], isAnyDue: boolean) => {
      const ledger = LocalLedger.open({ path: ":memory:", genesis: localGenesis({ blockMs: 50 }) });
      const said = new EventLog<Said>();
      const { url, close } = await serveLedger({ ledger, host: "127.0.0.1", port: 0 });
      const signer = hotkeyOfMiniSecret(new Uint8Array(32).fill(4));
      const failure = Promise.withResolvers<never>();
      const chain = new ValidatorChain({
        ...{ context: contextOf(said, folder), signer, versionKey: 0n, onFailure: failure.reject },
      });
      chain.begin({ network: url, netuid: 9 });
      await said.next("chainConnected");
      for (const round of rounds) chain.scored(round, [{ miner: nodeId("5D"), score: 0 }], isAnyDue);
      await chain.end({ isFinished: true, interruption: AbortSignal.timeout(100) });
      await close();
      ledger.close();
      const texts = said.all.flatMap(({ type, text }) => type === "line" ? [String(text).split(" ")[0]] : []);
      return texts.filter((word) => word !== "chain:");
    };
    assertEquals(await linesOf([0, 1, 3], false), ["weights:"]);
    assertEquals(await linesOf([4], true), ["the"], "the run is over; sending its last weights");
  }));

Deno.test("Validator: an endpoint that is gone is told at once, as its end is, and the summary says that the chain is out of reach", () =>
  withScratchFolder(async (folder) => {
    const ledger = LocalLedger.open({ path: ":memory:", genesis: localGenesis({ blockMs: 50 }) });
    const said = new EventLog<Said>();
    const signer = hotkeyOfMiniSecret(new Uint8Array(32).fill(4));
    const failure = Promise.withResolvers<never>();
    const chain = new ValidatorChain({
      ...{ context: contextOf(said, folder), signer, versionKey: 0n, onFailure: failure.reject },
    });
    const first = await serveLedger({ ledger, host: "127.0.0.1", port: 0 });
    const port = Number(new URL(first.url).port);
    chain.begin({ network: first.url, netuid: 9 });
    await said.next("chainHealth");
    await first.close();
    let warning = await said.next("warn"); // the first may be that the hotkey is not registered
    while (!String(warning["text"]).includes("cannot be read")) warning = await said.next("warn");
    assertMatch(
      String(warning["text"]),
      /^Chain: the chain cannot be read: .*127\.0\.0\.1.*; retrying$/,
    );
    assertEquals(chain.summary()["chainHealth"], "alarm");
    const second = await serveLedger({ ledger, host: "127.0.0.1", port });
    let line = await said.next("line");
    while (line["text"] !== "chain: reachable again") line = await said.next("line");
    await chain.end({ isFinished: false, interruption: new AbortController().signal });
    await second.close();
    ledger.close();
  }));
