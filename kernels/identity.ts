/**
 * What tells nodes apart whose state was saved: 64 bits of kind, spec and program as the plan has them, of the columns that
 * they read and of all nodes above. Where a stream has its columns, which kernel it was and when are no part of it.
 */
import type { LinkedNode } from './api.js';
import type { ColumnUse, NodePlan } from './ir.js';
import { nodeImage } from './node-image.js';
import { encodeColumnUse } from './stream-spec.js';

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

  bytes(bytes: Uint8Array | null): this {
    if (bytes === null) return this.number(-1);
    this.number(bytes.length);
    for (let i = 0; i < bytes.length; i++) this.number(bytes[i] as number);
    return this;
  }

  identity(value: bigint): this {
    return this.number(Number(value & 0xffffffffn)).number(Number(value >> 32n));
  }

  value(): bigint {
    return (BigInt(this.#a >>> 0) << 32n) | BigInt(this.#b >>> 0);
  }
}

/**
 * Identity of a node without those above it. `columns`: what the operands of its plan number, null when those are columns
 * of a node above. The zone does not count: it is another one in summer.
 */
export function ownIdentity(linked: LinkedNode, branches: number, columns: readonly ColumnUse[] | null): bigint {
  const { callNames } = linked;
  const plan = callNames === undefined ? linked.plan : (renumbered(linked.plan, callNames) as NodePlan);
  const unlinked: LinkedNode = { plan, columnMap: null, host: 0, target: 0 };
  const { kind, program, spec } = nodeImage(unlinked, branches);
  const identity = new Identity().number(kind).bytes(program).bytes(spec);
  for (const column of columns ?? []) {
    const { kind, name, type } = encodeColumnUse(column);
    identity.number(kind).bytes(name).bytes(type);
  }
  return identity.value();
}

/** The plan with numbers made of their names in the place of the functions' own. */
function renumbered(part: unknown, names: ReadonlyMap<number, string>): unknown {
  if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) return part;
  if (Array.isArray(part)) return part.map((one) => renumbered(one, names));
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(part)) copy[key] = renumbered(value, names);
  const key = copy.op === 'call.host' ? 'imm' : copy.fn === 'user' ? 'size' : 'call';
  const name = names.get(copy[key] as number);
  if (name !== undefined) copy[key] = Number(new Identity().bytes(Buffer.from(name)).value() & 0xfffffffn);
  return copy;
}
