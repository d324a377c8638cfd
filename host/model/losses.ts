/** What the server had said to be safe and has no more, as its parts tell of it. */

/**
 * What is gone: a definition as a whole, its last change, that it was deleted; the state of a rule, what it kept since
 * an older checkpoint, a part of it; files of a definition; messages that were acknowledged.
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
   * `rule`, `stream`, `table`, `confKey`, `connection`, `schema`, `service`, `plugin`, `script`; empty where that can't
   * be told.
   */
  readonly resource: string;
  /** Empty where that can't be told. */
  readonly name: string;
  readonly what: LostPart;
  /** How it came, a clause. */
  readonly reason: string;
  /** How many, of messages. */
  readonly messages?: number;
  /** Where what was damaged is kept. */
  readonly file?: string;
}
