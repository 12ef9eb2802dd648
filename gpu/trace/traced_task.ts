/**
 * One task of a stage, operation by operation: a forward and its backward, or the tail's turnaround. Each operation runs as a
 * task of its own and is read back, so that two devices can be compared and the first operation that differs is named.
 *
 * Out of scope: comparing (operation_check.ts); updates, and what is copied before it is read (logits for sampling).
 */

import type { StageSpec } from "../../core/model/spec.ts";
import { createDeviceStage } from "../stage.ts";
import type { StageDevice } from "../stage_device.ts";
import type { Dispatch, StageOps } from "../stage_ops.ts";
import { bytesOf, type OperationName, type Output, outputs } from "./outputs.ts";
import { taskParameters, taskWork } from "./task_inputs.ts";

/** One matrix that an operation wrote. */
export interface TracedOutput {
  readonly operation: OperationName;
  readonly isBytes: boolean; // codes of a wire; else f32 values
  readonly content: Uint8Array;
}

/** All outputs in the order of the operations. The device is destroyed. */
export async function tracedTask(device: StageDevice, spec: StageSpec): Promise<TracedOutput[]> {
  const found: TracedOutput[] = [];
  const stage = await createDeviceStage(tracedDevice(device, found), spec, { optimizer: null });
  try {
    const { input, targets, gradient } = taskWork(spec);
    await stage.loadParameters(taskParameters(spec));
    found.length = 0; // zeroed memory is no result
    if (gradient === null) await stage.turnaround(input, targets);
    else {
      await stage.forward(input);
      await stage.backward(input, gradient);
    }
    return found;
  } finally {
    stage.close();
  }
}

interface Noted {
  readonly operation: OperationName;
  readonly written: readonly Output[];
}

/** The same device, which adds to `found` what each operation writes. */
function tracedDevice(device: StageDevice, found: TracedOutput[]): StageDevice {
  const notes = new Map<Dispatch, Noted>(); // by an operation's last dispatch
  const pending: Dispatch[] = []; // runs when it is waited for
  const taken = () => pending.splice(0);

  async function trace(program: readonly Dispatch[]): Promise<void> {
    let group: Dispatch[] = [];
    for (const dispatch of [...taken(), ...program]) {
      group.push(dispatch);
      const noted = notes.get(dispatch);
      if (noted === undefined) continue;
      const { operation, written } = noted;
      const contents = await device.read([group], written.map((each) => ({ ...each.range, size: bytesOf(each) })));
      for (const [i, { isBytes = false }] of written.entries()) {
        found.push({ operation, isBytes, content: new Uint8Array(contents[i]!) });
      }
      group = [];
    }
    if (group.length > 0) device.run(group);
  }

  const traced: Partial<StageDevice> = {
    ops: notingOps(device.ops, notes),
    reserveReads: (bytes) => {
      const largest = [...notes.values()].map(({ written }) => written.reduce((sum, each) => sum + bytesOf(each), 0));
      device.reserveReads(Math.max(bytes, ...largest));
    },
    run: (program) => void pending.push(...program),
    read: async (programs, ranges) => {
      await trace(programs.flat());
      return await device.read([], ranges);
    },
    copy: (from, to) => {
      device.run(taken());
      device.copy(from, to);
    },
    clear: (ranges) => {
      device.run(taken());
      device.clear(ranges);
    },
    finish: () => trace([]).then(() => device.finish()),
    settle: () => trace([]).then(() => device.settle()),
  };
  return new Proxy(device, { get: (_, name) => Reflect.get(traced, name) ?? bound(device, name) });
}

function bound(device: StageDevice, name: string | symbol): unknown {
  const value: unknown = Reflect.get(device, name);
  return typeof value === "function" ? value.bind(device) : value;
}

/** The same operations; `notes` gets the last dispatch of each, and what it has then written. */
function notingOps(ops: StageOps, notes: Map<Dispatch, Noted>): StageOps {
  const noting = (operation: OperationName) => (...args: unknown[]): Dispatch | Dispatch[] => {
    // The table has a line for each operation with its own arguments, which TypeScript cannot follow through a name.
    const made = (ops[operation] as (...args: unknown[]) => Dispatch | Dispatch[]).apply(ops, args);
    const written = (outputs[operation] as (...args: unknown[]) => readonly Output[])(...args);
    const last = Array.isArray(made) ? made.at(-1) : made;
    if (last !== undefined) notes.set(last, { operation, written });
    return made;
  };
  const names = Object.keys(outputs) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, noting(name)])) as unknown as StageOps;
}
