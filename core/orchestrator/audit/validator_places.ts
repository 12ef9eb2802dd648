/**
 * An index of free validators, so that an event without audits scans none. `placeValidator` must be called whenever a
 * link, a request, an answer or a passed deadline changes.
 */

import { assert } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import type { OrchestratorState } from "../state.ts";
import type { AuditWork } from "./audit_state.ts";

/** Whether any validator can be expected to answer. */
export function isAudited(state: OrchestratorState): boolean {
  return state.config.swarm.validators > 0 || state.validators.size > 0;
}

export function placeValidator(state: OrchestratorState, node: NodeId): void {
  const { places } = state.audit;
  const { free, isAnswering } = placeOf(state, node);
  for (const kind of kinds) put(places[kind], { node, isIn: kind === free });
  put(places.answering, { node, isIn: isAnswering });
}

const kinds = ["heard", "unheard", "silent"] as const;

function put(set: Set<NodeId>, { node, isIn }: { node: NodeId; isIn: boolean }): void {
  if (isIn) set.add(node);
  else set.delete(node);
}

interface Place {
  readonly free: typeof kinds[number] | null; // null: busy or absent
  readonly isAnswering: boolean;
}

function placeOf({ audit, members, validators }: OrchestratorState, node: NodeId): Place {
  const isHere = validators.has(node) && members.get(node)?.graceUntilMs === null;
  const isSilent = audit.silent.has(node);
  const kind = isSilent ? "silent" : audit.proven.has(node) ? "heard" : "unheard";
  return { free: isHere && !audit.runningOf.has(node) ? kind : null, isAnswering: isHere && !isSilent };
}

interface FreeValidators {
  readonly asked: readonly NodeId[];
  readonly unheard: readonly NodeId[]; // probed first
}

/**
 * In the order to ask. After any silence those that answered before come first, silent ones only if no other is left.
 */
export function freeValidators({ places, silent }: AuditWork): FreeValidators {
  const { heard, unheard, answering } = places;
  if (silent.size === 0) return { asked: [...heard, ...unheard], unheard: [] };
  if (answering.size > 0) return { asked: [...heard], unheard: [...unheard] };
  return { asked: [...places.silent], unheard: [] };
}

export function assertValidatorPlaces(state: OrchestratorState): void {
  const { places, running, runningOf } = state.audit;
  for (const node of state.members.keys()) {
    const { free, isAnswering } = placeOf(state, node);
    for (const kind of kinds) {
      assert(places[kind].has(node) === (kind === free), `the index knows whether ${node} is free`);
    }
    assert(places.answering.has(node) === isAnswering, `the index knows whether ${node} answers`);
  }
  for (const set of Object.values(places)) {
    for (const node of set) assert(state.members.has(node), `${node} has left and has no place`);
  }
  assert(running.size === runningOf.size, "a validator has one request at a time");
  for (const [node, id] of runningOf) assert(running.get(id)?.validator === node, `${node} has its request`);
}
