/**
 * Publishes a run's invite on the chain with the orchestrator's hotkey, at the start and whenever it is gone.
 *
 * Each epoch it checks that nodes still believe the announcement: that the hotkey has a uid, which newcomers may take,
 * and a voucher. Problems are reported once with the next step, a lost uid once an epoch, and never end the run. It
 * replaces neither what the hotkey published for other purposes nor a later announcement of another run.
 */

import type { ChainCall, ChainSigner, CommitmentField } from "../../../chain/call.ts";
import { type Chain, ChainError, type Commitment, type Refusal } from "../../../chain/chain.ts";
import { nextEpochBlock } from "../../../chain/epochs/epochs.ts";
import { nodeCommand, withWholeCommands } from "../text/chain_words.ts";
import type { NamedChain } from "../../terminal/options/named_chain.ts";
import { enrolOnDevelopmentChain, isDevelopmentChain } from "./development_chain.ts";
import { isPublicHost, publishedInvite, vouchersOf } from "../../address/announcements.ts";
import { hostOfSocket, type Invite, inviteText } from "../../address/invite.ts";

interface AnnouncerOptions {
  readonly place: NamedChain;
  readonly isPublic: boolean;
  readonly signer: ChainSigner;
  readonly invite: Invite;
  readonly onAnnounced: (announced: { invite: string; block: number }) => void;
  readonly say: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly onLost: (text: string) => void;
  readonly onFailure: (error: unknown) => void;
}

const lookBlocks = 50; // 10 minutes
const retryBlocks = 5;
const rawBytesMax = 128; // longer data needs another kind of field

export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #text: string | null;
  #lookAtBlock = 0;
  #looking: Promise<void> | null = null;
  #hasAnnounced = false;
  #isLost = false;
  #lostAtEpochBlock = -1; // when the lost uid was last reported
  #isOver = false;
  #warned: string | null = null;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#text = inviteText(options.invite);
  }

  /** Returns a function that stops. */
  follow(chain: Chain): () => void {
    const { isPublic, invite, warn } = this.#options;
    const host = hostOfSocket(invite.socket);
    if (this.#text === null || (isPublic && !isPublicHost(host))) {
      warn(
        `This run is not announced on the chain, as nodes elsewhere cannot reach ${invite.socket}; ` +
          "start it with an address that they can dial: --host 0.0.0.0 --public-address ADDRESS",
      );
      return () => {};
    }
    const text = this.#text;
    return chain.onHead(({ block }) => {
      if (this.#isOver || this.#looking !== null || block < this.#lookAtBlock) return;
      this.#looking = this.#look(chain, { text, block }).catch(this.#options.onFailure).finally(() => {
        this.#looking = null;
      });
    });
  }

  async withdraw(chain: Chain): Promise<void> {
    this.#isOver = true;
    await this.#looking;
    const { signer, place: { netuid } } = this.#options;
    if (!this.#hasAnnounced) return;
    try {
      const [own] = await chain.commitmentsOf([signer.address]);
      if (own === undefined || publishedInvite(own.fields) !== this.#text) return;
      await chain.send({ type: "setCommitment", netuid, fields: [] }, signer);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error; // nodes will find that the orchestrator does not answer
    }
  }

  async #look(chain: Chain, { text, block }: { text: string; block: number }): Promise<void> {
    try {
      const [own] = await chain.commitmentsOf([this.#options.signer.address]);
      const waitBlocks = await this.#act(chain, { text, own });
      const epoch = await chain.epochState();
      const epochBlock = nextEpochBlock(epoch);
      const toEpoch = epochBlock === null ? lookBlocks : epochBlock + 1 - epoch.block;
      this.#lookAtBlock = block + Math.max(1, Math.min(waitBlocks, toEpoch));
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      this.#lookAtBlock = block + retryBlocks;
      if (error.code !== "closed") this.#warn(`This run could not be announced: ${error.message}`);
    }
  }

  /** Returns the blocks until the next check. */
  async #act(chain: Chain, { text, own }: { text: string; own: Commitment | undefined }): Promise<number> {
    const published = own === undefined ? null : publishedInvite(own.fields);
    const { neurons } = await chain.metagraph();
    const isRegistered = neurons.some(({ hotkey }) => hotkey === this.#options.signer.address);
    if (!isRegistered) {
      if (this.#hasAnnounced) await this.#sayLost(chain);
      if (!await this.#register(chain)) return retryBlocks;
    }
    if (published === text) {
      if (!this.#hasAnnounced || this.#isLost) {
        await this.#announced(chain, { text, block: own!.block, isNew: false });
      } else await this.#checkVoucher(chain);
      return lookBlocks;
    }
    if (published !== null && this.#hasAnnounced) {
      this.#warn(`Another run was announced with this orchestrator's hotkey, and nodes find that one: ${published}`);
      return lookBlocks;
    }
    if (published === null && own !== undefined && own.fields.length > 0) {
      this.#warn(
        "This run is not announced, as its hotkey has published something else on the chain, which would be lost; " +
          "give the orchestrator another hotkey: --wallet NAME --hotkey NAME",
      );
      return lookBlocks;
    }
    return await this.#publish(chain, text);
  }

  async #sayLost(chain: Chain): Promise<void> {
    const { place: { network, netuid }, signer, onLost } = this.#options;
    this.#isLost = true;
    const { block, blocksSinceLastStep } = await chain.epochState();
    const epochBlock = block - blocksSinceLastStep;
    if (epochBlock <= this.#lostAtEpochBlock) return;
    this.#lostAtEpochBlock = epochBlock;
    this.#warned = null;
    onLost(
      `Nodes no longer find this run: its hotkey ${signer.address} has lost its uid on subnet ${netuid} of ${network} ` +
        "to a newcomer",
    );
  }

  async #register(chain: Chain): Promise<boolean> {
    const { place: { network, netuid }, isPublic, signer, say } = this.#options;
    const hotkey = signer.address;
    const trouble = await enrolOnDevelopmentChain(chain, { hotkey, role: "orchestrator", isPublic, say });
    if (trouble === null && await isDevelopmentChain(chain, { isPublic })) return true;
    this.#warn(
      `This run is not announced, as its hotkey must be registered on subnet ${netuid} of ${network}` +
        `${trouble === null ? "" : ` (${trouble})`}; the subnet's owner registers it: ` +
        nodeCommand({ network, netuid, hotkey })("register"),
    );
    return false;
  }

  async #publish(chain: Chain, text: string): Promise<number> {
    const { place: { netuid }, signer } = this.#options;
    const receipt = await chain.send(commitmentOf(netuid, text), signer);
    if (receipt.status === "included") {
      await this.#announced(chain, { text, block: receipt.block, isNew: true });
      return lookBlocks;
    }
    if (receipt.status === "refused") return await this.#refused(chain, receipt.refusal);
    this.#warn(`It is unknown whether this run was announced: ${receipt.why}`);
    return retryBlocks;
  }

  /** Over the chain's limit per hotkey and epoch, waits for the epoch's end. */
  async #refused(chain: Chain, { sentence, action, name, retry }: Refusal): Promise<number> {
    if (retry !== "afterEpoch") {
      const { place: { network, netuid }, signer: { address: hotkey } } = this.#options;
      const next = withWholeCommands(action, nodeCommand({ network, netuid, hotkey }));
      this.#warn(`This run is not announced: ${sentence} (${name}); ${next}`);
      return retry === "nextBlock" ? 1 : lookBlocks;
    }
    const state = await chain.epochState();
    const due = nextEpochBlock(state) ?? state.block + lookBlocks;
    this.#warn(`This run is not announced yet: ${sentence} (${name}); retrying in block ${due + 1}`);
    return Math.max(1, due + 1 - state.block);
  }

  async #announced(chain: Chain, of: { text: string; block: number; isNew: boolean }): Promise<void> {
    const { place: { network, netuid }, say, onAnnounced } = this.#options;
    const { text: invite, block, isNew } = of;
    this.#hasAnnounced = true;
    this.#isLost = false;
    this.#warned = null;
    onAnnounced({ invite, block });
    say(`${isNew ? "Announced" : "Announced already"} on subnet ${netuid} of ${network}, in block ${block}`);
    await this.#checkVoucher(chain);
  }

  async #checkVoucher(chain: Chain): Promise<void> {
    const { signer } = this.#options;
    const { ownerHotkey } = await chain.parameters();
    const { neurons } = await chain.metagraph();
    if (vouchersOf({ neurons, ownerHotkey }).some(({ hotkey }) => hotkey === signer.address)) {
      this.#warned = null;
      return;
    }
    this.#warn(
      `Nodes do not trust the announcement, as this orchestrator's hotkey ${signer.address} must be the subnet owner's, ` +
        "registered by its coldkey, or have a validator permit; until then they join with the invite",
    );
  }

  #warn(text: string): void {
    if (this.#warned === text) return;
    this.#warned = text;
    this.#options.warn(text);
  }
}

function commitmentOf(netuid: number, text: string): ChainCall {
  const bytes = new TextEncoder().encode(text);
  const field: CommitmentField = { kind: bytes.length > rawBytesMax ? "bigRaw" : "raw", bytes };
  return { type: "setCommitment", netuid, fields: [field] };
}
