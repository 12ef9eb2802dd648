/**
 * Finds a node's orchestrator: the typed address or invite, or the search's result (run_search.ts). The key in an
 * announcement or an invite overrides a remembered one.
 */

import { type HotkeyPair, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { type Chain, ChainError } from "../../../chain/chain.ts";
import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import type { Role } from "../../../core/protocol/message.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import type { Dial } from "../../../net/links/wire.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { chainWords, givenChain, type NamedChain } from "../../terminal/options/named_chain.ts";
import { nodeCommand, withWholeCommands } from "../../chain/text/chain_words.ts";
import { enrolOnDevelopmentChain } from "../../chain/duty/development_chain.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { bareWord, hubAddress } from "../../roles/addresses.ts";
import { type Pinned, typedPin } from "../../address/hub_pin.ts";
import { shortAddress } from "../../terminal/text/format.ts";
import { shellWords } from "../../program/shell_words.ts";
import { type Announcement, readAnnouncements } from "../../address/announcements.ts";
import { enrolFirst } from "./enrol_first.ts";
import { DialledHub } from "./dialled_hub.ts";
import { isInvite, readInvite } from "../../address/invite.ts";
import { meetHub, type MeetingOptions } from "./meet_hub.ts";
import { type FoundRun, RunSearch, type SearchWorld } from "./run_search.ts";
import { askStatus } from "./run_status.ts";
import { chainSocketOptions } from "../../program/outbound.ts";

export interface FoundHub {
  readonly place: DialledHub;
  readonly pin: Pinned;
  /** Null: the run names it. */
  readonly chain: NamedChain | null;
}

const ownHub = "ws://127.0.0.1:9009";
const ownChainPort = 9944;
const statusMs = 1_000;

export interface FindOptions {
  readonly signer: HotkeyPair;
  readonly role: Role;
  readonly dial: Dial;
  readonly inWords: (text: string) => string;
  readonly giveUpAfterMs?: number | null;
}

export async function findHub(
  context: CommandContext,
  finding: FindOptions,
): Promise<FoundHub> {
  const { inWords, giveUpAfterMs = null } = finding;
  const given = givenChain(context);
  const typed = typedPin(context.options);
  const orchestrator = context.options.text("orchestrator");
  if (orchestrator !== undefined) {
    const hub = typedHub(context, { orchestrator: bareWord(orchestrator), typed, given });
    if (given !== null) await enrolForTyped(context, { hub, chain: given, finding });
    return hub;
  }
  if (given?.network === "none") return typedHub(context, { orchestrator: ownHub, typed, given });
  const found = await new RunSearch(searchWorld, {
    chain: given,
    wanted: typed,
    meet: (invite) => meetHub(invite, meetingOf(finding)),
    ownHubWords: `--orchestrator ${ownHub}`,
    prepare: (chain, { isPublic }) => prepare(context, { chain, isPublic, finding }),
    onWaiting: (why) => sayWaiting(context, inWords(why)),
    onAmbiguous: ambiguousError,
    giveUpAfterMs,
    onGivenUp: (why) =>
      new UserError(`No run was found in time: ${inWords(why)}`, {
        next: `List the announced runs: ${runsCommand(given)}`,
      }),
    signal: context.interruption(),
  }).find();
  sayFound(context, found);
  if (found.place === "machine") return typedHub(context, { orchestrator: ownHub, typed, given });
  const { chain, announcement: { invite } } = found;
  return {
    place: placeOf(context, { socket: invite.socket, lookUp: () => announcedSocket(chain, invite) }),
    pin: { hub: invite.hub, run: typed.run },
    chain,
  };
}

const meetingOf = ({ signer, role, dial }: FindOptions): MeetingOptions => ({
  ...{ identity: { signer, role }, verify: verifySignature, dial, limits: defaultNetLimits },
  ...{ timers: systemTimers, random: systemRandom },
});

async function prepare(
  { output }: CommandContext,
  { chain, isPublic, finding: { signer, role } }: { chain: Chain; isPublic: boolean; finding: FindOptions },
): Promise<string | null> {
  const hotkey = signer.address;
  return await enrolOnDevelopmentChain(chain, { hotkey, role, isPublic, say: (text) => output.line(text) });
}

async function enrolForTyped(
  context: CommandContext,
  { hub, chain, finding }: { hub: FoundHub; chain: NamedChain; finding: FindOptions },
): Promise<void> {
  const { place: { socket }, pin } = hub;
  const inWords = (text: string) =>
    finding.inWords(withWholeCommands(text, nodeCommand({ ...chain, hotkey: finding.signer.address })));
  await enrolFirst(searchWorld, {
    chain,
    prepare: (opened) => prepare(context, { chain: opened, isPublic: false, finding }),
    async isAdmitted() {
      if (pin.hub === null || pin.run === null) return false;
      const meeting = await meetHub({ socket, hub: pin.hub, run: pin.run }, meetingOf(finding));
      return meeting.type === "claims" && (await meeting.prove()).type === "proven";
    },
    onWaiting: (why) => sayWaiting(context, inWords(why)),
    onUnread: (why) => context.output.log.warn(`This node may not be registered on the chain: ${why}`),
    giveUpAfterMs: finding.giveUpAfterMs ?? null,
    onGivenUp: (why) =>
      new UserError(`The run could not be joined in time: ${inWords(why)}`, {
        next: "Start it without --give-up-after",
      }),
    signal: context.interruption(),
  });
}

function typedHub(
  context: CommandContext,
  { orchestrator, typed, given }: { orchestrator: string; typed: Pinned; given: NamedChain | null },
): FoundHub {
  const place = placeOf(context, { socket: hubAddress(orchestrator).socket, lookUp: null });
  const invite = isInvite(orchestrator) ? readInvite(orchestrator) : null;
  if (invite === null) return { place, pin: typed, chain: given };
  for (const name of ["hub", "run"] as const) {
    if (typed[name] === null || typed[name] === invite[name]) continue;
    throw new UsageError(`--${name} ${typed[name]} contradicts the invite, which names ${invite[name]}`, {
      next: `Leave --${name} out`,
    });
  }
  return { place, pin: { hub: invite.hub, run: invite.run }, chain: given };
}

function placeOf(
  { output }: CommandContext,
  { socket, lookUp }: { socket: string; lookUp: (() => Promise<string | null>) | null },
): DialledHub {
  return new DialledHub({
    address: hubAddress(socket),
    lookUp,
    timers: systemTimers,
    onMoved: (moved) => {
      output.event({ type: "hubMoved", address: moved });
      output.log.warn(`The chain announces a new address of the orchestrator: dialling ${moved} from now on`);
    },
    onProblem: (text) => output.log.warn(`Cannot read from the chain whether the orchestrator has moved: ${text}`),
  });
}

/** This run's announced address, otherwise that of the orchestrator's next run. */
async function announcedSocket(
  { network, netuid }: NamedChain,
  { run, hub }: { run: string; hub: string },
): Promise<string | null> {
  const chain = await searchWorld.openChain({ network, netuid });
  try {
    const { runs } = await readAnnouncements(chain, { isPublic: searchWorld.isPublic(network) });
    const own = runs.filter(({ invite }) => invite.hub === hub);
    return (own.find(({ invite }) => invite.run === run) ?? own[0])?.invite.socket ?? null;
  } finally {
    await chain.close();
  }
}

export const searchWorld: SearchWorld = {
  async openChain({ network, netuid }): Promise<Chain> {
    const { SubtensorChain } = await import("../../../chain/subtensor/subtensor_chain.ts");
    const endpoints = parseEndpoints(network);
    const timing = { timers: systemTimers, callDeadlineMs: 8_000, patienceMs: 8_000 };
    return await SubtensorChain.connect({
      endpoints,
      netuid,
      dice: systemRandom.unit,
      ...timing,
      socketOptions: chainSocketOptions,
    });
  },
  isPublic: (network) => parseEndpoints(network).isPublic,
  async hasOwnChain() {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: ownChainPort });
      connection.close();
      return true;
    } catch {
      return false;
    }
  },
  hasOwnHub: async () => await askStatus({ http: hubAddress(ownHub).http, deadlineMs: statusMs }) !== null,
  timers: systemTimers,
  random: systemRandom,
};

function runsCommand(chain: NamedChain | null): string {
  return chain === null ? "iota runs" : shellWords(["iota", "runs", ...chainWords(chain)]);
}

function sayWaiting({ output, options }: CommandContext, why: string): void {
  output.event({ type: "searching", why });
  output.log.warn(waitingText(why, { isNamed: options.given("orchestrator") }));
}

export function waitingText(why: string, { isNamed }: { isNamed: boolean }): string {
  return `Not in a run yet: ${why}${isNamed ? "" : "; with an invite: --orchestrator 'iota://HOST:PORT/RUN#KEY'"}`;
}

function sayFound({ output }: CommandContext, found: FoundRun): void {
  if (found.place === "machine") {
    output.event({ type: "runFound", place: "machine", address: ownHub });
    return output.line(`Found an orchestrator on this machine: ${ownHub}`);
  }
  const { chain: { network, netuid }, announcement, others } = found;
  const { invite: { run, socket, hub }, hotkey, by, stakeRao, block } = announcement;
  output.event({
    ...{ type: "runFound", place: "chain", run, address: socket, hub, chain: network, netuid },
    ...{ announcedBy: hotkey, by, stakeRao: String(stakeRao), block, others },
  });
  const more = others === 0 ? "" : `; ${others} more: ${runsCommand({ network, netuid })}`;
  output.line(
    `Found run ${run} at ${socket} on subnet ${netuid} of ${network}: ${byText(announcement)} announced it ` +
      `in block ${block}, with the key ${shortAddress(hub)}${more}`,
  );
}

function byText({ by, hotkey }: Pick<Announcement, "by" | "hotkey">): string {
  return `${by === "owner" ? "the subnet's owner" : "the staked validator"} ${shortAddress(hotkey)}`;
}

function ambiguousError(runs: readonly Announcement[], { network, netuid }: NamedChain): UserError {
  const list = runs.map((each) => `${each.invite.run} (${byText(each)})`).join(", ");
  const isOneName = new Set(runs.map(({ invite }) => invite.run)).size === 1;
  const [first] = runs;
  return new UserError(
    `Cannot choose a run: subnet ${netuid} of ${network} announces ${runs.length}, none of them by its owner: ${list}`,
    { next: isOneName ? `Name its key: --hub ${first!.invite.hub}` : `Name one: --run ${first!.invite.run}` },
  );
}

export function explainChain(error: unknown): unknown {
  if (!(error instanceof ChainError)) return error;
  return new UserError(error.message, {
    next: "Check --chain and the network, or start your own chain: iota chain local",
    cause: error,
  });
}
