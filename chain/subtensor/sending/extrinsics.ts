/**
 * A `ChainCall` as the runtime's call, signed for one nonce and a short era. Without mechanisms it gets the older form.
 * The signed bytes follow the runtime's extensions, even those unknown to polkadot-js.
 */

import { u8aConcat, u8aToHex } from "@polkadot/util";
import { assert } from "../../../core/assert.ts";
import type { ChainCall, ChainSigner } from "../../call.ts";
import { callLifeBlocks } from "../../chain.ts";
import { ipOfText } from "../../ip_address.ts";
import { blake2Hex, type BlockRef } from "../connection/plain_values.ts";
import { runtimeField } from "../reads/commitments.ts";
import { type Runtime, UnsupportedRuntime } from "../connection/runtime.ts";

export interface SignedExtrinsic {
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly nonce: number;
  readonly lastBlock: number; // invalid afterwards
}

type Candidate = readonly [pallet: string, name: string, args: readonly unknown[]];

export function encodeChainCall(runtime: Runtime, call: ChainCall): Uint8Array {
  const candidates = candidatesOf(call);
  const found = candidates.find(([pallet, name]) => runtime.hasCall(pallet, name));
  if (found === undefined) {
    throw new UnsupportedRuntime(`call ${candidates.map(([, name]) => name).join(" or ")}`, runtime.version);
  }
  return runtime.encodeCall(...found);
}

export function signExtrinsic(
  options: {
    runtime: Runtime;
    call: Uint8Array;
    signer: ChainSigner;
    nonce: number;
    birth: BlockRef;
    genesisHash: string;
  },
): SignedExtrinsic {
  const { runtime: { registry, version }, call, signer, nonce, birth, genesisHash } = options;
  const era = registry.createType("ExtrinsicEra", { current: birth.number, period: callLifeBlocks });
  const extrinsic = registry.createType("Extrinsic", registry.createType("Call", call), { version: 4 });
  extrinsic.sign(
    {
      address: signer.address,
      addressRaw: signer.publicKey,
      publicKey: signer.publicKey,
      sign: (message: Uint8Array) => u8aConcat(sr25519Tag, signer.sign(message)),
    } as unknown as Parameters<typeof extrinsic.sign>[0], // polkadot-js uses only these fields
    {
      blockHash: birth.hash,
      era,
      genesisHash,
      nonce,
      // A plain value, because polkadot-js has a codec only for the whole version.
      runtimeVersion: version as unknown as NonNullable<Parameters<typeof extrinsic.sign>[1]["runtimeVersion"]>,
      signedExtensions: registry.signedExtensions,
      tip: 0,
    },
  );
  const bytes = extrinsic.toU8a();
  // Powers of two up to 4,096 are not quantised.
  return { bytes, hash: blake2Hex(bytes), nonce, lastBlock: birth.number + callLifeBlocks - 1 };
}

const sr25519Tag = new Uint8Array([1]);

function candidatesOf(call: ChainCall): readonly Candidate[] {
  const { type } = call;
  switch (type) {
    case "burnedRegister":
      return burnedRegister(call);
    case "registerNetwork":
      return subtensor("registerNetwork", [call.hotkey]);
    case "addStake":
      return subtensor("addStake", [call.hotkey, call.netuid, call.amountRao]);
    case "removeStake":
      return subtensor("removeStake", [call.hotkey, call.netuid, call.amountAlpha]);
    case "transfer":
      return ["transferKeepAlive", "transfer"].map((name) => ["balances", name, [call.to, call.amountRao]] as const);
    case "serveAxon":
      return subtensor("serveAxon", serveAxonArgs(call));
    case "setCommitment":
      return [["commitments", "setCommitment", [call.netuid, { fields: call.fields.map(runtimeField) }]]];
    case "setWeights":
      return byMechanism(call, ["setWeights", "setMechanismWeights"], [call.uids, call.values, call.versionKey]);
    case "commitWeights":
      return byMechanism(call, ["commitWeights", "commitMechanismWeights"], [call.hash]);
    case "revealWeights":
      return byMechanism(
        call,
        ["revealWeights", "revealMechanismWeights"],
        [call.uids, call.values, call.salt, call.versionKey],
      );
    case "commitTimelockedWeights":
      return timelocked(call);
  }
}

function subtensor(name: string, args: readonly unknown[]): readonly Candidate[] {
  return [["subtensorModule", name, args]];
}

/** Runtimes before 411 accept no limit. */
function burnedRegister(
  { netuid, hotkey, limitRao }: Extract<ChainCall, { type: "burnedRegister" }>,
): readonly Candidate[] {
  const unlimited = subtensor("burnedRegister", [netuid, hotkey]);
  return limitRao === undefined ? unlimited : [...subtensor("registerLimit", [netuid, hotkey, limitRao]), ...unlimited];
}

function serveAxonArgs({ netuid, axon }: Extract<ChainCall, { type: "serveAxon" }>): readonly unknown[] {
  const ip = ipOfText(axon.ip);
  assert(ip !== null, `Cannot announce an axon as its address must be checked before: current value is '${axon.ip}'`);
  return [netuid, axon.version, ip.bits, axon.port, ip.version, axon.protocol, 0, 0];
}

/** All runtimes have mechanism 0's form. */
function byMechanism(
  { netuid, mechanism }: { netuid: number; mechanism: number },
  [plain, mechanised]: readonly [plain: string, mechanised: string],
  rest: readonly unknown[],
): readonly Candidate[] {
  if (mechanism === 0) return subtensor(plain, [netuid, ...rest]);
  return subtensor(mechanised, [netuid, mechanism, ...rest]);
}

/** The oldest form has no version. */
function timelocked(call: Extract<ChainCall, { type: "commitTimelockedWeights" }>): readonly Candidate[] {
  const { netuid, mechanism, commit, revealRound, commitRevealVersion } = call;
  const bytes = u8aToHex(commit); // polkadot-js takes bare bytes for a value preceded by its length
  const names = ["commitTimelockedWeights", "commitTimelockedMechanismWeights"] as const;
  const current = byMechanism(call, names, [bytes, revealRound, commitRevealVersion]);
  const older = byMechanism({ netuid, mechanism }, ["commitCrv3Weights", "commitCrv3MechanismWeights"], [
    bytes,
    revealRound,
  ]);
  return [...current, ...older];
}
