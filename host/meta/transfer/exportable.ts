/** Interface of repositories for exports and imports, which so write the same records in the same way as REST. */
import type { Store, StoreChange } from '../store.js';

/** Work for one item of an import, prepared without changing anything. */
export interface Prepared {
  /** Changes of the store, written with those of all other items in one transaction. */
  readonly changes: readonly StoreChange[];
  /** Functions that the item brings to SQL; their names are unique in any letter case. */
  readonly functions?: readonly string[];
  /** Work after the changes are on disk, such as files; a failure is reported for the item. */
  readonly apply?: () => Promise<void> | void;
  /**
   * Takes back what the check has laid down beside the store, when the changes are not written after all.
   *
   * @param reason what the store has thrown: a change of which it is not known whether it was saved may name the files
   */
  readonly discard?: (reason?: unknown) => Promise<void> | void;
}

/** Stores what was prepared and does what follows; takes it back and throws when the store refuses it. */
export async function install(store: Store, { changes, apply, discard }: Prepared): Promise<void> {
  try {
    await store.batch(changes);
  } catch (error) {
    await discard?.(error);
    throw error;
  }
  await apply?.();
}

/** One kind of resource, which is one map of the export document. */
export interface Exportable {
  /** All resources of the kind: names with the texts that an import takes. */
  export(): Record<string, string> | Promise<Record<string, string>>;
  /**
   * Checks an item and says what storing it takes; throws a HaumeaError that names the reason. Items of the same name
   * are replaced. `isReset` tells that everything there is now will be gone, so that nothing of it matters.
   */
  check(name: string, value: string, isReset: boolean): Prepared | Promise<Prepared>;
  /** Says what removing everything takes that is not among the names to be kept; those are about to be replaced. */
  clear(kept: ReadonlySet<string>): Prepared | Promise<Prepared>;
}
