/**
 * Which rounds validators evaluate on held-out text, within `validate.evaluationShare` of all computing: the first, the
 * last, every eighth, all until one was found good, and any that training finds much worse. Training shows that for
 * free, so a harmful merge is found as soon as if every round were evaluated.
 */

import { evaluationShareDefault } from "../../../config/knobs.ts";
import type { OrchestratorState } from "../../state.ts";
import { addFirst, addRequest } from "../audit_queue.ts";
import { evaluationOf } from "../audit_state.ts";
import { isAudited } from "../validator_places.ts";
import { isLikeGood, isWorse } from "./evaluated_rounds.ts";
import { isBeingEvaluated, wanted } from "./evaluations.ts";

/** Called when the round's parameters can be fetched. */
export function evaluatePublished(state: OrchestratorState, round: number): void {
  if (!isAudited(state)) return;
  const isUrgent = state.phase === "closing" || state.step >= state.config.train.steps || isWorse(state);
  if (isUrgent || isDue(state) || lacksGood(state)) ask(state, { round, isUrgent });
}

/** Called after the open round's first step, and when nobody can compute with its parameters, published or not. */
export function evaluateIfWorse(state: OrchestratorState): void {
  const { round, sources } = state;
  if (sources.round === round && isAudited(state) && isWorse(state)) ask(state, { round, isUrgent: true });
}

const lacksGood = ({ good, validators }: OrchestratorState): boolean =>
  good === null ? validators.size > 0 : good.isRetaken;

function ask(state: OrchestratorState, { round, isUrgent }: { round: number; isUrgent: boolean }): void {
  const { audit } = state;
  if (audit.evaluated.round === round) return;
  audit.evaluated = { round, step: state.step };
  if (isUrgent && isWorse(state) && mayGoBackTo(state, round - 1)) addFirst(audit, evaluationOf(round - 1));
  if (isUrgent) addFirst(audit, evaluationOf(round)); // before the older one: without a jump there is no rollback
  else addRequest(audit, evaluationOf(round));
}

/** A single validator causes no rollback. */
const mayGoBackTo = (state: OrchestratorState, round: number): boolean =>
  state.validators.size > 1 && isLikeGood(state, round) &&
  state.retired.some((sources) => sources.round === round) && !isBeingEvaluated(state, round);

const mostRounds = 8; // without an evaluation: a rollback goes to the last round found good

/** Both sides are counted in forwards of the whole model over a microbatch; a microbatch of training is worth three. */
function isDue({ audit, round, step, validators, config: { train, validate } }: OrchestratorState): boolean {
  const share = validate.evaluationShare ?? evaluationShareDefault;
  if (share > 0 && round - audit.evaluated.round >= mostRounds) return true;
  const trained = 3 * train.microbatchesPerStep * Math.abs(step - audit.evaluated.step); // the run may have rolled back
  const answers = Math.min(wanted, Math.max(1, validators.size));
  return share * trained >= answers * Math.ceil(validate.heldOutSequences / train.sequencesPerMicrobatch);
}
