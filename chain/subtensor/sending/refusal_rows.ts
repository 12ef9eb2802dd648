/** Meaning and remedy of refusals, by the chain's names. Some depend on the call. */

import type { ChainCall } from "../../call.ts";
import type { Refusal } from "../../chain.ts";

export type Row = readonly [sentence: string, action: string, retry: Refusal["retry"]];

export const register = "register the hotkey with `iota chain register`";
const waitForRate = "wait for the subnet's rate limit; weights are due once per epoch";
const updateProgram = "update iota: the subnet's owner requires a newer version";
const checkSubnet = "check the netuid and the chain endpoint";
export const askOwner = "ask the subnet's owner";
export const report = "report this with the lines above it: iota should not have sent it";

export const dispatchRows: Readonly<Record<string, Row>> = {
  // weights
  SettingWeightsTooFast: ["The last weights are too recent", waitForRate, "afterRateLimit"],
  CommittingWeightsTooFast: ["The last commit of weights is too recent", waitForRate, "afterRateLimit"],
  NeuronNoValidatorPermit: [
    "The hotkey has no validator permit; each epoch gives permits to the hotkeys with the most stake",
    "stake more, or wait for the next epoch if the stake is new",
    "afterEpoch",
  ],
  NotEnoughStakeToSetWeights: [
    "The hotkey's stake is below the chain's threshold for setting weights",
    "add stake to the hotkey: `iota chain stake --amount 100`",
    "never",
  ],
  IncorrectWeightVersionKey: [
    "The weights have an older version key than the subnet requires",
    updateProgram,
    "never",
  ],
  IncorrectCommitRevealVersion: [
    "The chain requires another version of commit-reveal",
    "none: the next attempt reads the chain's version again and uses it",
    "nextBlock",
  ],
  CommitRevealEnabled: [
    "The subnet accepts weights only by commit-reveal",
    "none: the next attempt reads the subnet's parameters again and commits",
    "nextBlock",
  ],
  CommitRevealDisabled: [
    "The subnet accepts only weights that are set openly, without commit-reveal",
    "none: the next attempt reads the subnet's parameters again and sets",
    "nextBlock",
  ],
  TooManyUnrevealedCommits: [
    "Ten commits of weights are waiting to be revealed",
    "wait until one is revealed",
    "afterEpoch",
  ],
  CommitQueueFull: [
    "The subnet's queue of sealed weights is full for this epoch, with commits of hotkeys that have more stake",
    "wait for the next epoch, or stake more on the hotkey",
    "afterEpoch",
  ],
  CommitPayloadTooLarge: [
    "The sealed weights are larger than the subnet accepts, which is 5,000 bytes unless its consensus is Null",
    "give weights to fewer miners",
    "never",
  ],
  ExpiredWeightCommit: ["The commit was not revealed in its epoch and is lost", "commit again", "nextBlock"],
  RevealTooEarly: ["The epoch in which this commit may be revealed has not started", "wait for it", "afterEpoch"],
  InvalidRevealCommitHashNotMatch: ["The revealed weights are not the committed ones", report, "never"],
  NoWeightsCommitFound: ["There is no commit to reveal", "commit first", "never"],
  WeightVecNotEqualSize: ["The numbers of weights and uids differ", report, "never"],
  WeightVecLengthIsLow: ["There are fewer weights than the subnet's minimum", "score more miners", "never"],
  DuplicateUids: ["A uid appears twice among the weights", report, "never"],
  UidVecContainInvalidOne: [
    "A uid among the weights is not in the subnet",
    "none: the next attempt reads the metagraph again",
    "nextBlock",
  ],
  UidsLengthExceedUidsInSubNet: [
    "There are more weights than neurons in the subnet",
    "none: the next attempt reads the metagraph again",
    "nextBlock",
  ],
  MaxWeightExceeded: ["One weight is above the subnet's limit", report, "never"],
  CanNotSetRootNetworkWeights: ["Weights of the root network are not set this way", checkSubnet, "never"],
  InputLengthsUnequal: ["Two lists in the call differ in length", report, "never"],
  AdminActionProhibitedDuringWeightsWindow: [
    "The chain does not accept this call shortly before an epoch",
    "wait for it",
    "afterEpoch",
  ],
  // registration
  HotKeyNotRegisteredInSubNet: ["The hotkey is not registered in the subnet", register, "never"],
  HotKeyNotRegisteredInNetwork: ["The hotkey is not registered in the subnet", register, "never"],
  HotKeyAlreadyRegisteredInSubNet: ["The hotkey is already registered in the subnet", "none", "never"],
  HotKeyAccountNotExists: ["The chain does not know the hotkey", register, "never"],
  NonAssociatedColdKey: ["The hotkey belongs to another coldkey", "use the coldkey that registered it", "never"],
  RegistrationPriceLimitExceeded: [
    "A registration costs more than was allowed",
    "wait for the price to fall, or allow more: --max-cost",
    "never",
  ],
  SubNetRegistrationDisabled: ["The subnet accepts no registrations", askOwner, "never"],
  RegistrationNotPermittedOnRootSubnet: ["The root network accepts no such registration", checkSubnet, "never"],
  TooManyRegistrationsThisBlock: ["This block already has the maximum number of registrations", "none", "nextBlock"],
  TooManyRegistrationsThisInterval: [
    "This interval already has the maximum number of registrations",
    "wait a few minutes",
    "afterRateLimit",
  ],
  NoNeuronIdAvailable: ["No neuron can make room: all are immune", "wait until an immunity period ends", "afterEpoch"],
  NotEnoughBalanceToStake: ["The coldkey's balance does not cover the cost", "transfer to the coldkey", "never"],
  InsufficientBalance: ["The coldkey's balance does not cover the cost", "transfer to the coldkey", "never"],
  InsufficientTaoBalance: ["The coldkey's balance does not cover the cost", "transfer to the coldkey", "never"],
  ColdkeyCollateralPositionsFull: [
    "The coldkey already has the maximum number of hotkeys with collateral in the subnet",
    "register with another coldkey",
    "never",
  ],
  CannotUseSystemAccount: ["The chain reserves this account for itself", "use another key", "never"],
  TransactorAccountShouldBeHotKey: ["The hotkey itself must sign this call", report, "never"],
  WaitingForDissolvedSubnetCleanup: ["A dissolved subnet is still being removed", "wait some blocks", "nextBlock"],
  LockIdOverFlow: ["The coldkey has registered the maximum number of subnets", "use another coldkey", "never"],
  ZeroBalanceAfterWithdrawn: ["The coldkey would be left with nothing", "transfer to the coldkey", "never"],
  BalanceWithdrawalError: ["The coldkey's balance could not be charged", "check the balance", "never"],
  NetworkTxRateLimitExceeded: ["A subnet was registered too recently", "wait", "afterRateLimit"],
  AllNetworksInImmunity: ["No subnet can make room: all are immune", "wait until an immunity period ends", "never"],
  SubnetLimitReached: ["The chain already has the maximum number of subnets", "wait", "never"],
  CannotAffordLockCost: ["The coldkey cannot pay for a subnet", "transfer to the coldkey", "never"],
  SubnetNotExists: ["There is no such subnet", checkSubnet, "never"],
  StakeTooLowForRoot: ["The hotkey's stake is too low for the root network", checkSubnet, "never"],
  RootNetworkDoesNotExist: ["There is no root network", checkSubnet, "never"],
  MechanismDoesNotExist: ["The subnet has no such mechanism", checkSubnet, "never"],
  SubtokenDisabled: ["The subnet has not started", askOwner, "never"],
  // stake
  NotEnoughStake: ["The hotkey does not have that much stake", "lower the amount", "never"],
  NotEnoughStakeToWithdraw: ["The hotkey does not have that much stake", "lower the amount", "never"],
  AmountTooLow: ["The amount is below the chain's minimum", "raise the amount", "never"],
  InsufficientLiquidity: ["The subnet's pool is too small for the amount", "lower the amount", "never"],
  SlippageTooHigh: ["The price would move too far", "lower the amount", "never"],
  CannotUnstakeLock: ["This stake is locked", "wait until the lock ends", "never"],
  StakeUnavailable: ["Part of this stake is locked", "take back less, or wait until the lock ends", "never"],
  InsufficientAlphaBalance: ["The hotkey does not have that much stake", "lower the amount", "never"],
  RootStakeLocked: ["Root stake was changed too recently", "wait until its hold ends", "afterRateLimit"],
  BetaBasketSeedInProgress: [
    "The chain is converting root stake after an upgrade",
    "wait until that is done",
    "afterRateLimit",
  ],
  BasketDepositPending: ["A deposit of root dividends must be settled first", "wait some blocks", "nextBlock"],
  TooManyStakingHotkeys: [
    "The coldkey already has stake with the maximum number of hotkeys",
    "take all stake back from one of them, or use another coldkey",
    "never",
  ],
  ZeroMaxStakeAmount: ["The amount is zero at the current price", "raise the amount", "never"],
  PriceLimitExceeded: ["The price would move too far", "lower the amount", "never"],
  ReservesTooLow: ["The subnet's pool is too small for the amount", "lower the amount", "never"],
  InsufficientInputAmount: ["The amount is below the chain's minimum", "raise the amount", "never"],
  PrecisionLoss: ["The amount is too small for the chain to compute with", "raise the amount", "never"],
  Overflow: ["The amount is too large for the chain to compute with", "lower the amount", "never"],
  StakingRateLimitExceeded: ["Stake was changed too recently", "wait", "afterRateLimit"],
  StakingOperationRateLimitExceeded: ["Stake was changed too recently in this block", "none", "nextBlock"],
  TxRateLimitExceeded: ["The last call of this kind is too recent", "wait", "afterRateLimit"],
  ColdkeySwapAnnounced: ["The coldkey is about to be swapped", "use the new coldkey", "never"],
  ColdkeySwapDisputed: ["The coldkey's swap is disputed", "settle the dispute", "never"],
  // serving
  ServingRateLimitExceeded: [
    "The axon was announced too recently",
    "wait for the serving rate limit",
    "afterRateLimit",
  ],
  InvalidIpAddress: [
    "The chain accepts no loopback, zero or broadcast address",
    "give the external address of this machine",
    "never",
  ],
  InvalidIpType: ["The address is neither IPv4 nor IPv6", report, "never"],
  InvalidPort: ["The port must be between 1 and 65535", "give the port that others can reach", "never"],
  // commitments
  AccountNotAllowedCommit: ["Only a hotkey that is registered in the subnet may publish", register, "never"],
  SpaceLimitExceeded: [
    "The hotkey has published the maximum number of bytes for an epoch",
    "wait for the next epoch",
    "afterEpoch",
  ],
  TooManyFieldsInCommitmentInfo: ["The chain accepts fewer fields at once", report, "never"],
  // balances, system
  FundsUnavailable: ["The account's balance does not cover the amount", "lower the amount", "never"],
  BelowMinimum: ["The receiver would hold less than the minimum balance", "send at least 500 rao", "never"],
  ExistentialDeposit: ["The receiver's account would stay below the minimum balance", "raise the amount", "never"],
  Expendability: ["The sender's account would fall below the minimum balance", "lower the amount", "never"],
  Token: ["The balance does not allow this", "check both balances", "never"],
  BadOrigin: ["This key may not make this call", "use the coldkey or hotkey the call belongs to", "never"],
  CallFiltered: ["The chain does not accept this call now", "wait", "afterUpgrade"],
  CallDisabled: ["The chain has disabled this call", "wait", "afterUpgrade"],
  Deprecated: ["The chain no longer accepts this call", updateProgram, "afterUpgrade"],
  DisabledTemporarily: ["The chain has temporarily disabled this call", "wait", "afterUpgrade"],
};

/** These rows take precedence for calls of the type. */
type RowsOfCall = Readonly<Record<string, Row>>;

const weightsRows: RowsOfCall = {
  StakeAmountTooLow: dispatchRows.NotEnoughStakeToSetWeights!,
  RateLimitExceeded: [
    "The last weights are too recent, or the subnet requires another mode",
    waitForRate,
    "afterRateLimit",
  ],
};

const notStarted: Row = [
  "The subnet has not been started, so it accepts no stake",
  "wait until the subnet's owner starts it: see `iota chain params`",
  "never",
];

const stakeRows: RowsOfCall = {
  SubtokenDisabled: notStarted,
  BadRequest: [
    "The chain does not accept this stake and gives no reason; a subnet that has not been started accepts none",
    "check whether it has been started: `iota chain params`",
    "never",
  ],
  RateLimitExceeded: ["Stake was changed too recently", "wait", "afterRateLimit"],
  NotEnoughBalanceToStake: [
    "The coldkey's balance does not cover the amount",
    "lower the amount, or transfer to the coldkey",
    "never",
  ],
};

const servingRows: RowsOfCall = {
  BadRequest: ["The chain does not accept this address and gives no reason", "check --ip and --port", "never"],
};

export const rowsOfCalls: Readonly<Record<ChainCall["type"], RowsOfCall>> = {
  burnedRegister: {
    RateLimitExceeded: dispatchRows.TooManyRegistrationsThisInterval!, // until spec 375
    NotEnoughBalanceToStake: [
      "The coldkey's balance does not cover the price of a registration",
      "transfer to the coldkey",
      "never",
    ],
    FundsUnavailable: [
      "The coldkey's balance does not cover the price of a registration",
      "transfer to the coldkey",
      "never",
    ],
    SubtokenDisabled: ["The subnet has not been started", askOwner, "never"],
  },
  setCommitment: {
    RateLimitExceeded: ["The hotkey's last publication is too recent", "wait", "afterRateLimit"],
    BadRequest: ["The chain does not accept this publication and gives no reason", report, "never"],
  },
  registerNetwork: { RateLimitExceeded: dispatchRows.NetworkTxRateLimitExceeded! },
  addStake: stakeRows,
  removeStake: {
    ...stakeRows,
    AmountTooLow: ["The amount is below the chain's minimum", "take back more, or all", "never"],
  },
  transfer: {},
  serveAxon: servingRows,
  setWeights: weightsRows,
  commitWeights: weightsRows,
  revealWeights: weightsRows,
  commitTimelockedWeights: weightsRows,
};
