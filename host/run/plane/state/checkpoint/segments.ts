/**
 * Segments: files with rows of a rule, beside its checkpoints. Each is written once and shared by all checkpoints that
 * still have some of its rows; a checkpoint names those that it needs, with their digests.
 *
 * A segment is written and read piece by piece while rows flow. Its digest is the SHA-256 of the digests of its pieces
 * of a MiB, which other threads compute.
 */
import { createHash, webcrypto } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Snapshot, SnapshotOrder } from '../../../../../kernels/snapshot-api.js';
import { wholeRuns } from '../../../../../kernels/state/snapshot.js';
import type { Segment, SegmentedRows } from '../../../link/moving.js';
import { createFile, damaged, openFile, readInto, writeAll } from './file-bytes.js';

export const segmentEnding = '.rows';

const pieceBytes = 1 << 20;
/** Bytes that the kernel reads at once, roughly. */
const portionBytes = 64 << 10;
/** Room before a piece for what is left of the one before, mostly less than a run. */
const leftBytes = 512 << 10;
/** Pieces of a segment that are on their way from the disk. */
const mostComing = 3;
/** Time for which a segment is read until other work gets its turn, ms. */
const turnMs = 2;
/**
 * Bound of values or bytes of text up to which rows are written with the state: a file of their own would cost more.
 */
const small = 16_384;
/** Most segments of a chain, and most that a checkpoint needs; beyond, all rows are written anew. */
const mostSegments = 60_000;
const mostNeeded = 256;
/** Most numbers of pages that are looked up when a checkpoint is read. */
const mostNumbers = 1 << 22;
/** Bytes that removed rows may take on disk, besides as many as the present rows take. */
const wasteBytes = 32 << 20;

let chains = 0;

/** Tracks the segments that have rows of a rule. */
export class SegmentChain {
  #chain = 0;
  #serial = 0;
  /** Number of the next page when the last snapshot was taken. */
  #before = 0;
  #segments: (Segment & { readonly pages: number })[] = [];

  /** Order for the next snapshot. */
  next(): SnapshotOrder {
    if (this.#chain === 0) {
      this.#chain = ++chains;
      this.#serial = 0;
      this.#segments = [];
    }
    return { chain: this.#chain, segment: this.#segments.length, serial: this.#serial, small };
  }

  /** To be called when a snapshot was taken as `next` said. If it comes to nothing, the chain must be forgotten. */
  taken({ serial }: Snapshot): void {
    this.#before = this.#serial;
    this.#serial = serial;
  }

  /** To be called when the rows of the snapshot are on disk; `own` is the segment of new rows, if there are any. */
  written({ live, least, pages, sets }: Snapshot, own: Segment | undefined): SegmentedRows | undefined {
    if (own !== undefined) this.#segments.push({ ...own, pages });
    const segments = this.#segments.filter((_segment, i) => (live[i] ?? 0) > 0);
    if (segments.length === 0) return undefined;
    const all = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    const needed = this.#segments.reduce((sum, { bytes, pages }, i) => sum + (bytes * (live[i] ?? 0)) / pages, 0);
    const count = this.#serial - least;
    const rows = {
      least,
      count,
      ...this.#namesOf(sets),
      segments: segments.map(({ file, bytes, digest }) => ({ file, bytes, digest })),
    };
    const isWasteful = all > 2 * needed + wasteBytes || count > mostNumbers;
    if (isWasteful || segments.length > mostNeeded || this.#segments.length > mostSegments) this.forget();
    return rows;
  }

  /** Older versions read checkpoints that name no sets of those before. */
  #namesOf(sets: readonly number[]): Pick<SegmentedRows, 'fresh' | 'sets'> {
    if (sets.length === 0) return {};
    const first = Math.min(...sets);
    return first >= this.#before ? { fresh: first } : { sets };
  }

  /** Discards what is known of the files: the next snapshot has all rows. */
  forget(): void {
    this.#chain = 0;
  }
}

/** Gathers bytes in pieces of a size, whose memory is used again. */
export class Pieces {
  bytes = 0;
  readonly #full: Buffer[] = [];
  readonly #free: Buffer[] = [];
  #piece: Buffer | undefined;
  #length = 0;

  /** Copies the bytes. */
  add(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    for (let from = 0; from < bytes.length; ) {
      this.#piece ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
      const count = Math.min(bytes.length - from, pieceBytes - this.#length);
      this.#piece.set(bytes.subarray(from, from + count), this.#length);
      this.#length += count;
      from += count;
      if (this.#length === pieceBytes) this.#end();
    }
  }

  /** Takes the next full piece; with `isLast` also the rest. */
  take(isLast: boolean): Buffer | undefined {
    if (isLast && this.#length > 0) this.#end();
    return this.#full.shift();
  }

  /** Takes over the bytes that other pieces have gathered. */
  takeAll(others: Pieces): void {
    for (let piece = others.take(true); piece !== undefined; piece = others.take(true)) this.add(piece);
  }

  /** Takes back a piece that is not needed any more. */
  release(piece: Buffer): void {
    if (piece.length === pieceBytes) this.#free.push(piece);
  }

  #end(): void {
    this.#full.push(this.#piece!.subarray(0, this.#length));
    this.#piece = undefined;
    this.#length = 0;
  }
}

/** Writes a segment so that it is on disk; `next` gives more bytes to the pieces and says whether there are more. */
export async function writeSegment(path: string, next: (pieces: Pieces) => boolean): Promise<Omit<Segment, 'file'>> {
  const pieces = new Pieces();
  const digest = createHash('sha256');
  const file = await createFile(path);
  try {
    for (let isMore = true; isMore; ) {
      isMore = next(pieces);
      for (let piece = pieces.take(!isMore); piece !== undefined; piece = pieces.take(!isMore)) {
        const [own] = await Promise.all([digestOf(piece), writeAll(file, piece)]);
        digest.update(own);
        pieces.release(piece);
      }
      // Other work of the thread gets its turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await file.datasync();
  } finally {
    await file.close();
  }
  return { bytes: pieces.bytes, digest: digest.digest('hex') };
}

/** A piece of a segment with its digest. */
interface Piece {
  /** Room for what is left of the piece before, then the piece. */
  readonly buffer: Buffer;
  readonly length: number;
  readonly own: Uint8Array;
}

/** The pieces of a segment, one after the other; the next ones are read, and their digests made, meanwhile. */
class ReadPieces {
  readonly #coming: Promise<Piece>[] = [];
  readonly #free: Buffer[] = [];
  #at = 0;

  constructor(
    private readonly file: FileHandle,
    private readonly bytes: number,
  ) {}

  /** Undefined at the end of the segment. */
  next(): Promise<Piece> | undefined {
    for (; this.#at < this.bytes && this.#coming.length < mostComing; this.#at += pieceBytes) {
      const reading = this.#read(this.#at);
      // It may never be waited for, when one before is damaged.
      reading.catch(() => {});
      this.#coming.push(reading);
    }
    return this.#coming.shift();
  }

  async #read(at: number): Promise<Piece> {
    // New memory for each would cost more than all else: the heap is searched for old memory again and again.
    const buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(leftBytes + pieceBytes);
    const length = Math.min(pieceBytes, this.bytes - at);
    const own = await digestOf(await readInto(buffer.subarray(leftBytes, leftBytes + length), this.file, at));
    return { buffer, length, own };
  }

  release({ buffer }: Piece): void {
    this.#free.push(buffer);
  }
}

/** The bytes of a piece behind those that are left of the piece before. */
function joined(left: Buffer, { buffer, length }: Piece): Buffer {
  if (left.length > leftBytes) return Buffer.concat([left, buffer.subarray(leftBytes, leftBytes + length)]);
  left.copy(buffer, leftBytes - left.length);
  return buffer.subarray(leftBytes - left.length, leftBytes + length);
}

/** Reads a segment, some whole runs at a time; rejects when it is not the one that was written. */
export async function readSegment(
  path: string,
  { bytes, digest }: Segment,
  take: (bytes: Buffer, runs: number) => void,
): Promise<void> {
  const found = createHash('sha256');
  const file = await openFile(path);
  try {
    if ((await file.stat()).size !== bytes) throw damaged('it has another size');
    const pieces = new ReadPieces(file, bytes);
    let left: Buffer = Buffer.alloc(0);
    let former: Piece | undefined;
    let turnEnd = performance.now() + turnMs;
    for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
      found.update(piece.own);
      left = joined(left, piece);
      if (former !== undefined) pieces.release(former);
      former = piece;
      for (;;) {
        const { runs, length } = wholeRuns(left, portionBytes);
        if (runs === 0) break;
        take(left.subarray(0, length), runs);
        left = left.subarray(length);
        if (performance.now() < turnEnd) continue;
        // Other work of the thread gets its turn.
        await new Promise((resolve) => setImmediate(resolve));
        turnEnd = performance.now() + turnMs;
      }
    }
  } finally {
    await file.close();
  }
  if (found.digest('hex') !== digest) throw damaged('its bytes are damaged');
}

async function digestOf(piece: Buffer): Promise<Uint8Array> {
  return new Uint8Array(await webcrypto.subtle.digest('SHA-256', piece as Uint8Array<ArrayBuffer>));
}
