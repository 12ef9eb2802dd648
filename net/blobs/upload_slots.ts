/**
 * Uploads in progress: how many at once, per node and in total, and how long they may be silent.
 *
 * When all slots are taken, a newcomer displaces the oldest request of a node that holds more than the newcomer would,
 * so no node can lock out others.
 */

import type { NodeId } from "../../core/ids.ts";
import { BlobError, type ByteStream } from "./blobs.ts";
import type { NetLimits } from "../limits.ts";
import type { Timers } from "../timers.ts";

interface UploadSlotsOptions {
  readonly limits: Pick<NetLimits, "uploads" | "uploadsOfNode" | "uploadSilenceMs">;
  readonly onExceeded: (node: NodeId, detail: string) => void;
  readonly timers: Timers;
}

export interface ArrivingUpload {
  readonly node: NodeId;
  readonly body: ByteStream;
}

export interface UploadSlot {
  /** Fails if the sender falls silent or must make room. */
  readonly source: ByteStream;
  /** Releases the slot; ends the body if it has not ended. */
  close(): void;
}

interface OpenUpload {
  readonly node: NodeId;
  readonly stop: (error: BlobError) => void;
}

export class UploadSlots {
  readonly #options: UploadSlotsOptions;
  readonly #open = new Set<OpenUpload>();
  readonly #openOfNode = new Map<NodeId, number>();

  constructor(options: UploadSlotsOptions) {
    this.#options = options;
  }

  usage(node?: NodeId): number {
    return node === undefined ? this.#open.size : this.#openOfNode.get(node) ?? 0;
  }

  /** Throws `busy` if no slot is free. `onBytes` is called for each chunk before it is read and may refuse it. */
  open({ node, body }: ArrivingUpload, onBytes: (bytes: number) => void): UploadSlot {
    this.#makeRoom(node);
    const { source, stop } = this.#guard(body, onBytes);
    const upload: OpenUpload = { node, stop };
    this.#open.add(upload);
    this.#openOfNode.set(node, this.usage(node) + 1);
    const close = () => {
      this.#leave(upload);
      stop(new BlobError("busy", "The upload's request has ended"));
    };
    return { source, close };
  }

  #makeRoom(node: NodeId): void {
    const { uploads, uploadsOfNode } = this.#options.limits;
    const own = this.usage(node);
    if (own >= uploadsOfNode) {
      const detail = `'uploadsOfNode' must be at most ${uploadsOfNode} at once; finish one first`;
      this.#options.onExceeded(node, detail);
      throw new BlobError("busy", detail);
    }
    if (this.#open.size < uploads) return;
    const most = Math.max(...this.#openOfNode.values());
    if (most <= own + 1) {
      throw new BlobError(
        "busy",
        `'uploads' must be at most ${uploads} at once; try again soon`,
      );
    }
    for (const upload of this.#open) {
      if (this.usage(upload.node) === most) return this.#displace(upload);
    }
  }

  #displace(upload: OpenUpload): void {
    this.#leave(upload);
    upload.stop(new BlobError("busy", "The upload was stopped because others need its slot; try again soon"));
  }

  #leave(upload: OpenUpload): void {
    if (!this.#open.delete(upload)) return;
    const left = this.usage(upload.node) - 1;
    if (left === 0) this.#openOfNode.delete(upload.node);
    else this.#openOfNode.set(upload.node, left);
  }

  #guard(body: ByteStream, onBytes: (bytes: number) => void): { source: ByteStream; stop: (error: BlobError) => void } {
    const { timers, limits: { uploadSilenceMs } } = this.#options;
    const reader = body.getReader();
    const stopped = Promise.withResolvers<never>();
    stopped.promise.catch(() => {
      // There may be no reader any more.
    });
    const cancel = (reason?: unknown) =>
      reader.cancel(reason).catch(() => {
        // The connection has already broken.
      });
    const stop = (error: BlobError) => {
      stopped.reject(error);
      cancel();
    };
    const silent = () => {
      const detail = `The upload sent no byte for ${uploadSilenceMs} ms`;
      stop(new BlobError("brokenOff", detail));
    };
    const source = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const cancelTimer = timers.after(uploadSilenceMs, silent);
        try {
          const { done, value } = await Promise.race([stopped.promise, reader.read()]);
          if (done) return controller.close();
          onBytes(value.length);
          controller.enqueue(value);
        } catch (error) {
          cancel();
          throw error instanceof BlobError ? error : brokenOff(error);
        } finally {
          cancelTimer();
        }
      },
      cancel,
    }, { highWaterMark: 0 });
    return { source, stop };
  }
}

function brokenOff(cause: unknown): BlobError {
  return new BlobError("brokenOff", "The upload's connection broke", { cause });
}
