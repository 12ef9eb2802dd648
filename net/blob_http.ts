/** Temporary stand-in until the real one lands. */
import { createHash } from "node:crypto";
import { blobHash, type BlobRef } from "../core/ids.ts";
export class HttpBlobs {
  constructor(readonly options: { url: string; signer: unknown; timers: unknown; random: unknown; limits: unknown }) {}
  async put(bytes: Uint8Array): Promise<BlobRef> {
    const hash = blobHash(createHash("sha256").update(bytes).digest("hex"));
    const response = await fetch(`${this.options.url}/blobs/${hash}`, { method: "PUT", body: bytes.slice() });
    if (!response.ok) throw new Error(`put ${response.status}`);
    await response.body?.cancel();
    return { hash, bytes: bytes.byteLength };
  }
  async get(ref: BlobRef): Promise<Uint8Array> {
    const response = await fetch(`${this.options.url}/blobs/${ref.hash}`);
    if (!response.ok) throw new Error(`get ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }
}
