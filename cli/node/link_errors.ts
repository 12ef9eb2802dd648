/** Messages for a node's failed link, each with its next step. */

import type { Fault } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import type { Role } from "../../core/protocol/message.ts";
import type { Challenger } from "../../net/auth/hello.ts";
import { rivalText } from "../../net/links/hub.ts";
import { isLoopbackHost } from "../address/public_address.ts";
import { UserError } from "../program/errors.ts";
import { inviteText, quotedInvite } from "../address/invite.ts";
import { duration } from "../terminal/text/format.ts";
import { shellWords } from "../program/shell_words.ts";
import { pinWords } from "../address/hub_pin.ts";

/** An orchestrator's restart is harmless; other ends deserve a warning. */
export function sessionLostText({ code, detail }: Fault): string {
  return code === "staleResult" ? detail : `This session with the orchestrator had to end: ${detail}`;
}

interface GivenUp {
  readonly url: string;
  readonly giveUpAfterMs: number;
  readonly waitedMs: number;
  readonly reason: string;
  readonly cure: string | null;
}

export function gaveUpError({ url, giveUpAfterMs, waitedMs, reason, cure }: GivenUp): UserError {
  const time = giveUpAfterMs === 0 ? "at the first attempt" : `in ${duration(Math.max(waitedMs, giveUpAfterMs))}`;
  return new UserError(
    `The orchestrator at '${url}' did not admit this node ${time} (--give-up-after). ${reason}`,
    {
      next: cure === null
        ? "Check the address, and that the orchestrator is running; without --give-up-after this node waits for it"
        : `${cure[0]!.toUpperCase()}${cure.slice(1)}`,
    },
  );
}

export function tooLargeError(detail: string): UserError {
  return new UserError(`Cannot take part in this run with this device: ${detail}`, {
    next: "Let a stage take more (--memory), compute on the processor (--device cpu), or join a run with more stages",
  });
}

interface Refusal {
  readonly url: string;
  readonly role: Role;
  readonly fault: Fault;
  readonly found: Challenger | null;
  readonly rememberedIn: string | null; // the file that names the expected one
  readonly isOtherRun: boolean; // the right orchestrator serves another run
  readonly wallet: NodeWallet;
}

export function refusedError(refusal: Refusal): UserError {
  const { url, role, fault: { code }, found, rememberedIn, wallet } = refusal;
  const detail = inNodeWords(refusal.fault.detail, { wallet, url });
  if (code === "tooLarge") return tooLargeError(detail);
  if (code === "unauthenticated" && found !== null && rememberedIn !== null) {
    return new UserError(
      `${detail}; another orchestrator was met at '${url}' before (remembered in ${rememberedIn})`,
      { next: `If the run's owner confirms the change, join the new one: ${joinWords({ url, role, found, wallet })}` },
    );
  }
  if (code === "unauthenticated" && found !== null && refusal.isOtherRun) {
    return new UserError(detail, { next: `Join the run that it serves: ${joinWords({ url, role, found, wallet })}` });
  }
  const what = code === "unauthenticated"
    ? `The hello with the orchestrator at '${url}' failed`
    : `The orchestrator at '${url}' refused this node`;
  return new UserError(`${what} (${code}): ${detail}`, { next: nextOf(refusal) });
}

export interface NodeWallet {
  readonly address: NodeId;
  readonly network: string | null; // null: only the orchestrator has named one
  readonly wallet: string;
  readonly hotkey: string | null;
  readonly walletPath: string | null;
}

/** Names this node's wallet instead of its address, so that a command also finds the paying coldkey. */
export function withWallet(text: string, { address, wallet, hotkey, walletPath }: NodeWallet): string {
  const words = ["--wallet", wallet, ...wordsOf("--hotkey", hotkey), ...wordsOf("--wallet-path", walletPath)];
  return text.replaceAll(`--hotkey ${address}`, shellWords(words));
}

/** Names this node's wallet, and the chain by the address that is reachable from here. */
export function inNodeWords(text: string, { wallet, url }: { wallet: NodeWallet; url: string }): string {
  const own = withWallet(text, wallet);
  const { network } = wallet;
  if (network !== null) return own.replace(/--endpoint \S+/, shellWords(["--endpoint", network]));
  const host = URL.parse(url)?.hostname ?? "";
  const isElsewhere = host !== "" && !isLoopbackHost(host.replace(/^\[(.*)\]$/, "$1"));
  if (!isElsewhere || !own.includes("--endpoint local ")) return own;
  const there = `ws://${host}:${ownChainPort}`;
  return `${own.replace("--endpoint local ", `--endpoint ${there} `)} ` +
    `('local' is the chain on the orchestrator's machine, which must listen at ${there}: if it does not, ask the run's owner)`;
}

const ownChainPort = 9944;

const wordsOf = (name: string, value: string | null): string[] => value === null ? [] : [name, value];

function ownHotkeyText({ wallet, hotkey, walletPath }: NodeWallet): string {
  const other = hotkey === "second" ? "third" : "second";
  const at = wordsOf("--wallet-path", walletPath);
  return `give this node a hotkey of its own, and start it with --hotkey ${other}: ` +
    shellWords(["iota", "wallet", "new", "--name", wallet, "--hotkey", other, ...at]);
}

/** Null: another reason. */
export function rivalCure(reason: string, wallet: NodeWallet): string | null {
  return reason.startsWith(rivalText) ? `or ${ownHotkeyText(wallet)}` : null;
}

function nextOf({ fault: { code } }: Refusal): string {
  if (code === "versionMismatch") return "Install the version of iota that the orchestrator runs";
  if (code !== "unauthenticated") return "Ask the run's owner, or use another hotkey with --wallet NAME";
  return "If its owner confirms the change, start again with the invite that it prints: --orchestrator 'iota://…'";
}

export function otherRunCure(answer: JoinAnswer): string {
  return `to join that run, stop this node and type: ${joinWords(answer)}`;
}

interface JoinAnswer {
  readonly url: string;
  readonly role: Role;
  readonly found: Challenger;
  readonly wallet: NodeWallet;
}

function joinWords({ url, role, found, wallet: { wallet, hotkey, walletPath } }: JoinAnswer): string {
  const command = `iota ${role === "miner" ? "miner" : "validate"} --orchestrator`;
  const invite = inviteText({ socket: url, ...found });
  const hub = invite === null ? shellWords([url, ...pinWords(found)]) : quotedInvite(invite);
  const named = wallet === "default" ? null : wallet;
  const key = [...wordsOf("--wallet", named), ...wordsOf("--hotkey", hotkey), ...wordsOf("--wallet-path", walletPath)];
  return [command, hub, ...key.length === 0 ? [] : [shellWords(key)]].join(" ");
}
