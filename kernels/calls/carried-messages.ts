/** Messages on their way to a function on another thread, as its only argument, and what it makes of them. */
import { Tag } from '../gen/layouts.js';
import { type CarriedColumns, carriedBase, carriedPlace } from '../values/carried.js';
import { ValueError } from '../values/value.js';
import type { Made } from './message-calls.js';

/** Longest message, and longest result. */
const maxValueBytes = 1 << 24;

const align = (at: number) => (at + 7) & ~7;

/** Copies messages, which the function gets as texts or bytes; a text must be UTF-8. */
export function carryMessages(messages: readonly Uint8Array[], kind: 'text' | 'bytes'): CarriedColumns {
  const count = messages.length;
  const head = align(count * 9);
  const bytes = new Uint8Array(messages.reduce((sum, { length }) => sum + align(length), head));
  const made = { count, columns: 1, bytes, longest: maxValueBytes };
  const { vals, tags } = carriedPlace(made, 0);
  const view = new DataView(bytes.buffer);
  bytes.fill(kind === 'text' ? Tag.str : Tag.bytes, tags, tags + count);
  let at = head;
  messages.forEach((message, i) => {
    view.setUint32(vals + 8 * i, at + carriedBase, true);
    view.setUint32(vals + 8 * i + 4, message.length, true);
    bytes.set(message, at);
    at += align(message.length);
  });
  return made;
}

/** The results of a column that was checked: views of its block. */
export function madeOf(carried: CarriedColumns): Made[] {
  const { bytes, count } = carried;
  const { vals, tags } = carriedPlace(carried, 0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: count }, (_, i) => {
    const tag = bytes[tags + i];
    if (tag === Tag.null || tag === Tag.missing) return null;
    if (tag !== Tag.str && tag !== Tag.bytes && tag !== Tag.error) return new ValueError('the result is no text');
    const length = view.getUint32(vals + 8 * i + 4, true);
    const off = length === 0 ? 0 : view.getUint32(vals + 8 * i, true) - carriedBase;
    const text = bytes.subarray(off, off + length);
    return tag === Tag.error ? new ValueError(Buffer.from(text).toString()) : text;
  });
}
