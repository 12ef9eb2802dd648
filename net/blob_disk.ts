/** Temporary stand-in until the real one lands. */
import { createHash } from "node:crypto";
import { blobHash, type BlobRef } from "../core/ids.ts";
export class DiskBlobs {
  static async open({ folder }: { folder: string; blobBytes: number }): Promise<DiskBlobs> {
    await Deno.mkdir(folder, { recursive: true });
    return new DiskBlobs(folder);
  }
  constructor(readonly folder: string) {}
  async put(bytes: Uint8Array): Promise<BlobRef> {
    const hash = blobHash(createHash("sha256").update(bytes).digest("hex"));
    const temp = `${this.folder}/${hash}.${crypto.randomUUID()}`;
    await Deno.writeFile(temp, bytes);
    await Deno.rename(temp, `${this.folder}/${hash}`);
    return { hash, bytes: bytes.byteLength };
  }
  get(ref: BlobRef): Promise<Uint8Array> {
    return Deno.readFile(`${this.folder}/${ref.hash}`);
  }
  async delete(ref: BlobRef): Promise<void> {
    await Deno.remove(`${this.folder}/${ref.hash}`).catch(() => {});
  }
}
