/**
 * `iota runs`: the runs that a subnet's chain announces, who vouches for each, and whether it answers, which proves
 * nothing.
 */

import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import { withDeadline } from "../../../chain/subtensor/connection/timers.ts";
import { ChainError } from "../../../chain/chain.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { givenChain, type NamedChain } from "../../terminal/options/named_chain.ts";
import { hubTrust } from "./hub_trust.ts";
import { UsageError } from "../../program/errors.ts";
import { hubAddress } from "../../roles/addresses.ts";
import { decimal, padEnd, plural, printable, shortAddress, tokens } from "../../terminal/text/format.ts";
import { type Announcement, type Announcements, readAnnouncements } from "../../address/announcements.ts";
import { explainChain, searchWorld } from "./find_hub.ts";
import { inviteText } from "../../address/invite.ts";
import { joinCommand } from "../../address/join_command.ts";
import { ownNetwork, usualChain } from "./run_search.ts";
import { askAnyStatus, type RunStatus } from "./run_status.ts";

interface ShownRun {
  readonly announcement: Announcement;
  readonly status: RunStatus | null; // null: no readable answer
  /** `untrusted`: its certificate is not trusted. */
  readonly answers: "itself" | "another" | "nobody" | "untrusted";
}

export async function listRuns(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const timeoutMs = 1_000 * (options.number("timeout") ?? 5);
  const authorityFile = options.text("tls-ca") ?? null;
  const { http: trust } = await hubTrust(authorityFile ?? undefined);
  const place = await placeOf(context);
  const { network, netuid } = place;
  const found = await announcementsOf(place, timeoutMs);
  const runs = await Promise.all(found.runs.map(async (announcement): Promise<ShownRun> => {
    const { http } = hubAddress(announcement.invite.socket);
    const found = await askAnyStatus({ http, deadlineMs: timeoutMs, ...trust });
    const status = found === "untrusted" ? null : found;
    return { announcement, status, answers: status === found ? answererOf(announcement, status) : "untrusted" };
  }));
  for (const run of runs) {
    output.event({ type: "run", ...fieldsOf(run) });
    for (const line of linesOf(run, { authorityFile, place })) output.line(line);
  }
  for (const { hotkey, by, why } of found.unusable) {
    output.event({ type: "unusableRun", announcedBy: hotkey, by, why });
    output.line(`ignored      the announcement of ${shortAddress(hotkey)}, as ${why}`);
  }
  const reachable = runs.filter(({ answers }) => answers === "itself").length;
  output.answer(
    { chain: network, netuid, block: found.block, runs: runs.length, reachable, unusable: found.unusable.length },
    closing({ place, runs: runs.length, block: found.block }),
  );
  return 0;
}

function answererOf({ invite: { run, hub } }: Announcement, status: RunStatus | null): ShownRun["answers"] {
  if (status === null) return "nobody";
  return status.runId === run && status.hub === hub ? "itself" : "another";
}

async function placeOf(context: CommandContext): Promise<NamedChain> {
  const given = givenChain(context);
  if (given?.network === "none") {
    throw new UsageError("Cannot list runs with --chain none: runs are announced on a chain", {
      next: "For example: --chain finney",
    });
  }
  if (given !== null) return given;
  return await searchWorld.hasOwnChain() ? { ...usualChain, network: ownNetwork } : usualChain;
}

async function announcementsOf(place: NamedChain, timeoutMs: number): Promise<Announcements> {
  const { network, netuid } = place;
  const read = async () => {
    const chain = await searchWorld.openChain(place);
    try {
      return await readAnnouncements(chain, { isPublic: parseEndpoints(network).isPublic });
    } finally {
      await chain.close();
    }
  };
  const late = () => new ChainError("timeout", `Cannot read subnet ${netuid} of ${network}: it does not answer`);
  try {
    return await withDeadline(read(), { timers: systemTimers, deadlineMs: 4 * timeoutMs, late });
  } catch (error) {
    throw explainChain(error);
  }
}

export function fieldsOf({ announcement, status: anyones, answers }: ShownRun): Record<string, unknown> {
  const { invite, hotkey, by, stakeRao, block } = announcement;
  const status = answers === "itself" ? anyones : null;
  return {
    ...{ run: invite.run, address: invite.socket, hub: invite.hub, invite: inviteText(invite) },
    ...{ announcedBy: hotkey, by, stakeRao: String(stakeRao), block },
    isReachable: status !== null,
    answers,
    phase: status?.phase ?? null,
    step: status?.step ?? null,
    steps: status?.steps ?? null,
    nodes: status?.nodes ?? null,
  };
}

export function linesOf(
  { announcement, status, answers }: ShownRun,
  { authorityFile = null, place }: { authorityFile?: string | null; place: NamedChain },
): string[] {
  const { invite, hotkey, by, stakeRao, block } = announcement;
  const row = (name: string, value: string) => `  ${padEnd(name, 10)}${value}`;
  const who = by === "owner"
    ? `the subnet's owner, ${shortAddress(hotkey)}`
    : `the validator ${shortAddress(hotkey)} with a stake of ${tokens(stakeRao)}`;
  return [
    invite.run,
    row("address", invite.socket),
    row("key", shortAddress(invite.hub)),
    row("announced", `by ${who}, in block ${block}`),
    row("now", printable(stateText(status, answers))),
    row(
      "join",
      joinCommand(invite, { authorityFile: isTls(invite.socket) ? authorityFile : null, chain: place }),
    ),
    "",
  ];
}

const isTls = (socket: string): boolean => socket.startsWith("wss:");

function stateText(status: RunStatus | null, answers: ShownRun["answers"]): string {
  if (answers === "untrusted") {
    return "answers with a certificate that is not trusted here: with the run's certificate, --tls-ca cert.pem asks it";
  }
  if (status === null) return "does not answer";
  const { run, runId, phase, step, steps, nodes } = status;
  if (answers === "another") {
    return `does not answer: another orchestrator has its address, with the run ${runId ?? run}`;
  }
  return `${phase}, step ${decimal(step)} of ${decimal(steps)}, ${plural(nodes, "node")}`;
}

function closing({ place, runs, block }: { place: NamedChain; runs: number; block: number }): string {
  const at = `subnet ${place.netuid} of ${place.network}, at block ${block}`;
  if (runs > 0) return `${plural(runs, "run")} on ${at}`;
  return `No run is announced on ${at}, by its owner or by a validator with a permit`;
}
