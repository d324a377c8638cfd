/** What a file of definitions holds. */

/** Values by key, for each kind. */
export type Kinds = Map<string, Map<string, string>>;

export interface DatabaseContent {
  readonly kinds: Kinds;
  readonly generation: number;
  /** False for a file that another engine wrote. */
  readonly isOwn: boolean;
  /** It is what the server wrote, to the byte. */
  readonly isAsWritten?: boolean;
}
