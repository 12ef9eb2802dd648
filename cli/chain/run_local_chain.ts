/**
 * `iota chain local`: runs the embedded chain as a node until Ctrl-C. A chain keeps its initial rules, so options that
 * would change them are rejected.
 */

import { plural } from "../terminal/text/format.ts";
import { type Genesis, type GenesisOptions, localGenesis, mainnetGenesis } from "../../chain/local/block/genesis.ts";
import type { LocalBlock } from "../../chain/local/block/ledger.ts";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { isAnyAddress, type NetworkAddress, publicUrl } from "../address/public_address.ts";
import { ChainStoreError } from "../../chain/local/state/chain_store.ts";
import type { CommandContext, OptionValues } from "../terminal/command.ts";
import { untilAborted } from "../program/aborted.ts";
import { attempting, UsageError, UserError } from "../program/errors.ts";
import type { Output } from "../terminal/output/output.ts";
import { shellWords } from "../program/shell_words.ts";
import { DrandRelay, fetchSmallText } from "./drand_relay.ts";
import { serveLedger } from "./serve_ledger.ts";

const defaultDrandServer = "https://api.drand.sh";

/** Part of a chain's genesis. */
const ruleOptions = ["netuid", "tempo", "block-ms", "commit-reveal", "like-mainnet", "legacy"] as const;

export async function runLocalChain(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const interruption = context.interruption();
  const folder = context.dataFolder();
  const metadata = await readMetadata(options.text("metadata"));
  const ledger = await openLedger({ folder, options });
  try {
    const host = options.text("host") ?? "127.0.0.1";
    const live = await serveLedger({ ledger, host, port: options.number("port") ?? 0, metadata });
    try {
      const firstBlock = ledger.head().number;
      const url = dialledUrl(live.url, { host, interfaces: Deno.networkInterfaces() });
      introduce(output, { url, genesis: ledger.genesis, folder });
      const unlisten = ledger.onBlock((block) => showBlock(output, ledger, block));
      const relay = new DrandRelay({
        ...{ ledger, server: drandServer(options), fetchText: fetchSmallText },
        warn: (text) => output.log.warn(text),
        note: (text) => output.log.info(text),
      });
      await Promise.race([live.failed, untilAborted(interruption)]); // on a full disk the chain ends at its last whole block
      unlisten();
      relay.close();
      const { number, hash } = ledger.head();
      output.summary({
        endpoint: url,
        block: number,
        hash: `0x${hash.toHex()}`,
        blocksMade: number - firstBlock,
        folder,
      });
      return 0;
    } finally {
      await live.close();
    }
  } finally {
    ledger.close();
  }
}

/** The address for others, if `served` means all of this machine's. */
export function dialledUrl(served: string, by: { host: string; interfaces: readonly NetworkAddress[] }): string {
  if (!isAnyAddress(by.host)) return served;
  return publicUrl({ ...by, port: Number(new URL(served).port), isTls: false, publicAddress: null });
}

async function readMetadata(path: string | undefined): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined;
  const bytes = await attempting({ action: "read the metadata in", value: path }, () => Deno.readFile(path));
  if (new TextDecoder().decode(bytes.subarray(0, 4)) === "meta") return bytes;
  throw new UserError(`'${path}' is not SCALE metadata: it does not begin with the four letters 'meta'`, {
    next: "Pass the SCALE bytes as the chain's state_getMetadata gives them, not their hex",
  });
}

async function openLedger(from: { folder: string; options: OptionValues }): Promise<LocalLedger> {
  const { folder, options } = from;
  const path = `${folder}/chain.sqlite`;
  const isThere = await attempting({ action: "open the data folder", value: folder }, async () => {
    await Deno.mkdir(folder, { recursive: true });
    return [...Deno.readDirSync(folder)].some(({ name }) => name === "chain.sqlite");
  });
  const changed = ruleOptions.filter((name) => options.given(name));
  if (isThere && changed.length > 0) {
    throw new UsageError(`--${changed[0]} does not apply: the chain in ${folder} keeps the rules it was created with`, {
      next: "Leave the option out, or create another chain with --data DIR",
    });
  }
  try {
    const hearsQuicknet = drandServer(options) !== null;
    return LocalLedger.open({ path, genesis: isThere ? null : genesisOf(options), hearsQuicknet });
  } catch (error) {
    if (!(error instanceof ChainStoreError)) throw error;
    throw storeError(error, folder);
  }
}

/** The store's sentence ends with the next step. */
export function storeError(error: ChainStoreError, folder: string): UserError {
  const [message, action] = error.message.split(/: (?=[^:]*$)/) as [string, string?];
  if (error.code === "locked") {
    const beside = shellWords(["iota", "chain", "local", "--data", `${folder}-2`, "--port", "0"]);
    return new UserError(message, {
      next: `Stop that process, or run another chain beside it: ${beside}`,
      cause: error,
    });
  }
  const next = action === undefined ? {} : { next: `${action[0]!.toUpperCase()}${action.slice(1)}` };
  return new UserError(message, { ...next, cause: error });
}

/** Null: none is asked. */
function drandServer(options: OptionValues): string | null {
  const text = options.text("drand") ?? defaultDrandServer;
  if (text === "none") return null;
  if (/^https?:\/\/[^\s/]/.test(text)) return text.replace(/\/+$/, "");
  throw new UsageError(`--drand must be an http:// or https:// address, or none, but is '${text}'`, {
    next: `Name a drand server: --drand ${defaultDrandServer}`,
  });
}

function genesisOf(options: OptionValues): Genesis {
  const netuid = options.number("netuid");
  const blockMs = options.number("block-ms");
  const tempoBlocks = options.number("tempo");
  const rules: GenesisOptions = {
    startMs: Date.now(),
    ...(netuid === undefined ? {} : { netuid }),
    ...(blockMs === undefined ? {} : { blockMs }),
    ...(options.flag("legacy") ? { epochs: "legacy" } : {}),
    hyperparameters: {
      ...(tempoBlocks === undefined ? {} : { tempoBlocks }),
      ...(options.flag("commit-reveal") ? { isCommitReveal: true } : {}),
    },
  };
  return options.flag("like-mainnet") ? mainnetGenesis(rules) : localGenesis(rules);
}

interface Introduction {
  readonly url: string;
  readonly genesis: Genesis;
  readonly folder: string;
}

function introduce(output: Output, { url, genesis, folder }: Introduction): void {
  const { subnets, accounts, blockMs, specVersion } = genesis;
  const [subnet] = subnets;
  output.event({
    type: "chainServed",
    endpoint: url,
    folder,
    specVersion,
    blockMs,
    netuids: subnets.map(({ netuid }) => netuid),
    accounts: accounts.map(({ address, freeRao }) => ({ address, freeRao: String(freeRao) })),
  });
  output.line(`A local chain listens at ${output.paint.bold(url)} (Ctrl-C ends it)`);
  output.line(`  runtime   spec ${specVersion}, a block every ${blockMs} ms`);
  if (subnet !== undefined) {
    const { tempoBlocks, isCommitReveal } = subnet.hyperparameters;
    const reveal = isCommitReveal ? "commit-reveal" : "no commit-reveal";
    output.line(`  subnet    ${subnet.netuid}, an epoch every ${plural(tempoBlocks, "block")}, ${reveal}`);
  }
  for (const { address, freeRao } of accounts) {
    output.line(`  account   ${address}, ${freeRao / 1_000_000_000n} TAO`);
  }
  output.line(`  kept in   ${folder}`);
  output.line("");
}

/** People see non-empty blocks, programs all. */
function showBlock(output: Output, ledger: LocalLedger, { number, hash, outcomes }: LocalBlock): void {
  const failed = outcomes.flatMap(({ error }) => error === null ? [] : [error.name]);
  output.event({ type: "block", number, hash: `0x${hash.toHex()}`, calls: outcomes.length, failed });
  if (outcomes.length > 0) {
    const what = failed.length === 0 ? "" : `, failed: ${failed.join(", ")}`;
    output.line(`block ${number}  ${outcomes.length} ${outcomes.length === 1 ? "call" : "calls"}${what}`);
  }
  for (const event of ledger.eventsOf(number)) {
    if (event.type !== "weightsDropped") continue; // no call reports it
    output.event(event);
    output.line(`block ${number}  the weights that ${event.hotkey} committed are lost: ${event.why}`);
  }
}
