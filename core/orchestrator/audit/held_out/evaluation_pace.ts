/**
 * Which rounds' parameters validators evaluate on held-out text.
 *
 * Evaluations take a share of all computing (`validate.evaluationShare`), so not all short rounds are evaluated: the
 * first and the last ones are, every eighth, all until one was found good, and any that training finds much worse than
 * the round before it or the last good one, or impossible to compute with. Training shows that for free, so a harmful
 * merge is found as soon as if every round were evaluated. The round before it is then evaluated as well, since it is
 * kept until training has tested its successor: if it is no worse than the last good one, a rollback loses one round.
 * Out of scope: how the run decides among answers (evaluations.ts), and the consequences (evaluated_rounds.ts).
 */

import { evaluationShareDefault } from "../../../config/knobs.ts";
import type { OrchestratorState } from "../../state.ts";
import { addFirst, addRequest } from "../audit_queue.ts";
import { evaluationOf } from "../audit_state.ts";
import { isAudited } from "../validator_places.ts";
import { isLikeGood, isWorse } from "./evaluated_rounds.ts";
import { isBeingEvaluated, wanted } from "./evaluations.ts";

/** The round's parameters can now be fetched. */
export function evaluatePublished(state: OrchestratorState, round: number): void {
  if (!isAudited(state)) return;
  const isUrgent = state.phase === "closing" || state.step >= state.config.train.steps || isWorse(state);
  if (isUrgent || isDue(state) || lacksGood(state)) ask(state, { round, isUrgent });
}

/**
 * Called after the open round's first step, and when nobody can compute with its parameters, which may not be published
 * yet.
 */
export function evaluateIfWorse(state: OrchestratorState): void {
  const { round, sources } = state;
  if (sources.round === round && isAudited(state) && isWorse(state)) ask(state, { round, isUrgent: true });
}

/**
 * No round for a rollback is known, because the first evaluation found no validator, or the run has already rolled back
 * to the last one.
 */
const lacksGood = ({ good, validators }: OrchestratorState): boolean =>
  good === null ? validators.size > 0 : good.isRetaken;

/** Each round once. Urgent evaluations go to the front of the queue. */
function ask(state: OrchestratorState, { round, isUrgent }: { round: number; isUrgent: boolean }): void {
  const { audit } = state;
  if (audit.evaluated.round === round) return;
  audit.evaluated = { round, step: state.step };
  if (isUrgent && isWorse(state) && mayGoBackTo(state, round - 1)) addFirst(audit, evaluationOf(round - 1));
  if (isUrgent) addFirst(audit, evaluationOf(round)); // before the older one: without a jump there is no rollback
  else addRequest(audit, evaluationOf(round));
}

/** A candidate for a rollback that nobody is evaluating. A single validator causes no rollback. */
const mayGoBackTo = (state: OrchestratorState, round: number): boolean =>
  state.validators.size > 1 && isLikeGood(state, round) &&
  state.retired.some((sources) => sources.round === round) && !isBeingEvaluated(state, round);

const mostRounds = 8; // without an evaluation: a rollback goes to the last round found good

/**
 * Whether the miners have computed enough since the last evaluation, or many rounds have passed. Both sides are counted
 * in forwards of the whole model over a microbatch, of which a microbatch of training is worth three.
 */
function isDue({ audit, round, step, validators, config: { train, validate } }: OrchestratorState): boolean {
  const share = validate.evaluationShare ?? evaluationShareDefault;
  if (share > 0 && round - audit.evaluated.round >= mostRounds) return true;
  const trained = 3 * train.microbatchesPerStep * Math.abs(step - audit.evaluated.step); // the run may have rolled back
  const answers = Math.min(wanted, Math.max(1, validators.size));
  return share * trained >= answers * Math.ceil(validate.heldOutSequences / train.sequencesPerMicrobatch);
}
