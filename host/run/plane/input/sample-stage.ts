/**
 * Lets one message through at each interval: the last one, or with a merge field the last one for each value of it, all
 * in one object in which later members win. What is left out is never decoded. The input is in frames, cut anywhere.
 */

import { reasonOf } from '../../../base/errors.js';
import { isBlank, partsOf, withinBraces } from '../../../base/text/json-parts.js';
import { systemClock, type Timer } from '../../../base/time/clock.js';
import type { Sampling } from '../../../connectors/common.js';
import { FrameBuffer, nextFrame } from '../../../connectors/messages/frames.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

const nothing = Buffer.alloc(0);
const openBrace = Buffer.from('{');
const closeBrace = Buffer.from('}');
const comma = Buffer.from(',');
/** Most values of a merge field that are kept for one interval. */
const mostValues = 100_000;

interface Kept {
  readonly payload: Buffer;
  readonly meta: Buffer;
}

export class SampleStage extends PassingStage<Input> {
  /** The begin of a frame. */
  #rest: Buffer = nothing;
  /** The last message of this interval. */
  #last: Kept | undefined;
  /** The last message for each value of the merge field, in the order of their arrival. */
  readonly #byValue = new Map<unknown, Kept>();
  readonly #frames = new FrameBuffer();
  readonly #timer: Timer;
  /** Messages that came, those left out among them. */
  came = 0;

  /**
   * @param isBlocked says whether nothing more is taken behind this stage: the interval goes on then
   * @param failed a message can't be read: it is left out
   */
  constructor(
    private readonly sampling: Sampling,
    private readonly isBlocked: () => boolean,
    private readonly failed: (reason: string) => void,
  ) {
    super();
    this.#timer = systemClock.every(sampling.intervalMs, () => {
      if (!this.isBlocked()) this.drain();
    });
  }

  write({ bytes }: Input): boolean {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const all = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given]);
    let at = 0;
    let last: Kept | undefined;
    for (let frame = nextFrame(all, at); frame !== undefined; frame = nextFrame(all, at)) {
      at = frame.end;
      this.came++;
      if (this.sampling.mergeField === '') last = frame;
      else this.#keep(frame, this.sampling.mergeField);
    }
    if (last !== undefined) this.#last = copyOf(last);
    this.#rest = at === all.length ? nothing : Buffer.from(all.subarray(at));
    return true;
  }

  #keep(frame: Kept, field: string): void {
    let value: unknown;
    try {
      value = keyOf(JSON.parse(frame.payload.toString()), field);
    } catch (error) {
      this.failed(`a message can't be merged by ${field}: ${reasonOf(error)}`);
      return;
    }
    if (this.#byValue.size >= mostValues && !this.#byValue.has(value)) {
      this.failed(`a message can't be merged by ${field}: it has more than ${mostValues} values`);
      return;
    }
    // The newest is the last.
    this.#byValue.delete(value);
    this.#last = copyOf(frame);
    this.#byValue.set(value, this.#last);
  }

  /** The message of this interval so far, as a frame; undefined without one. */
  get held(): Uint8Array | undefined {
    const message = this.#message();
    if (message === undefined) return undefined;
    const frames = new FrameBuffer();
    frames.add(message.payload, message.meta);
    return frames.bytes;
  }

  #message(): Kept | undefined {
    const last = this.#last;
    if (last === undefined || this.sampling.mergeField === '') return last;
    return { payload: merged([...this.#byValue.values()].map(({ payload }) => payload)), meta: last.meta };
  }

  /** Passes on the message of this interval. */
  override drain(): void {
    const message = this.#message();
    if (message === undefined) return;
    this.#last = undefined;
    this.#byValue.clear();
    this.#frames.clear();
    this.#frames.add(message.payload, message.meta);
    this.next.write({ bytes: this.#frames.bytes, isLast: true });
  }

  /** Forgets half a message. */
  reset(): void {
    this.#rest = nothing;
  }

  override close(): void {
    this.#timer.close();
  }
}

function copyOf({ payload, meta }: Kept): Kept {
  return { payload: Buffer.from(payload), meta: Buffer.from(meta) };
}

/** The value that messages are told apart by; lists, objects and rows without it are alike. */
function keyOf(row: unknown, field: string): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row) || !Object.hasOwn(row, field)) return null;
  const value = (row as Readonly<Record<string, unknown>>)[field];
  return typeof value === 'object' ? null : value;
}

/** One object with the members of all objects. */
function merged(messages: readonly Buffer[]): Buffer {
  const members: Buffer[] = [];
  for (const message of messages) {
    const first = message.find((byte) => byte > 0x20);
    const objects = first === 0x7b ? [message] : partsOf(message).map(({ from, to }) => message.subarray(from, to));
    for (const object of objects) {
      if (object[0] !== 0x7b && first !== 0x7b) continue;
      const within = withinBraces(object);
      if (!isBlank(within)) members.push(members.length === 0 ? openBrace : comma, within);
    }
  }
  return members.length === 0 ? Buffer.from('{}') : Buffer.concat([...members, closeBrace]);
}
