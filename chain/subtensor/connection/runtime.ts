/**
 * One version of the chain's runtime, by its metadata. Values are plain JSON (integers above 2^53 as 0x text, accounts
 * as ss58). Signed extensions that the registry does not know have neither extra nor implicit data.
 */

import { expandMetadata, Metadata, TypeRegistry, unwrapStorageType } from "@polkadot/types";
import { compactStripLength, hexToU8a, stringCamelCase, u8aConcat, u8aToHex } from "@polkadot/util";
import { ChainError } from "../../chain.ts";

export interface RuntimeVersion {
  readonly specName: string;
  readonly specVersion: number;
  readonly transactionVersion: number;
}

interface StorageItem {
  key(args: readonly unknown[]): string;
  /** Null: the default applies. */
  decode(hex: string | null): unknown;
}

interface RuntimeApi {
  encode(args: readonly unknown[]): string;
  decode(hex: string): unknown;
}

export interface ChainEvent {
  readonly extrinsic: number | null;
  readonly pallet: string;
  readonly name: string;
  readonly data: readonly unknown[];
}

interface DispatchFailure {
  readonly name: string; // such as "SettingWeightsTooFast", or "BadOrigin"
  readonly pallet: string | null;
  readonly docs: string; // from the runtime
}

/** Other nodes of this chain cannot help. */
export class UnsupportedRuntime extends ChainError {
  constructor(what: string, { specVersion }: RuntimeVersion) {
    super("badAnswer", `Cannot do this as the chain's runtime has no ${what}: its spec version is ${specVersion}`);
  }
}

const addressPrefix = 42;

export class Runtime {
  readonly version: RuntimeVersion;
  readonly registry: TypeRegistry;
  readonly #metadata: Metadata;
  readonly #surface: ReturnType<typeof expandMetadata>;

  constructor({ metadata, version }: { metadata: Uint8Array; version: RuntimeVersion }) {
    this.version = version;
    this.registry = new TypeRegistry();
    this.#metadata = new Metadata(this.registry, u8aToHex(metadata));
    const properties = this.registry.createTypeUnsafe("ChainProperties", [{ ss58Format: addressPrefix }]);
    this.registry.setChainProperties(properties as ReturnType<TypeRegistry["getChainProperties"]>);
    this.registry.setMetadata(this.#metadata, undefined, undefined, true); // no warning
    this.#surface = expandMetadata(this.registry, this.#metadata);
  }

  /** Named as in the runtime's source; null: absent. */
  storageItem(pallet: string, name: string): StorageItem | null {
    const entry = this.#surface.query[stringCamelCase(pallet)]?.[stringCamelCase(name)];
    if (entry === undefined) return null;
    const { meta } = entry;
    const type = unwrapStorageType(this.registry, meta.type, meta.modifier.isOptional);
    const fallback = meta.modifier.isOptional ? null : meta.fallback.toU8a(true);
    return {
      key: (args) => u8aToHex(compactStripLength(entry(...args))[1]),
      decode: (hex) => {
        if (hex === null) return fallback === null ? null : this.#decode(type, fallback);
        // The key's presence is the option.
        return this.#decode(meta.modifier.isOptional ? type.slice("Option<".length, -1) : type, hexToU8a(hex));
      },
    };
  }

  runtimeApi(api: string, method: string): RuntimeApi | null {
    const found = this.#metadata.asLatest.apis.find((each) => each.name.toString() === api);
    const definition = found?.methods.find((each) => each.name.toString() === method);
    if (definition === undefined) return null;
    const inputs = definition.inputs.map((input) => this.registry.createLookupType(input.type));
    const output = this.registry.createLookupType(definition.output);
    return {
      encode: (args) =>
        u8aToHex(u8aConcat(...inputs.map((type, i) => this.registry.createTypeUnsafe(type, [args[i]]).toU8a()))),
      decode: (hex) => this.#decode(output, hexToU8a(hex)),
    };
  }

  constant(pallet: string, name: string): unknown {
    return this.#surface.consts[stringCamelCase(pallet)]?.[stringCamelCase(name)]?.toJSON();
  }

  /** In polkadot-js' camel case. */
  hasCall(pallet: string, name: string): boolean {
    return this.#surface.tx[pallet]?.[name] !== undefined;
  }

  encodeCall(pallet: string, name: string, args: readonly unknown[]): Uint8Array {
    const call = this.#surface.tx[pallet]?.[name];
    if (call === undefined) throw new UnsupportedRuntime(`call ${pallet}.${name}`, this.version);
    return call(...args).toU8a();
  }

  decodeExtrinsic(bytes: Uint8Array): { pallet: string; name: string; args: readonly unknown[] } {
    const { method } = this.registry.createType("Extrinsic", bytes);
    return { pallet: method.section, name: method.method, args: method.args.map((each) => each.toJSON()) };
  }

  decodeEvents(hex: string): ChainEvent[] {
    const records = this.registry.createTypeUnsafe("Vec<FrameSystemEventRecord>", [hexToU8a(hex)]);
    return (records as unknown as Iterable<EventRecordCodec> & { map<T>(read: (each: EventRecordCodec) => T): T[] })
      .map(({ phase, event }) => ({
        extrinsic: phase.isApplyExtrinsic ? phase.asApplyExtrinsic.toNumber() : null,
        pallet: event.section,
        name: event.method,
        data: event.data.map((each) => each.toJSON()),
      }));
  }

  dispatchFailure(json: unknown): DispatchFailure {
    if (typeof json !== "object" || json === null) return { name: String(json), pallet: null, docs: "" };
    const [kind, detail] = Object.entries(json)[0] ?? ["unknown", null];
    const { index, error } = (detail ?? {}) as { index?: unknown; error?: unknown };
    if (typeof detail === "string") return { name: detail, pallet: null, docs: "" }; // {token: "FundsUnavailable"}
    if (kind !== "module" || typeof index !== "number" || typeof error !== "string") {
      return { name: kind.slice(0, 1).toUpperCase() + kind.slice(1), pallet: null, docs: "" };
    }
    const code = hexToU8a(error)[0] ?? 0;
    try {
      const { name, section, docs } = this.registry.findMetaError(new Uint8Array([index, code]));
      return { name, pallet: section, docs: docs.join(" ") };
    } catch {
      return { name: `Module(${index}, ${code})`, pallet: null, docs: "" };
    }
  }

  #decode(type: string, bytes: Uint8Array): unknown {
    try {
      const value = this.registry.createTypeUnsafe(type, [bytes]);
      if (value.encodedLength !== bytes.length) {
        throw new Error(`${bytes.length} bytes where the type takes ${value.encodedLength}`);
      }
      return value.toJSON();
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      throw new ChainError("badAnswer", `Cannot read the chain's answer as ${type}: ${detail.slice(0, 200)}`, {
        cause,
      });
    }
  }
}

interface EventRecordCodec {
  readonly phase: { readonly isApplyExtrinsic: boolean; readonly asApplyExtrinsic: { toNumber(): number } };
  readonly event: {
    readonly section: string;
    readonly method: string;
    readonly data: { map<T>(read: (each: { toJSON(): unknown }) => T): T[] };
  };
}
