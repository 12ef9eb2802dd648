/**
 * A dishonest member: an honest role whose device or messages are replaced; everything else is production code.
 *
 * Owns how patches are put into a miner or a validator, and how several become one. The patches themselves are in the other
 * hostile_*.ts files. A patch sees what its node would have computed or said, and returns what it does instead; its messages
 * may name blobs that it has stored. Invariant: a patch touches nothing that a stranger's own machine does not own.
 */

import { miner } from "../../../core/miner/machine.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { Machine } from "../../../core/protocol/machine.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { validator } from "../../../core/validator/machine.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import type { MemoryHubBlobs } from "../world/memory_hub_blobs.ts";
import type { MinerRoleOptions } from "../../../cli/node/miner_role.ts";
import type { ValidatorRoleOptions } from "../../../cli/node/validator_role.ts";

/** What the node would have said, and the store it may put blobs into. */
export interface Words<Message extends NodeMessage = NodeMessage> {
  readonly message: Message;
  readonly store: MemoryHubBlobs;
}

const passNames = ["forward", "backward", "turnaround", "evaluate", "zeroGradients"] as const;
export type Passes = Pick<StageCompute, typeof passNames[number]>;

const isPass = (name: string | symbol): boolean => (passNames as readonly (string | symbol)[]).includes(name);

export interface Hostile {
  /** Passes that its device does instead. */
  readonly compute?: (honest: Passes, spec: StageSpec) => Partial<Passes>;
  /** What it says instead; nothing: it keeps silent. */
  readonly say?: (words: Words) => readonly NodeMessage[];
}

type MessageType = NodeMessage["type"];
type MessageOf<Type extends MessageType> = Extract<NodeMessage, { type: Type }>;

/** Replaces messages of one type. */
export function instead<Type extends MessageType>(
  type: Type,
  change: (words: Words<MessageOf<Type>>) => NodeMessage | null,
): Hostile {
  const isMeant = (message: NodeMessage): message is MessageOf<Type> => message.type === type;
  return {
    say: ({ message, store }) => {
      if (!isMeant(message)) return [message];
      const said = change({ message, store });
      return said === null ? [] : [said];
    },
  };
}

/** Several patches at once; each sees what the one before made. */
export function together(...parts: readonly Hostile[]): Hostile {
  return {
    compute: (honest, spec) =>
      parts.reduce<Passes>((passes, part) => ({ ...passes, ...part.compute?.(passes, spec) }), honest),
    say: ({ message, store }) =>
      parts.reduce<readonly NodeMessage[]>(
        (said, part) => said.flatMap((each) => part.say?.({ message: each, store }) ?? [each]),
        [message],
      ),
  };
}

/** What `hostile` and its node are made of. */
interface Bad {
  readonly hostile: Hostile;
  readonly host: ComputeHost;
  readonly store: MemoryHubBlobs;
  readonly isOn: () => boolean; // until then it behaves
}

export function hostileMiner(bad: Bad): Required<Pick<MinerRoleOptions, "device" | "machine">> {
  return { device: hostileDevice(bad), machine: saying(miner, bad) };
}

export function hostileValidator(bad: Bad): Required<Pick<ValidatorRoleOptions, "device" | "machine">> {
  return { device: hostileDevice(bad), machine: saying(validator, bad) };
}

function hostileDevice({ host, hostile: { compute }, isOn }: Bad): ComputeHost {
  if (compute === undefined) return host;
  return {
    adapter: host.adapter,
    finish: () => host.finish(),
    openStage: async (spec, options) => {
      const stage = await host.openStage(spec, options);
      const honest: Passes = {
        forward: stage.forward.bind(stage),
        backward: stage.backward.bind(stage),
        turnaround: stage.turnaround.bind(stage),
        evaluate: stage.evaluate.bind(stage),
        zeroGradients: stage.zeroGradients.bind(stage),
      };
      const bad = { ...honest, ...compute(honest, spec) };
      const now = () => isOn() ? bad : honest;
      const patched: Passes = {
        forward: (...given) => now().forward(...given),
        backward: (...given) => now().backward(...given),
        turnaround: (...given) => now().turnaround(...given),
        evaluate: (...given) => now().evaluate(...given),
        zeroGradients: (...given) => now().zeroGradients(...given),
      };
      return new Proxy(stage, {
        get(target, name) {
          const member: unknown = Reflect.get(isPass(name) ? patched : target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    },
  };
}

/** The machine decides as usual; its messages are replaced on the way out. A segment goes with the first of them. */
function saying<State, Event, Effect extends { readonly type: string }>(
  machine: Machine<State, Event, Effect>,
  { hostile: { say }, store, isOn }: Pick<Bad, "hostile" | "store" | "isOn">,
): Machine<State, Event, Effect> {
  if (say === undefined) return machine;
  return {
    ...machine,
    step: (state, event, nowMs) =>
      machine.step(state, event, nowMs).flatMap((effect) => {
        if (!isSend(effect) || !isOn()) return [effect];
        const said = say({ message: effect.message, store });
        return said.map((message) => ({ ...effect, message, ...attached(message, effect) }));
      }),
  };
}

interface Send {
  readonly type: "send";
  readonly message: NodeMessage;
}

const isSend = <Effect extends { readonly type: string }>(effect: Effect): effect is Effect & Send =>
  effect.type === "send" && "message" in effect;

/** Only a result carries segments. */
const attached = (message: NodeMessage, effect: Send): { attachments?: readonly [] } =>
  message.type === "taskDone" || !("attachments" in effect) ? {} : { attachments: [] };
