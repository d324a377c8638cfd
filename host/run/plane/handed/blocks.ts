/**
 * How a stream goes from the data plane that reads it to another one: as blocks on a topic of the engine's own, one for
 * each reader. A block is the session, its kind, the number of its messages that are to be acknowledged, and a body:
 *
 * | Kind | Body |
 * |---|---|
 * | begin | state of the stream in the kernel, as half a message |
 * | input | bytes as the kernel got them |
 * | reset | none: the connection was lost, with half a message maybe |
 * | end | none: no more input comes |
 * | up | none: the source is connected |
 * | down | why it is not |
 * | refused | why it can't run at all |
 *
 * Readers ask for it on a topic for all of them.
 */
import { ownTopic } from '../../../connectors/topics/matches.js';

export const kinds = { begin: 1, input: 2, reset: 3, end: 4, up: 5, down: 6, refused: 7 } as const;

const headBytes = 9;
const nothing = new Uint8Array(0);

export interface HandedBlock {
  /** Number that the reader has chosen for this series of blocks. */
  readonly session: number;
  readonly kind: number;
  /** Number of messages that end in the body and are to be acknowledged. */
  readonly receipts: number;
  readonly body: Buffer;
}

export function blockBytes(session: number, kind: number, body: Uint8Array = nothing, receipts = 0): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + body.length);
  bytes.writeUInt32LE(session, 0);
  bytes[4] = kind;
  bytes.writeUInt32LE(receipts, 5);
  bytes.set(body, headBytes);
  return bytes;
}

export function blockOf(bytes: Buffer): HandedBlock {
  return {
    session: bytes.readUInt32LE(0),
    kind: bytes[4]!,
    receipts: bytes.readUInt32LE(5),
    body: bytes.subarray(headBytes),
  };
}

/** A reader asks for the stream, or wants no more of it. */
export interface Wish {
  readonly plane: number;
  readonly session: number;
  readonly isWanted: boolean;
}

export function wishBytes(wish: Wish): Buffer {
  return Buffer.from(JSON.stringify(wish));
}

export function wishOf(bytes: Buffer): Wish {
  return JSON.parse(bytes.toString()) as Wish;
}

/** Topic of the blocks for a data plane. */
export function blocksTopic(key: number, plane: number): string {
  return ownTopic('handed', String(key), 'to', String(plane));
}

/** Topic of the wishes of all readers. */
export function wishesTopic(key: number): string {
  return ownTopic('handed', String(key), 'wishes');
}
