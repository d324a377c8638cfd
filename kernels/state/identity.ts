/** Identities of 64 bits: of the saved state of streams and nodes, and of what it belongs to. */

/** Two products of 32 bits a byte, mixed with each other. */
export class Identity {
  #a = 0x9e3779b9;
  #b = 0x7f4a7c15;

  number(value: number): this {
    this.#a = Math.imul(this.#a ^ value, 0x9e3779b1);
    this.#b = Math.imul(this.#b ^ value, 0x5f356495);
    this.#a ^= this.#b >>> 15;
    this.#b ^= this.#a >>> 13;
    return this;
  }

  bytes(bytes: Uint8Array): this {
    this.number(bytes.length);
    for (let i = 0; i < bytes.length; i++) this.number(bytes[i] as number);
    return this;
  }

  text(text: string): this {
    this.number(text.length);
    for (let i = 0; i < text.length; i++) this.number(text.charCodeAt(i));
    return this;
  }

  identity(value: bigint): this {
    return this.number(Number(value & 0xffffffffn)).number(Number(value >> 32n));
  }

  value(): bigint {
    return (BigInt(this.#a >>> 0) << 32n) | BigInt(this.#b >>> 0);
  }
}
