/**
 * The journal of definitions: an append-only file of changes, each with its length and checksum. A change is
 * acknowledged when it was forced to the disk; changes that arrive meanwhile share the next write (group commit).
 *
 *     file    │ magic "HAUMEAC1" │ record │ record │ … │ room: zeros
 *     record  │ u32 payload length │ u32 CRC-32 of the payload │ payload: JSON [[kind, key, value or null], …] │
 *
 * Numbers are little-endian. The changes of one record are applied together or not at all. The file grows in steps, by
 * zeros that records are written over: so most writes change no length, which the file system would have to write too.
 */
import { constants, write } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from '../../base/files/crc32.js';

/** Sets (text) or deletes (null) the value of a key. */
export type Change = readonly [kind: string, key: string, value: string | null];

const magic = Buffer.from('HAUMEAC1');
const headerBytes = 8;
/** The file grows by so many bytes. */
const roomBytes = 64 * 1024;
/**
 * On Linux a write to a file that is opened so returns when it is on disk, as fdatasync behind it would: one wait for
 * the thread that does it instead of two. macOS has the same flag, but not for what its disks still hold.
 */
const isForced = process.platform === 'linux' && constants.O_DSYNC !== undefined;
const flags = constants.O_RDWR | constants.O_CREAT | (isForced ? constants.O_DSYNC : 0);
/** A length beyond this is damage, not a record. */
const maxRecordBytes = 1 << 28;

/** A part of the journal that is no record, and no write that was cut short. */
export interface Damage {
  readonly bytes: Buffer;
  /** Records behind it. */
  readonly later: readonly (readonly Change[])[];
}

export interface ReadResult {
  readonly records: readonly (readonly Change[])[];
  readonly damages: readonly Damage[];
  /** Length of the part before the first damage. */
  readonly goodBytes: number;
  /** Bytes behind the good part; empty unless a write was torn or the file is damaged. */
  readonly tail: Buffer;
  /** The journal without its damaged parts, when whole records follow the damage: then it is no torn write. */
  readonly repaired: Buffer | undefined;
}

/** Reads the records of a journal that are whole. */
export function readRecords(file: Buffer): ReadResult {
  const bytes = withoutRoom(file);
  const records: Change[][] = [];
  /** Damaged parts, each with the number of whole records before it. */
  const damages: { from: number; to: number; before: number; isTorn: boolean }[] = [];
  const parts: Buffer[] = [magic];
  let damagedAt: number | undefined;
  let isRepaired = false;
  let at = bytes.subarray(0, magic.length).equals(magic) ? magic.length : undefined;
  if (at === undefined) {
    damagedAt = 0;
    at = nextRecord(bytes, 0);
    // The magic number is on disk before the first change is acknowledged.
    const isBegun = bytes.length > magic.length + headerBytes;
    if (isBegun && at !== magic.length) damages.push({ from: 0, to: at ?? bytes.length, before: 0, isTorn: false });
  }
  while (at !== undefined) {
    const record = recordAt(bytes, at);
    if (record === undefined) {
      damagedAt ??= at;
      const next = nextRecord(bytes, at + 1);
      // The rest of a write that was cut short was never acknowledged.
      const isTorn = next === undefined && !isComplete(bytes.subarray(at));
      damages.push({ from: at, to: next ?? bytes.length, before: records.length, isTorn });
      at = next;
      continue;
    }
    isRepaired ||= damagedAt !== undefined;
    records.push(record.changes);
    parts.push(bytes.subarray(at, record.end));
    at = record.end;
  }
  const goodBytes = damagedAt ?? bytes.length;
  const repaired = isRepaired ? Buffer.concat(parts) : undefined;
  const found = damages.filter(({ isTorn }) => !isTorn);
  return {
    records,
    damages: found.map(({ from, to, before }) => ({ bytes: bytes.subarray(from, to), later: records.slice(before) })),
    goodBytes,
    tail: bytes.subarray(goodBytes),
    repaired,
  };
}

/** What was written: no record ends with a zero. */
function withoutRoom(file: Buffer): Buffer {
  let end = file.length;
  while (end > 0 && file[end - 1] === 0) end--;
  return file.subarray(0, end);
}

/** Tells whether a record has its full length and ends as records do, so that it was not cut short. */
function isComplete(bytes: Buffer): boolean {
  if (bytes.length < headerBytes) return false;
  const end = headerBytes + bytes.readUInt32LE(0);
  return end <= bytes.length && bytes.toString('latin1', end - payloadEnd.length, end) === payloadEnd;
}

/** How every payload begins and ends. */
const payloadStart = '[["';
const payloadEnd = ']]';

/** Offset of the next whole record, at `from` or behind it. */
function nextRecord(bytes: Buffer, from: number): number | undefined {
  for (let payload = from + headerBytes; ; payload++) {
    payload = bytes.indexOf(payloadStart, payload);
    if (payload < 0) return undefined;
    if (recordAt(bytes, payload - headerBytes) !== undefined) return payload - headerBytes;
  }
}

function recordAt(bytes: Buffer, at: number): { changes: Change[]; end: number } | undefined {
  if (bytes.length - at < headerBytes) return undefined;
  const length = bytes.readUInt32LE(at);
  const end = at + headerBytes + length;
  if (length > maxRecordBytes || end > bytes.length) return undefined;
  const payload = bytes.subarray(at + headerBytes, end);
  if (crc32(payload) !== bytes.readUInt32LE(at + 4)) return undefined;
  try {
    return { changes: JSON.parse(payload.toString()) as Change[], end };
  } catch {
    return undefined;
  }
}

/** The bytes that append changes to a journal. */
export function encodeRecord(changes: readonly Change[]): Buffer {
  const payload = Buffer.from(JSON.stringify(changes));
  if (payload.length > maxRecordBytes) throw new Error(`a change of ${payload.length} bytes is too large`);
  const record = Buffer.allocUnsafe(headerBytes + payload.length);
  record.writeUInt32LE(payload.length, 0);
  record.writeUInt32LE(crc32(payload), 4);
  payload.copy(record, headerBytes);
  return record;
}

interface Waiting {
  readonly record: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Appends to one journal file. */
export class ChangeLog {
  readonly path: string;
  readonly #file: FileHandle;
  #size: number;
  /** Length of the file. */
  #room: number;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  private constructor(path: string, file: FileHandle, size: number) {
    this.path = path;
    this.#file = file;
    this.#size = size;
    this.#room = size;
  }

  /** Opens a journal for appending behind `goodBytes`, cutting what follows; creates it when `goodBytes` is 0. */
  static async open(path: string, goodBytes: number): Promise<ChangeLog> {
    const file = await open(path, flags, 0o600);
    try {
      await file.truncate(goodBytes);
      if (goodBytes === 0) await file.write(magic, 0, magic.length, 0);
      await file.sync();
    } catch (error) {
      await file.close();
      throw error;
    }
    return new ChangeLog(path, file, Math.max(goodBytes, magic.length));
  }

  /** Bytes that are safely on disk. */
  get sizeBytes(): number {
    return this.#size;
  }

  /** Resolves when the changes are on disk; rejects when they could not be written, and then none of them is. */
  append(changes: readonly Change[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record: encodeRecord(changes), resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves when nothing is waiting to be written. */
  async settle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async close(): Promise<void> {
    await this.settle();
    await this.#file.close();
  }

  async #writeAll(): Promise<void> {
    // One turn of the event loop, so that the changes of requests that arrive together share a write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#writeGroup(group);
        for (const item of group) item.resolve();
      } catch (error) {
        // Half a record may be in the file; it must go before the next one is written behind it.
        await this.#file.truncate(this.#size).catch(() => {});
        this.#room = this.#size;
        // Later changes may build on those that failed; they are undone in the reverse order.
        const failed = [...group, ...this.#waiting].reverse();
        this.#waiting = [];
        for (const item of failed) item.reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const records = group.map(({ record }) => record);
    const length = records.reduce((sum, record) => sum + record.length, 0);
    const end = this.#size + length;
    if (end > this.#room) records.push(Buffer.alloc(roomBytes - (end % roomBytes)));
    const bytes = records.length === 1 ? records[0]! : Buffer.concat(records);
    let done = 0;
    // A disk that is nearly full may have no room for the zeros.
    while (done < length) done += await this.#write(bytes, done, this.#size + done);
    if (!isForced) await this.#file.datasync();
    this.#size = end;
    this.#room = Math.max(this.#room, end - length + done);
  }

  /** Writes from an offset of the bytes to a place of the file; resolves with how many were written. */
  #write(bytes: Buffer, from: number, at: number): Promise<number> {
    // The function of promises takes twice as long on this thread.
    return new Promise((resolve, reject) => {
      write(this.#file.fd, bytes, from, bytes.length - from, at, (error, written) => {
        if (error === null) resolve(written);
        else reject(error);
      });
    });
  }
}
