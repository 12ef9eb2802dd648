/**
 * The whole surface of one runtime version: `legacy` is spec 393, where an epoch is due by arithmetic; `stateful` is
 * spec 423 and later, where it is stored.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { commitments, commitmentTypes } from "./commitments_pallet.ts";
import { laterTypes, withLaterMethods } from "./later_surface.ts";
import type { RuntimeApi, SignedExtension, Surface } from "./description.ts";
import { runtimeApis } from "./runtime_apis.ts";
import { subtensorPallet } from "./subtensor_pallet.ts";
import { subtensorTypes } from "./subtensor_types.ts";
import { drand, mevShield, systemPallets } from "./system_pallets.ts";
import { systemTypes } from "./system_types.ts";

export interface SurfaceOptions {
  readonly epochs: "legacy" | "stateful";
  readonly blockMs: number;
  readonly specVersion?: number; // 393 or 425 by `epochs`
}

/** Their order in an extrinsic and in its signed bytes. */
const extensions: readonly SignedExtension[] = [
  { name: "CheckNonZeroSender", carried: "()", implied: "()" },
  { name: "CheckSpecVersion", carried: "()", implied: "u32" },
  { name: "CheckTxVersion", carried: "()", implied: "u32" },
  { name: "CheckGenesis", carried: "()", implied: "H256" },
  { name: "CheckMortality", carried: "Era", implied: "H256" },
  { name: "CheckNonce", carried: "Compact<u32>", implied: "()" },
  { name: "CheckWeight", carried: "()", implied: "()" },
  { name: "ChargeTransactionPayment", carried: "Compact<u64>", implied: "()" }, // tip
  { name: "SudoTransactionExtension", carried: "()", implied: "()" },
  { name: "CheckShieldedTxValidity", carried: "()", implied: "()" },
  { name: "SubtensorTransactionExtension", carried: "()", implied: "()" },
  { name: "DrandPriority", carried: "()", implied: "()" },
  { name: "CheckMetadataHash", carried: "CheckMetadataHash", implied: "Option<[u8; 32]>" },
];

const transactionVersion = 1;
const specVersions = { legacy: 393, stateful: 425 } as const;

export function runtimeSurface(options: SurfaceOptions): Surface {
  const specVersion = options.specVersion ?? specVersions[options.epochs];
  const version = runtimeVersion(specVersion);
  return {
    specVersion,
    transactionVersion,
    types: { ...systemTypes, ...subtensorTypes, ...laterTypes, ...commitmentTypes },
    pallets: [
      ...systemPallets({ blockMs: options.blockMs, version }),
      subtensorPallet(options),
      commitments,
      drand,
      mevShield,
    ],
    apis: options.epochs === "stateful" ? withLaterMethods(runtimeApis) : runtimeApis,
    extensions,
  };
}

export interface RuntimeVersion {
  readonly specName: string;
  readonly implName: string;
  readonly authoringVersion: number;
  readonly specVersion: number;
  readonly implVersion: number;
  readonly apis: readonly (readonly [Uint8Array, number])[];
  readonly transactionVersion: number;
  readonly systemVersion: number;
}

export function runtimeVersion(specVersion: number): RuntimeVersion {
  return {
    specName: "node-subtensor", // checked by the chain authors' client
    implName: "iota-local",
    authoringVersion: 1,
    specVersion,
    implVersion: 1,
    apis: runtimeApis.map((api) => [apiId(api), api.version]),
    transactionVersion,
    systemVersion: 1,
  };
}

/** Clients know a runtime API by the first 8 bytes of its name's hash. */
function apiId(api: RuntimeApi): Uint8Array {
  return blake2b(new TextEncoder().encode(api.name), { dkLen: 8 });
}
