/** Shared by `iota miner` and `iota validate`: wallet, device, link. */

import { type HotkeyPair, verifySignature } from "../../chain/wallet/hotkey.ts";
import type { Role } from "../../core/protocol/message.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { HubTime } from "../../net/auth/clocks.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import type { CommandContext, OptionValues } from "../terminal/command.ts";
import { givenChain, type NamedChain } from "../terminal/options/named_chain.ts";
import { durationOption } from "../terminal/text/duration_text.ts";
import { Stopped } from "../program/errors.ts";
import { findHub, type FindOptions, type FoundHub } from "./find/find_hub.ts";
import { giveUpReading } from "../rights/confinement.ts";
import { duration, plural } from "../terminal/text/format.ts";
import type { ShellEvent } from "./screen/node_event.ts";
import type { LinkMeter } from "./screen/link_meter.ts";
import { hotkeyFolders, openHotkey } from "../terminal/options/wallet_options.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import { LastingDevice } from "../device/lasting_device.ts";
import { HubPin } from "../address/hub_pin.ts";
import { openNodeBlobs } from "./node_blobs.ts";
import type { Waiting } from "./hub_wait.ts";
import { hubTrust } from "./find/hub_trust.ts";
import { type NodeWallet, withWallet } from "./link_errors.ts";
import type { NodeLink } from "./node_role.ts";
import { TaskTraces } from "../observe/telemetry/task_traces.ts";
import { openTracer } from "../observe/telemetry/tracing.ts";
import { byteOption } from "../terminal/text/byte_text.ts";
import { deviceSentence, deviceText, openDevice, sameDevice } from "../device/open_device.ts";
import { readTuning } from "../device/tuning_file.ts";

export interface OpenNode {
  readonly signer: HotkeyPair;
  readonly device: LastingDevice;
  readonly link: NodeLink;
  readonly blobs: BlobAccess;
  readonly chain: NamedChain | null; // null: the run names it
}

/** Afterwards the key is in memory and its folder is closed to this process. */
export async function openSigner(context: CommandContext): Promise<HotkeyPair> {
  const signer = await openHotkey(context);
  giveUpReading(hotkeyFolders(context), { kept: context.dataFolder() });
  return signer;
}

interface OpenNodeOptions {
  readonly signer: HotkeyPair;
  readonly role: Role;
  readonly meter: LinkMeter;
  /** Stamps requests. @default its own */
  readonly hubTime?: HubTime;
}

export async function openNode(
  context: CommandContext,
  { signer, role, meter, hubTime = new HubTime(systemTimers) }: OpenNodeOptions,
): Promise<OpenNode> {
  const { options, output } = context;
  const giveUpAfterMs = durationOption("give-up-after", options.text("give-up-after"));
  const trust = await hubTrust(options.text("tls-ca"));
  const { place, chain, pin: named } = await findRun(context, { signer, role, dial: trust.dial, giveUpAfterMs });
  const pin = await HubPin.open({ folder: context.dataFolder(), socket: place.socket }, named);
  const device = await openLastingDevice(context, signer);
  const by = { signer, timers: hubTime, random: systemRandom };
  const blobs = openNodeBlobs({ trust, place, by, onProblem: (text) => output.log.debug(text) });
  const tracer = openTracer();
  const link: NodeLink = {
    traces: tracer === null ? undefined : new TaskTraces({ tracer, node: signer.address }),
    meter,
    get url() {
      return place.socket;
    },
    signer,
    verify: verifySignature,
    dial: place.through(trust.dial),
    limits: defaultNetLimits,
    timers: systemTimers,
    random: systemRandom,
    giveUpAfterMs,
    pin,
    rememberedIn: (found) => pin.rememberedIn(found),
    wallet: nodeWallet(options, chain),
    onOffline: (text) => output.log.warn(text),
    onWaiting: (waiting) => sayWaiting(output, place.socket, waiting),
    onConnected: (ticket, clock) => {
      hubTime.learn(clock);
      place.connected();
      blobs.begin(ticket);
      pin.met(ticket).then((warning) => warning === null ? undefined : output.log.warn(warning)).catch((error) =>
        output.log.warn(`Cannot remember this orchestrator: ${error.message}`)
      );
    },
  };
  return { signer, device, link, blobs: metered(blobs.access, meter), chain };
}

function sayWaiting(output: CommandContext["output"], url: string, { reason, waitedMs }: Waiting): void {
  output.event({ type: "waiting", url, reason, waitedMs: Math.round(waitedMs) } satisfies ShellEvent);
  output.log.warn(`Waiting for the orchestrator${waitedText(waitedMs)}: ${reason}`);
}

/** Repeated fetches count once. */
const metered = (blobs: BlobAccess, meter: LinkMeter): BlobAccess => ({
  put: async (bytes) => {
    const ref = await blobs.put(bytes);
    meter.sent(bytes.length);
    return ref;
  },
  get: async (ref, from) => {
    const bytes = await blobs.get(ref, from);
    meter.received(bytes.length);
    return bytes;
  },
});

async function findRun(context: CommandContext, options: Omit<FindOptions, "inWords">): Promise<FoundHub> {
  const { address } = options.signer;
  const wallet = { address, ...nodeWallet(context.options, givenChain(context)) };
  try {
    return await findHub(context, { ...options, inWords: (text) => withWallet(text, wallet) });
  } catch (error) {
    if (error instanceof Stopped) context.output.summary({ node: address, finished: false, reason: "interrupted" });
    throw error;
  }
}

function nodeWallet(options: OptionValues, chain: NamedChain | null): Omit<NodeWallet, "address"> {
  const typed = (name: string) => options.given(name) ? options.text(name) ?? null : null;
  const network = chain === null || chain.network === "none" ? null : chain.network;
  const wallet = options.text("wallet") ?? "default";
  return { wallet, hotkey: typed("hotkey"), walletPath: typed("wallet-path"), network };
}

const waitedText = (ms: number): string => ms < 10_000 ? "" : `, for ${duration(ms)} now`;

async function openLastingDevice(context: CommandContext, signer: HotkeyPair): Promise<LastingDevice> {
  const { options, output } = context;
  const tuned = await readTuning(context.dataFolder());
  const how = { memoryBytes: byteOption("memory", options.text("memory")), threads: options.number("threads"), tuned };
  const worker = await openDevice(options.text("device"), how);
  output.event({ type: "device", ...worker.adapter });
  output.line(deviceSentence(worker));
  output.line(`This node is ${signer.address}`);
  output.detail(`Computes on ${deviceText(worker)}`);
  return new LastingDevice(worker, {
    reopen: () => openDevice(sameDevice(worker), how),
    timers: systemTimers,
    onLoss: ({ reason, losses }) => {
      output.event({ type: "deviceLost", reason, losses } satisfies ShellEvent);
      output.log.warn(`${reason}; opening it again`);
    },
    onRebuilt: ({ spec, calls }) => {
      output.event({ type: "stageRebuilt", stage: spec.index, calls } satisfies ShellEvent);
      output.line(`stage ${spec.index}: rebuilt on a new device, ${plural(calls, "call")} repeated`);
    },
  });
}
