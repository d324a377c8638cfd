/**
 * Host functions over messages that are no column of a kernel: they are laid into a memory of their own, as columns lie
 * in that of a kernel, so that code of users gets them the same way.
 */
import type { HostColumns } from '../api.js';
import { argument, Tag } from '../gen/layouts.js';
import { ValueAccess, ValueError } from '../values/value.js';
import { aligned } from './cells.js';
import { hostCallImport } from './host-call.js';

const pageBytes = 65_536;
/** Messages of one call. */
const mostRows = 1024;
/** A memory that grew beyond this is given up after the call. */
const keptBytes = 1 << 20;
/** Longest result. */
const maxValueBytes = 1 << 24;
const cellBytes = 8;

/** Result for a message: its bytes, null for none, or an error. */
export type Made = Uint8Array | null | ValueError;

export class MessageCalls {
  #access: ValueAccess | undefined;
  /** Bytes of the memory that are taken. */
  #taken = 0;

  /**
   * Runs a function of one argument over messages, which it gets as texts or bytes; a text must be UTF-8. Gives the
   * bytes of each result, null, or an error; the bytes are good until the next call.
   */
  run(messages: readonly Uint8Array[], kind: 'text' | 'bytes', call: (columns: HostColumns) => void): Made[] {
    if (messages.length <= mostRows) return this.#batch(messages, kind, call);
    const results: Made[] = [];
    for (let from = 0; from < messages.length; from += mostRows) {
      const made = this.#batch(messages.slice(from, from + mostRows), kind, call);
      // The next batch lies where these do.
      for (const one of made) results.push(one instanceof Uint8Array ? new Uint8Array(one) : one);
    }
    return results;
  }

  #batch(messages: readonly Uint8Array[], kind: 'text' | 'bytes', call: (columns: HostColumns) => void): Made[] {
    const access = this.#begin();
    const count = messages.length;
    const table = this.#take(argument.size);
    const sel = this.#take(count * 4);
    const [vals, resultVals] = [this.#take(count * cellBytes), this.#take(count * cellBytes)];
    const [tags, resultTags] = [this.#take(count), this.#take(count)];
    const texts = this.#take(messages.reduce((sum, { length }) => sum + length, 0));
    if (texts === 0) return messages.map(() => new ValueError('memory is exhausted'));
    const view = access.view();
    const bytes = access.bytes();
    let at = texts;
    messages.forEach((message, n) => {
      bytes.set(message, at);
      view.setUint32(sel + n * 4, n, true);
      view.setUint32(vals + n * cellBytes, at, true);
      view.setUint32(vals + n * cellBytes + 4, message.length, true);
      view.setUint8(tags + n, kind === 'text' ? Tag.str : Tag.bytes);
      at += message.length;
    });
    view.setUint32(table + argument.at.vals, vals, true);
    view.setUint32(table + argument.at.tags, tags, true);
    view.setUint32(table + argument.at.stride, 1, true);
    hostCallImport(
      () => access,
      (_fn, columns) => call(columns),
    )(0, table, 1, sel, count, resultVals, resultTags);
    return messages.map((_message, n) => madeAt(access, resultTags + n, resultVals + n * cellBytes));
  }

  #begin(): ValueAccess {
    let access = this.#access;
    if (access === undefined || access.bytes().length > keptBytes) {
      const memory = new WebAssembly.Memory({ initial: 1 });
      access = new ValueAccess(memory, (size) => this.#take(size), maxValueBytes);
      this.#access = access;
    }
    // Address 0 is that of nothing.
    this.#taken = cellBytes;
    return access;
  }

  /** Address of so many bytes, 0 when there is no room. */
  #take(size: number): number {
    const { memory } = this.#access as ValueAccess;
    const at = this.#taken;
    const end = at + aligned(size);
    const missing = end - memory.buffer.byteLength;
    try {
      if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
    } catch {
      return 0;
    }
    this.#taken = end;
    return at;
  }
}

function madeAt(access: ValueAccess, tagAt: number, at: number): Made {
  const view = access.view();
  const tag = view.getUint8(tagAt);
  if (tag === Tag.str || tag === Tag.bytes) {
    const off = view.getUint32(at, true);
    return access.bytes().subarray(off, off + view.getUint32(at + 4, true));
  }
  const value = access.read(tag, at);
  return value === null || value instanceof ValueError ? value : new ValueError('the result is no text');
}
