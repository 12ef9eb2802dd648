/**
 * The closed list of errors that a call can return, with the pallet of each, and which of them older runtimes (until
 * spec 416) answer at submission, as a custom code of the pool.
 */

import type { LedgerCall } from "../block/ledger.ts";

export type CallError =
  | "FundsUnavailable"
  | "BelowMinimum"
  | "SubnetNotExists"
  | "SubtokenDisabled"
  | "MechanismDoesNotExist"
  | "RegistrationNotPermittedOnRootSubnet"
  | "SubNetRegistrationDisabled"
  | "RegistrationPriceLimitExceeded"
  | "HotKeyAlreadyRegisteredInSubNet"
  | "NotEnoughBalanceToStake"
  | "NonAssociatedColdKey"
  | "NoNeuronIdAvailable"
  | "NetworkTxRateLimitExceeded"
  | "SubnetLimitReached"
  | "CannotAffordLockCost"
  | "AmountTooLow"
  | "HotKeyAccountNotExists"
  | "NotEnoughStakeToWithdraw"
  | "HotKeyNotRegisteredInNetwork"
  | "InvalidIpType"
  | "InvalidIpAddress"
  | "ServingRateLimitExceeded"
  | "InvalidPort"
  | "CanNotSetRootNetworkWeights"
  | "CommitRevealEnabled"
  | "CommitRevealDisabled"
  | "WeightVecNotEqualSize"
  | "UidsLengthExceedUidsInSubNet"
  | "HotKeyNotRegisteredInSubNet"
  | "NotEnoughStakeToSetWeights"
  | "IncorrectWeightVersionKey"
  | "SettingWeightsTooFast"
  | "CommittingWeightsTooFast"
  | "NeuronNoValidatorPermit"
  | "DuplicateUids"
  | "UidVecContainInvalidOne"
  | "WeightVecLengthIsLow"
  | "MaxWeightExceeded"
  | "TooManyUnrevealedCommits"
  | "IncorrectCommitRevealVersion"
  | "InvalidRevealRound"
  | "NoWeightsCommitFound"
  | "ExpiredWeightCommit"
  | "RevealTooEarly"
  | "InvalidRevealCommitHashNotMatch"
  | "TooManyFieldsInCommitmentInfo"
  | "AccountNotAllowedCommit"
  | "SpaceLimitExceeded";

/** Token errors belong to no pallet in the runtime: `DispatchError::Token`. */
export function palletOf(error: CallError): string {
  if (error === "FundsUnavailable" || error === "BelowMinimum") return "Token";
  return commitmentErrors.includes(error) ? "Commitments" : "SubtensorModule";
}

const commitmentErrors: readonly CallError[] = [
  ...["TooManyFieldsInCommitmentInfo", "AccountNotAllowedCommit", "SpaceLimitExceeded"] as const,
];

const customCodes: Partial<Record<CallError, number>> = {
  AmountTooLow: 1,
  NotEnoughStakeToSetWeights: 1,
  NotEnoughBalanceToStake: 2,
  SubnetNotExists: 3,
  HotKeyAccountNotExists: 4,
  NotEnoughStakeToWithdraw: 5,
  NetworkTxRateLimitExceeded: 6,
  HotKeyNotRegisteredInNetwork: 10,
  InvalidIpAddress: 11,
  ServingRateLimitExceeded: 12,
  InvalidPort: 13,
  InvalidRevealRound: 15,
  NoWeightsCommitFound: 16,
  RevealTooEarly: 17,
  SubtokenDisabled: 255, // shared by all errors without their own code
};

/** The code with which the pool refuses a call for this error; null: it occurs only in a block. */
export const customCodeOf = (error: CallError): number | null => customCodes[error] ?? null;

/** A call as canonical text, which the embedded chain signs and with which a block's calls are hashed. */
export const textOfCall = (call: LedgerCall): string =>
  JSON.stringify(Object.entries(call), (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Uint8Array ? value.toHex() : value;
  });
