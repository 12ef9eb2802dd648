/** Temporary stand-in until the real one lands. */
import { Hono } from "hono";
import { blobHash } from "../core/ids.ts";
import type { NodeId } from "../core/ids.ts";
import type { DiskBlobs } from "./blob_disk.ts";
export function createApi({ blobs }: { blobs: DiskBlobs; limits: unknown; verify: unknown; isMember: (node: NodeId) => boolean; timers: unknown; status: () => unknown }): Hono {
  const app = new Hono();
  app.put("/blobs/:hash", async (c) => {
    const ref = await blobs.put(new Uint8Array(await c.req.arrayBuffer()));
    return ref.hash === c.req.param("hash") ? c.text("ok") : c.text("wrong hash", 422);
  });
  app.get("/blobs/:hash", async (c) => {
    const bytes = await blobs.get({ hash: blobHash(c.req.param("hash")), bytes: 0 });
    return c.body(bytes as Uint8Array<ArrayBuffer>);
  });
  return app;
}
