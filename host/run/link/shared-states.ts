/**
 * The state of rules in a cluster: what a data plane has on its disk counts when the control plane has brought it to
 * where all nodes find it.
 */

/** The folder of a rule's checkpoints on this machine. */
export interface RuleFolder {
  readonly rule: string;
  readonly folder: string;
}

/** A checkpoint that is on disk and is to count. */
export interface KeptState extends RuleFolder {
  /** Names under which other nodes find the files, with the names that they have here. */
  readonly files: readonly { readonly name: string; readonly file: string }[];
}

export type ShareOrder =
  /** Brings the folder in line with the last checkpoint that counts, whoever has taken it. */
  | { readonly what: 'fetch'; readonly state: RuleFolder }
  /** Makes checkpoints count, all or none. */
  | { readonly what: 'keep'; readonly states: readonly KeptState[] }
  /** Takes away what counts. */
  | { readonly what: 'forget'; readonly state: RuleFolder };

/** Carries orders out; rejects with the reason. */
export interface SharedStates {
  carryOut(order: ShareOrder): Promise<void>;
}

/** Where the nodes of a cluster keep the state of rules. */
export interface RuleStates extends SharedStates {
  /** Removes the state of a rule; resolves also when that fails, which is logged. */
  remove(rule: string): Promise<void>;
}

/** An order on its way to the control plane, and its outcome. */
export interface ShareNotice {
  readonly kind: 'share';
  readonly number: number;
  readonly order: ShareOrder;
}

export interface SharedAnswer {
  readonly kind: 'shared';
  readonly number: number;
  /** Undefined when it was carried out. */
  readonly reason: string | undefined;
}

/** Orders under way from a data plane. */
export class ShareOrders implements SharedStates {
  readonly #ends = new Map<number, (reason: string | undefined) => void>();
  #last = 0;

  constructor(private readonly send: (notice: ShareNotice) => void) {}

  carryOut(order: ShareOrder): Promise<void> {
    const number = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#ends.set(number, (reason) => (reason === undefined ? resolve() : reject(new Error(reason))));
      this.send({ kind: 'share', number, order });
    });
  }

  take({ number, reason }: SharedAnswer): void {
    this.#ends.get(number)?.(reason);
    this.#ends.delete(number);
  }
}
