/** The version `iota --version` prints; the protocol has its own (core/protocol/message.ts). */
export const version = "0.1.0";
