/** The errors of calls, with pallets, and the custom codes of pools until spec 416. */

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

/** Token errors have no pallet: `DispatchError::Token`. */
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
  SubtokenDisabled: 255, // shared by all errors without a code
};

/** Null: it occurs only in blocks. */
export const customCodeOf = (error: CallError): number | null => customCodes[error] ?? null;

/** Canonical, for signatures and hashes. */
export const textOfCall = (call: LedgerCall): string =>
  JSON.stringify(Object.entries(call), (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Uint8Array ? value.toHex() : value;
  });
