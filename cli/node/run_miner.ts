/** `iota miner`: run_node.ts, and pausing. */

import { present } from "../../core/assert.ts";
import type { NodeId } from "../../core/ids.ts";
import type { MinerRecord } from "../../core/miner/event.ts";
import { verifySignature } from "../../chain/wallet/hotkey.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { systemTimers, type Timers } from "../../net/timers.ts";
import type { CommandContext } from "../terminal/command.ts";
import { givenChain } from "../terminal/options/named_chain.ts";
import { MinerChain } from "../chain/duty/miner_chain.ts";
import { openPauseWatch, pauseRules } from "./idle/pause_options.ts";
import type { PauseWatch } from "./idle/pause_watch.ts";
import { newVersion, openLogFile, openUpgradeWatch } from "../files/long_run.ts";
import { miner } from "../../core/miner/machine.ts";
import { startMiner } from "./miner_role.ts";
import { OwnStateFolder } from "./own_state_folder.ts";
import type { KeyAction } from "../terminal/screen/live_screen.ts";
import { LinkMeter } from "./screen/link_meter.ts";
import type { ShellEvent } from "./screen/node_event.ts";
import { openNodeScreen } from "./screen/node_screen.ts";
import { idleLine, minerLine } from "./node_lines.ts";
import type { NodeLink } from "./node_role.ts";
import { PausingRole } from "./pausing_role.ts";
import { openPeerServer, type PeerServer } from "./peer_server.ts";
import { type OpenNode, openNode, openSigner } from "./run_node.ts";
import { runRole } from "./run_role.ts";
import { HubTime } from "../../net/auth/clocks.ts";

interface Tally {
  tasks: number;
  steps: number;
  rounds: number;
  computeMs: number;
  pauses: number;
}

export async function runMiner(context: CommandContext): Promise<number> {
  await openLogFile(context);
  const tally: Tally = { tasks: 0, steps: 0, rounds: 0, computeMs: 0, pauses: 0 };
  givenChain(context); // fails on a wrong value before anything is opened
  pauseRules(context); // likewise
  const signer = await openSigner(context);
  const meter = new LinkMeter(() => systemTimers.steadyMs());
  let pauses: PauseWatch | null = null;
  const closeScreen = openScreen(context, {
    address: signer.address,
    meter,
    toggle: async () => await pauses?.toggle(),
  });
  const hubTime = new HubTime(systemTimers);
  const peers = await openPeers(context, { self: signer.address, timers: hubTime });
  const node = await openNode(context, { signer, role: "miner", meter, hubTime });
  const { chain: given } = node;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const chain = new MinerChain({ context, hotkey: node.signer.address, onFailure: reject });
  if (given !== null) chain.begin(given);
  const watch = pauses = await openPauseWatch(context);
  const letGo = onHand(watch, reject);
  let role: PausingRole | null = null;
  const upgrade = await openUpgradeWatch(context, {
    leave: () => role?.stop(newVersion),
    isIdle: () => role?.isResting ?? true,
  });
  const onRecord = (record: MinerRecord) => {
    countRecord(tally, record);
    if (record.type === "welcomed" && given === null) chain.begin(record.chain);
    if (record.type === "roundMerged") upgrade?.roundEnded();
  };
  return await runRole(context, {
    node,
    start: () => Promise.resolve(role = pausingMiner(context, { node, peers, watch, tally, onRecord })),
    failed,
    end: async () => {
      upgrade?.stop();
      watch.stop();
      await chain.end();
    },
    summary: () => ({ ...tally, ...chain.summary() }),
  }).finally(() => {
    letGo();
    closeScreen();
    return peers?.close();
  });
}

function openScreen(
  { output }: CommandContext,
  { address, meter, toggle }: { address: string; meter: LinkMeter; toggle: () => Promise<void> },
): () => void {
  const pause: KeyAction = {
    key: "p",
    word: "pause",
    doc: "leave the run; press it again to join again",
    act: async () => {
      await toggle();
      return null;
    },
  };
  return openNodeScreen({ output, role: "miner", address, meter, nowMs: () => systemTimers.nowMs(), actions: [pause] });
}

interface PausingMinerOptions {
  readonly node: OpenNode;
  readonly peers: PeerServer | null;
  readonly watch: PauseWatch;
  readonly tally: Tally;
  readonly onRecord: (record: MinerRecord) => void;
}

function pausingMiner(
  { dataFolder, output, options: given }: CommandContext,
  options: PausingMinerOptions,
): PausingRole {
  const { node, peers, watch, tally, onRecord } = options;
  const folder = `${dataFolder()}/miners/${node.signer.address}`;
  let run: string | null = null;
  const ownState = new OwnStateFolder(folder, {
    run: () => present(run, "a miner has joined a run before it has a stage"),
    warn: (text) => output.log.warn(text),
  });
  const activationBytes = 2 ** 20 * (given.number("activation-mib") ?? 0);
  return new PausingRole({
    gate: watch,
    start: () => {
      const { onConnected } = node.link;
      const link: NodeLink = {
        ...node.link,
        get url() {
          return node.link.url;
        },
        onConnected: (ticket, clock) => {
          run = ticket.run;
          peers?.trust(ticket);
          onConnected(ticket, clock);
        },
      };
      return startMiner({
        ...{ ...node, link, peers, ownState, activationBytes, machine: miner },
        onRecord: (record) => {
          onRecord(record);
          output.event(record);
          const line = minerLine(record);
          if (line !== null) output.line(line);
        },
        onIdle: (idle) => {
          output.event({ type: "idle", ...idle } satisfies ShellEvent);
          output.line(idleLine(idle));
        },
      });
    },
    onPaused: ({ cause, reason }) => {
      tally.pauses += 1;
      output.event({ type: "paused", cause, reason } satisfies ShellEvent);
      output.line(`paused: ${reason}`);
    },
    onResumed: () => {
      output.event({ type: "resumed" } satisfies ShellEvent);
      output.line("working again");
    },
  });
}

/** SIGUSR2 pauses and resumes; Windows has no such signal. Returns a function that stops listening. */
function onHand(watch: PauseWatch, onFailure: (error: unknown) => void): () => void {
  if (Deno.build.os === "windows") return () => {};
  const toggle = () => {
    watch.toggle().catch(onFailure);
  };
  Deno.addSignalListener("SIGUSR2", toggle);
  return () => Deno.removeSignalListener("SIGUSR2", toggle);
}

/** `timers`: in the orchestrator's time. */
async function openPeers(
  { options, output }: CommandContext,
  { self, timers }: { self: NodeId; timers: Timers },
): Promise<PeerServer | null> {
  const listen = options.text("listen");
  if (listen === undefined) return null;
  const peers = await openPeerServer({
    listen,
    publicUrl: options.text("public-url"),
    self,
    verify: verifySignature,
    limits: defaultNetLimits,
    timers,
    onError: (error) => output.log.warn(`Newcomers may be unable to copy this stage from here: ${error}`),
  });
  output.line(`Newcomers may copy this miner's stage from ${peers.url}`);
  return peers;
}

function countRecord(tally: Tally, record: MinerRecord): void {
  if (record.type === "taskComputed") {
    tally.tasks += 1;
    tally.computeMs += record.computeMs;
  }
  if (record.type === "stepApplied") tally.steps += 1;
  if (record.type === "roundMerged") tally.rounds += 1;
}
