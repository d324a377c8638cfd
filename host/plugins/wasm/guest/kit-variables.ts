/** Variables that a guest of a development kit keeps from call to call: of an instance, or the state of a group. */

/** Most bytes of names and values. */
const maxBytes = 1 << 20;
/** First byte of variables as a state. */
const version = 1;
const lengthBytes = 4;

export class KitVariables {
  readonly #values = new Map<string, Uint8Array>();
  #bytes = 0;
  /** Values before the call that set them last, and that call. */
  readonly #former = new Map<string, Uint8Array | undefined>();
  #call = -1;
  /** Something was set or deleted. */
  isChanged = false;

  /** Those of a state; undefined when the bytes are none. */
  static of(state: Buffer | undefined): KitVariables | undefined {
    const made = new KitVariables();
    if (state === undefined) return made;
    if (state[0] !== version) return undefined;
    for (let at = 1; at < state.length; ) {
      const texts: Buffer[] = [];
      for (let i = 0; i < 2; i++) {
        const from = at + lengthBytes;
        if (from > state.length) return undefined;
        at = from + state.readUInt32LE(at);
        if (at > state.length) return undefined;
        texts.push(state.subarray(from, at));
      }
      const [name, value] = texts as [Buffer, Buffer];
      made.#put(name.toString(), Uint8Array.from(value));
    }
    return made;
  }

  get size(): number {
    return this.#values.size;
  }

  get(name: string): Uint8Array | undefined {
    return this.#values.get(name);
  }

  /** Sets a variable, or deletes it, in a call; false when all of them would take too much. */
  set(name: string, value: Uint8Array | undefined, call: number): boolean {
    const former = this.#values.get(name);
    const bytes = this.#bytes - bytesOf(name, former) + bytesOf(name, value);
    if (bytes > maxBytes) return false;
    if (call !== this.#call) this.#former.clear();
    this.#call = call;
    if (!this.#former.has(name)) this.#former.set(name, former);
    this.isChanged = true;
    this.#put(name, value);
    return true;
  }

  /** What calls have set so far stays; they are numbered anew. */
  settle(): void {
    this.#former.clear();
    this.#call = -1;
  }

  /** Takes back what a call has set that was cut off. */
  undo(call: number): void {
    if (call !== this.#call) return;
    for (const [name, value] of this.#former) this.#put(name, value);
    this.#former.clear();
  }

  #put(name: string, value: Uint8Array | undefined): void {
    this.#bytes += bytesOf(name, value) - bytesOf(name, this.#values.get(name));
    if (value === undefined) this.#values.delete(name);
    else this.#values.set(name, value);
  }

  /** All of them as a state. */
  bytes(): Buffer {
    const parts: Buffer[] = [Buffer.of(version)];
    for (const [name, value] of this.#values) {
      for (const text of [Buffer.from(name), Buffer.from(value)]) {
        const length = Buffer.alloc(lengthBytes);
        length.writeUInt32LE(text.length);
        parts.push(length, text);
      }
    }
    return Buffer.concat(parts);
  }
}

/** Memory that a variable counts for, bytes; an empty value counts for some as well. */
function bytesOf(name: string, value: Uint8Array | undefined): number {
  return value === undefined ? 0 : 64 + name.length + value.length;
}

/** Text of the error of a guest whose variables would take too much. */
export function tooManyVariables(plugin: string): string {
  return `variables of ${plugin} would take more than ${maxBytes} bytes`;
}
