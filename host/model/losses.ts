/** Losses, as parts of the server report them: data that was safe and is gone. */

/**
 * Kind of the lost data: a definition, its last change or its deletion; the state of a rule, its state since an older
 * checkpoint or a part of it; files of a definition; acknowledged messages.
 */
export type LostPart =
  | 'definition'
  | 'change'
  | 'deletion'
  | 'state'
  | 'newestState'
  | 'partOfState'
  | 'files'
  | 'messages';

export interface Loss {
  /**
   * Kind of the resource: `rule`, `stream`, `table`, `confKey`, `connection`, `schema`, `service`, `plugin`, `script`;
   * empty when unknown.
   */
  readonly resource: string;
  /** Name of the resource; empty when unknown. */
  readonly name: string;
  readonly what: LostPart;
  /** Cause of the loss, as a clause. */
  readonly reason: string;
  /** Number of lost messages, when messages are lost. */
  readonly messages?: number;
  /** File that keeps the damaged data. */
  readonly file?: string;
}
