/** Content of a file of definitions. */

/** Values by key, for each kind. */
export type Kinds = Map<string, Map<string, string>>;

export interface DatabaseContent {
  readonly kinds: Kinds;
  readonly generation: number;
  /** False for a file that another engine wrote. */
  readonly isOwn: boolean;
  /** Whether the file is, to the byte, as the server wrote it. */
  readonly isAsWritten?: boolean;
}
