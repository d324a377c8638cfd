/** Where definitions live, as the repositories see it: texts by kind and key. */

/** Sets (text) or deletes (null) the value of a key. */
export type StoreChange = readonly [kind: string, key: string, value: string | null];

/**
 * Called when a change that was not waited for could not be written and is taken back: what was done upon it goes, too.
 */
export type OnLost = () => void;

/** For changes that nothing but the store holds. */
export const nothingToUndo: OnLost = () => {};

/**
 * Durable definitions. A change is visible to readers at once; its promise resolves when it is on disk. When it can't
 * be written the promise rejects and the value is as it was before.
 */
export interface Store {
  get(kind: string, key: string): string | undefined;
  /** Keys and values of a kind, ordered by key. */
  list(kind: string): [key: string, value: string][];
  /** Keys of a kind, in order. */
  keys(kind: string): string[];
  /**
   * Another number after each change of a kind, also one that is taken back: what was made of its values is old then.
   */
  version(kind: string): number;
  put(kind: string, key: string, value: string, onLost?: OnLost): Promise<void>;
  delete(kind: string, key: string, onLost?: OnLost): Promise<void>;
  /** Applies all changes or, when they can't be written, none. */
  batch(changes: readonly StoreChange[], onLost?: OnLost): Promise<void>;
  /**
   * Runs a step that sees the store as it would be after the changes, and takes them back. The step must not wait, so
   * that nobody else can see them.
   */
  pretend<T>(changes: readonly StoreChange[], step: () => T): T;
  /**
   * Runs a step whose changes do not wait for the disk where they say what to do when they are lost. `saved` resolves
   * when all of them are there, and rejects when one of them could not be written.
   */
  together<T>(step: () => Promise<T>): Promise<{ result: T; saved: Promise<void> }>;
  /** Resolves when everything is on disk and the files are closed. */
  close(): Promise<void>;
}
