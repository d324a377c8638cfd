/** A cache of the values for the keys used last; a missing value is made. */

export class Recent<K, V> {
  readonly #made = new Map<K, V>();

  /**
   * @param most keys that are kept
   * @param gone gets what is let go
   */
  constructor(
    private readonly most: number,
    private readonly make: (key: K) => V,
    private readonly gone: (value: V, key: K) => void = () => {},
  ) {}

  values(): IterableIterator<V> {
    return this.#made.values();
  }

  /** Returns the value for the key, and makes it if it is missing. */
  get(key: K): V {
    let value = this.#made.get(key);
    if (value === undefined) {
      value = this.make(key);
      if (this.#made.size >= this.most) this.#drop();
    } else {
      this.#made.delete(key);
    }
    this.#made.set(key, value);
    return value;
  }

  clear(): void {
    this.#made.clear();
  }

  /** Forgets the key if it has this value, without calling `gone`; says whether it had. */
  delete(key: K, value: V): boolean {
    return this.#made.get(key) === value && this.#made.delete(key);
  }

  #drop(): void {
    for (const [key, value] of this.#made) {
      this.#made.delete(key);
      this.gone(value, key);
      return;
    }
  }
}
