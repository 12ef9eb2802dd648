/**
 * The thread that owns a device: Deno's WebGPU waits block, so compute must not share a thread with the network.
 * Requests run in order; an exception becomes a `failed` response.
 */

import { present, unreachable } from "../core/assert.ts";
import type { StageCompute } from "./compute.ts";
import type { HelperOrder } from "./cpu/threads/helper_messages.ts";
import { ThreadError } from "./cpu/threads/job_board.ts";
import { type ComputeDevice, openDevice } from "./devices.ts";
import type { ComputeRequest, ComputeResponse, StageArguments, StageMethod } from "./worker_protocol.ts";
import { ownedCopy } from "./worker_protocol.ts";

let device: ComputeDevice | null = null;
const stages = new Map<number, StageCompute>();
let previous: Promise<void> = Promise.resolve();

const starting = new Map<number, PromiseWithResolvers<void>>(); // by id
let orders = 0;

self.onmessage = ({ data }: MessageEvent<ComputeRequest>) => {
  if (data.type === "helpersStarted") return helpersStarted(data);
  previous = previous.then(() => answer(data));
};

async function answer(request: Parameters<typeof perform>[0]): Promise<void> {
  const { id } = request;
  try {
    send(await perform(request));
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    send({ type: "failed", id, name, message });
  }
}

function send(response: ComputeResponse): void {
  const transfer: ArrayBuffer[] = [];
  self.postMessage(ownedCopy(response, transfer), transfer);
}

function startHelpers(order: HelperOrder): Promise<void> {
  const id = orders++;
  const waiting = Promise.withResolvers<void>();
  starting.set(id, waiting);
  self.postMessage({ type: "startHelpers", id, order } satisfies ComputeResponse); // shared, not copied
  return waiting.promise;
}

function helpersStarted({ id, problem }: Extract<ComputeRequest, { type: "helpersStarted" }>): void {
  const waiting = present(starting.get(id), `Order ${id} of helpers must be open`);
  starting.delete(id);
  if (problem === null) waiting.resolve();
  else waiting.reject(new ThreadError(problem));
}

async function perform(request: Exclude<ComputeRequest, { type: "helpersStarted" }>): Promise<ComputeResponse> {
  const { id } = request;
  switch (request.type) {
    case "openDevice":
      device = await openDevice(request, startHelpers);
      return { type: "deviceOpened", id, adapter: device.adapter, threads: device.threads, reason: device.reason };
    case "openStage": {
      stages.set(request.stage, await openedDevice().createStage(request.spec, request.options));
      return { type: "finished", id, result: null };
    }
    case "callStage": {
      const stage = openStage(request.stage);
      return { type: "finished", id, result: await callStage(stage, request.method, request.arguments) };
    }
    case "closeStage":
      openStage(request.stage).close();
      stages.delete(request.stage);
      return { type: "finished", id, result: null };
    case "inspect":
      return { type: "finished", id, result: openedDevice().facts() };
    case "measureGemm":
      return { type: "finished", id, result: await openedDevice().measureGemm(request) };
    case "measureAttention":
      return { type: "finished", id, result: await openedDevice().measureAttention(request) };
    case "measureAdapter":
      return { type: "finished", id, result: await openedDevice().measureAdapter(request.budgetMs) };
    case "tune":
      return { type: "finished", id, result: await openedDevice().tune(request) };
    case "checkOperations":
      return { type: "finished", id, result: await openedDevice().checkOperations(request.specs) };
    case "rest":
      return { type: "finished", id, result: null };
    default:
      return unreachable(request);
  }
}

function openedDevice(): ComputeDevice {
  return present(device, "A device must be open before it is used");
}

function openStage(stage: number): StageCompute {
  return present(stages.get(stage), `Stage ${stage} of this worker must be open`);
}

function callStage<M extends StageMethod>(stage: StageCompute, method: M, args: StageArguments<M>): Promise<unknown> {
  const call = stage[method] as (...args: StageArguments<M>) => Promise<unknown>;
  return call.apply(stage, args);
}
