/** Objects in the engine's own binary form, in which rows go between rules (assembly/json/binary-form.ts). */
import { Tag } from '../gen/layouts.js';

/** The row that an object of texts and integers is. */
export function binaryForm(row: Readonly<Record<string, string | number>>): Buffer {
  const members = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = members.flatMap(([name, value]) => [...text(name), ...written(value)]);
  return Buffer.concat([Buffer.of(Tag.object), u32(members.length), ...parts]);
}

function written(value: string | number): Buffer[] {
  if (typeof value === 'string') return [Buffer.of(Tag.str), ...text(value)];
  const bytes = Buffer.alloc(9, Tag.i64);
  bytes.writeBigInt64LE(BigInt(value), 1);
  return [bytes];
}

function text(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  return [u32(bytes.length), bytes];
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
