/** The values of a store in memory, in order and by kind; what writes them extends it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { OrderedKeys } from '../base/structures/ordered.js';
import { storedErrors } from './errors.js';
import type { OnLost, Store, StoreChange } from './store.js';

/** Values by key, for each kind. */
type Values = Map<string, Map<string, string>>;

export abstract class ValueStore implements Store {
  /** Keys of the kinds that were asked for in order. */
  readonly #ordered = new Map<string, OrderedKeys>();
  readonly #versions = new Map<string, number>();
  /** Writes under way of the step of `together` that runs. */
  readonly #together = new AsyncLocalStorage<Promise<void>[]>();
  protected isClosed = false;

  constructor(protected readonly kinds: Values) {}

  get(kind: string, key: string): string | undefined {
    return this.kinds.get(kind)?.get(key);
  }

  list(kind: string): [string, string][] {
    const rows = this.kinds.get(kind);
    return rows === undefined ? [] : this.keys(kind).map((key) => [key, rows.get(key) as string]);
  }

  keys(kind: string): string[] {
    let keys = this.#ordered.get(kind);
    if (keys === undefined) {
      keys = new OrderedKeys();
      this.#ordered.set(kind, keys);
    }
    return [...keys.list(this.kinds.get(kind))];
  }

  version(kind: string): number {
    return this.#versions.get(kind) ?? 0;
  }

  put(kind: string, key: string, value: string, onLost?: OnLost): Promise<void> {
    return this.batch([[kind, key, value]], onLost);
  }

  delete(kind: string, key: string, onLost?: OnLost): Promise<void> {
    return this.batch([[kind, key, null]], onLost);
  }

  async batch(changes: readonly StoreChange[], onLost?: OnLost): Promise<void> {
    if (this.isClosed) throw storedErrors.stopping();
    if (changes.length === 0) return;
    const writing = this.write(changes);
    const others = this.#together.getStore();
    if (others === undefined || onLost === undefined) return writing;
    others.push(writing);
    // When this write fails, the whole step fails.
    writing.catch(onLost);
  }

  pretend<T>(changes: readonly StoreChange[], step: () => T): T {
    const before = this.apply(changes);
    try {
      return step();
    } finally {
      this.apply(before.reverse());
    }
  }

  async together<T>(step: () => Promise<T>): Promise<{ result: T; saved: Promise<void> }> {
    const writes: Promise<void>[] = [];
    const result = await this.#together.run(writes, step);
    const saved = Promise.all(writes).then(() => {});
    // Callers that need the result wait for `saved`; others must not end the process by its rejection.
    saved.catch(() => {});
    return { result, saved };
  }

  abstract close(): Promise<void>;

  /** Makes the changes visible at once and durable; takes them back and rejects when they can't be written. */
  protected abstract write(changes: readonly StoreChange[]): Promise<void>;

  /** Applies changes in memory; returns the changes that undo them, in the same order. */
  protected apply(changes: readonly StoreChange[]): StoreChange[] {
    return changes.map((change): StoreChange => {
      const [kind, key, value] = change;
      const old = this.kinds.get(kind)?.get(key) ?? null;
      applyChange(this.kinds, change);
      this.#versions.set(kind, this.version(kind) + 1);
      if ((old === null) !== (value === null)) this.#ordered.get(kind)?.note(key);
      return [kind, key, old];
    });
  }
}

export function applyChange(kinds: Values, [kind, key, value]: StoreChange): void {
  if (value === null) {
    kinds.get(kind)?.delete(key);
    return;
  }
  let rows = kinds.get(kind);
  if (rows === undefined) {
    rows = new Map();
    kinds.set(kind, rows);
  }
  rows.set(key, value);
}
