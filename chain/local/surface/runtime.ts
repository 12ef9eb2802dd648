/** A surface ready for use. */

import type { RuntimeApiMethod, Surface } from "./description.ts";
import { metadataOf, typesOf } from "./metadata.ts";
import { type Scale, scaleOf } from "./scale.ts";
import { type StorageKeys, storageKeysOf } from "./storage_keys.ts";
import { type RuntimeVersion, runtimeVersion } from "./surface.ts";

export interface Runtime {
  readonly surface: Surface;
  readonly version: RuntimeVersion;
  readonly scale: Scale;
  readonly storageKeys: StorageKeys;
  readonly metadata: ReadonlyMap<number, Uint8Array>; // by version
  readonly apiMethods: ReadonlyMap<string, RuntimeApiMethod>; // such as "SubnetInfoRuntimeApi_get_metagraph"
}

/** `metadata`: what clients see instead. */
export function runtimeOf(surface: Surface, metadata?: Uint8Array): Runtime {
  const scale = scaleOf(typesOf(surface));
  const shown = metadata === undefined ? generated(surface) : new Map([[metadata[4]!, metadata]]);
  const apiMethods = surface.apis.flatMap((api) =>
    api.methods.map((method) => [`${api.name}_${method.name}`, method] as const)
  );
  return {
    surface,
    version: runtimeVersion(surface.specVersion),
    scale,
    storageKeys: storageKeysOf(surface, scale),
    metadata: shown,
    apiMethods: new Map(apiMethods),
  };
}

function generated(surface: Surface): ReadonlyMap<number, Uint8Array> {
  return new Map(([14, 15] as const).map((version) => [version, metadataOf(surface, version)]));
}
