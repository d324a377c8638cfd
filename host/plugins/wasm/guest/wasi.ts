/**
 * The system interface (WASI preview 1) of a user's module: a machine without network, and without files but those that
 * its archive brings (files/). Without grants its clock moves only when it is read, and random bytes are the same in
 * each run. No call waits, but for those of programs with streams.
 */
import { randomFillSync } from 'node:crypto';
import type { CodeHost, WasiGrants } from '../../define.js';
import { type Signature, signatureOf } from '../binary/types.js';
import { startExport } from '../passes/meter.js';
import { Errno } from './errno.js';
import { FileCalls } from './files/calls.js';
import type { FileTree } from './files/tree.js';
import { type Fuel, fuelOfCall, spend } from './fuel.js';
import { WasiMemory } from './wasi-memory.js';

/** Module of the imports. */
export const wasiModule = 'wasi_snapshot_preview1';

/** The guest that calls the system. */
export interface WasiGuest {
  readonly name: string;
  memory(): WebAssembly.Memory;
  /** Fuel of the call under way. */
  fuel(): Fuel;
}

/** Start functions in order: `_initialize` of a library, `_start` of a program. */
export function startsOf(exports: Readonly<Record<string, unknown>>): string[] {
  const has = (name: string) => typeof exports[name] === 'function';
  return [startExport, has('_initialize') ? '_initialize' : '_start'].filter(has);
}

/** Input and output of a program on a thread of its own, which may wait. */
export interface WasiStreams {
  /** Fills the parts; returns the number of bytes, 0 at the end of the input. */
  read(parts: readonly Uint8Array[]): number;
  /** Takes the output; undefined: lines of it go to the log. */
  readonly write: ((parts: readonly Uint8Array[]) => void) | undefined;
  sleep(ms: number): void;
}

/** What only some guests have. */
export interface WasiParts {
  readonly files?: FileTree | undefined;
  readonly streams?: WasiStreams | undefined;
}

/** Thrown when the guest exits. */
export class WasiExit extends Error {
  constructor(readonly code: number) {
    super(`it has ended itself with exit code ${code}`);
  }
}

const fuelOfByte = 1;
/** Longest line for the log. */
const maxLine = 4096;
/** Most events of a wait. */
const maxEvents = 1024;
const maxRandomBytes = 1 << 20;
const characterDevice = 2;
/** Step of the clock at each read where the guest has no grant, ns. */
const tick = 1000n;

type Call = (...args: never[]) => number;

/** Functions that fail for all arguments. */
const failing = [
  ...['fd_allocate', 'fd_datasync', 'fd_fdstat_set_rights', 'fd_filestat_set_size', 'fd_filestat_set_times'],
  ...['fd_pwrite', 'fd_renumber', 'fd_sync', 'path_create_directory', 'path_filestat_set_times', 'path_link'],
  ...['path_readlink', 'path_remove_directory', 'path_rename', 'path_symlink', 'path_unlink_file'],
  ...['sock_accept', 'sock_recv', 'sock_send', 'sock_shutdown'],
];

/** Functions over files, which fail where there are none. */
const ofFiles: readonly (readonly [name: string, params: string])[] = [
  ['fd_advise', 'illi'],
  ['fd_pread', 'iiili'],
  ['fd_prestat_get', 'ii'],
  ['fd_prestat_dir_name', 'iii'],
  ['fd_readdir', 'iiili'],
  ['fd_tell', 'ii'],
  ['path_filestat_get', 'iiiii'],
  ['path_open', 'iiiiillii'],
];

/** Functions that read their arguments. */
const calls: readonly (readonly [name: string, params: string])[] = [
  ['args_get', 'ii'],
  ['args_sizes_get', 'ii'],
  ['environ_get', 'ii'],
  ['environ_sizes_get', 'ii'],
  ['clock_res_get', 'ii'],
  ['clock_time_get', 'ili'],
  ['random_get', 'ii'],
  ['fd_write', 'iiii'],
  ['fd_read', 'iiii'],
  ['fd_close', 'i'],
  ['fd_seek', 'ilii'],
  ['fd_fdstat_get', 'ii'],
  ['fd_fdstat_set_flags', 'ii'],
  ['fd_filestat_get', 'ii'],
  ['poll_oneoff', 'iiii'],
  ['sched_yield', ''],
];

/** Functions that guests may import; null: one that always fails. */
export const wasiSignatures: ReadonlyMap<string, Signature | null> = new Map<string, Signature | null>([
  ...[...calls, ...ofFiles].map(([name, params]) => [name, signatureOf(params, 'i')] as const),
  ['proc_exit', signatureOf('i')],
  ['proc_raise', signatureOf('i', 'i')],
  ...failing.map((name) => [name, null] as const),
]);

const utf8 = new TextEncoder();

export class Wasi {
  readonly imports: Readonly<Record<string, (...args: never[]) => number>>;
  readonly #args: readonly Uint8Array[];
  readonly #env: readonly Uint8Array[];
  /** Text without an end of line yet, by number of the output. */
  readonly #lines = ['', '', ''];
  readonly #decoders = [new TextDecoder(), new TextDecoder(), new TextDecoder()];
  readonly #memory: WasiMemory;
  #now = 0n;
  #seed = 0x9e3779b9;

  readonly #streams: WasiStreams | undefined;

  constructor(
    private readonly guest: WasiGuest,
    private readonly grants: WasiGrants,
    private readonly host: Pick<CodeHost, 'log'>,
    { files, streams }: WasiParts = {},
  ) {
    this.#streams = streams;
    this.#memory = new WasiMemory(() => guest.memory());
    const memory = this.#memory;
    const texts = (list: readonly string[]) => list.map((text) => utf8.encode(`${text}\0`));
    this.#args = texts([guest.name, ...(grants.args ?? [])]);
    this.#env = texts(Object.entries(grants.env ?? {}).map(([name, value]) => `${name}=${value}`));
    const own: Record<string, Call> = {
      args_sizes_get: (count: number, size: number) => this.#sizes(this.#args, count, size),
      args_get: (list: number, at: number) => this.#texts(this.#args, list, at),
      environ_sizes_get: (count: number, size: number) => this.#sizes(this.#env, count, size),
      environ_get: (list: number, at: number) => this.#texts(this.#env, list, at),
      clock_res_get: (_id: number, at: number) => memory.put64(at, tick),
      clock_time_get: (id: number, _precision: bigint, at: number) => memory.put64(at, this.#time(id)),
      random_get: (at: number, length: number) => this.#random(at, length),
      fd_write: (fd: number, parts: number, count: number, written: number) => this.#write(fd, parts, count, written),
      fd_read: (fd: number, parts: number, count: number, read: number) => this.#read(fd, parts, count, read),
      fd_close: (fd: number) => known(fd),
      fd_seek: (fd: number) => (isKnown(fd) ? Errno.seekPipe : Errno.badFile),
      fd_fdstat_get: (fd: number, at: number) => this.#status(fd, at, 24, 0),
      fd_fdstat_set_flags: (fd: number) => known(fd),
      fd_filestat_get: (fd: number, at: number) => this.#status(fd, at, 64, 16),
      poll_oneoff: (from: number, to: number, count: number, countAt: number) => this.#poll(from, to, count, countAt),
      proc_exit: (code: number) => {
        throw new WasiExit(code);
      },
      proc_raise: (signal: number) => {
        throw new WasiExit(128 + signal);
      },
      sched_yield: () => Errno.ok,
    };
    // No folder is open, so no path is found: programs can handle that.
    for (const name of [...failing, ...ofFiles.map(([name]) => name)])
      own[name] = () => (name.startsWith('path_') ? Errno.noEntry : Errno.badFile);
    if (files !== undefined) {
      const calls = new FileCalls(files, memory, (bytes) => this.#charge(bytes * fuelOfByte));
      Object.assign(own, calls.over(own));
    }
    this.imports = Object.fromEntries(Object.entries(own).map(([name, call]) => [name, this.#guarded(call)]));
  }

  /** Charges a call; an address outside of the memory is an error of the interface. */
  #guarded(call: Call): (...args: never[]) => number {
    return (...args) => {
      this.#charge(fuelOfCall);
      try {
        return call(...args);
      } catch (error) {
        if (error instanceof RangeError) return Errno.fault;
        throw error;
      }
    };
  }

  /** Takes fuel of the call under way. */
  #charge(units: number): void {
    spend(this.guest.fuel(), units);
  }

  #sizes(texts: readonly Uint8Array[], count: number, size: number): number {
    this.#memory.put32(count, texts.length);
    return this.#memory.put32(
      size,
      texts.reduce((sum, { length }) => sum + length, 0),
    );
  }

  #texts(texts: readonly Uint8Array[], list: number, from: number): number {
    let at = from >>> 0;
    texts.forEach((text, i) => {
      this.#memory.put32((list >>> 0) + 4 * i, at);
      this.#memory.bytes(at, text.length).set(text);
      at += text.length;
    });
    return Errno.ok;
  }

  /** Time of a clock: 0 is the time of day, others count from any time on. */
  #time(id: number): bigint {
    if (this.grants.clock === true) return id === 0 ? BigInt(Date.now()) * 1_000_000n : process.hrtime.bigint();
    this.#now += tick;
    return this.#now;
  }

  #random(at: number, length: number): number {
    if (length >>> 0 > maxRandomBytes) return Errno.invalid;
    this.#charge(length * fuelOfByte);
    const bytes = this.#memory.bytes(at, length);
    if (this.grants.random === true) {
      randomFillSync(bytes);
      return Errno.ok;
    }
    for (let i = 0; i < bytes.length; i++) {
      this.#seed ^= this.#seed << 13;
      this.#seed ^= this.#seed >>> 17;
      this.#seed ^= this.#seed << 5;
      bytes[i] = this.#seed;
    }
    return Errno.ok;
  }

  #read(fd: number, partsAt: number, count: number, readAt: number): number {
    if (fd !== 0) return Errno.badFile;
    if (this.#streams === undefined) return this.#memory.put32(readAt, 0);
    const parts = this.#memory.parts(partsAt, count);
    if (parts === undefined) return Errno.invalid;
    return this.#memory.put32(readAt, this.#streams.read(parts));
  }

  /** Brings what is left of the last line to the log. */
  flush(): void {
    for (const line of this.#lines) if (line !== '') this.host.log(line);
    this.#lines.fill('');
  }

  /** Writes lines to the log, or bytes to the output of a program. */
  #write(fd: number, parts: number, count: number, written: number): number {
    if (fd !== 1 && fd !== 2) return Errno.badFile;
    const all = this.#memory.parts(parts, count);
    if (all === undefined) return Errno.invalid;
    const total = all.reduce((sum, { length }) => sum + length, 0);
    const write = fd === 1 ? this.#streams?.write : undefined;
    if (write !== undefined) write(all);
    else {
      for (const bytes of all) {
        this.#charge(bytes.length * fuelOfByte);
        this.#take(fd, bytes);
      }
    }
    return this.#memory.put32(written, total);
  }

  #take(fd: number, bytes: Uint8Array): void {
    const text = (this.#lines[fd] ?? '') + this.#decoders[fd]?.decode(bytes, { stream: true });
    let from = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      this.#charge(fuelOfCall);
      this.host.log(text.slice(from, Math.min(at, from + maxLine)));
      from = at + 1;
    }
    let rest = text.slice(from);
    if (rest.length >= maxLine) {
      this.host.log(rest.slice(0, maxLine));
      rest = '';
    }
    this.#lines[fd] = rest;
  }

  /** Describes inputs and outputs as devices without seek. */
  #status(fd: number, at: number, length: number, typeAt: number): number {
    if (!isKnown(fd)) return Errno.badFile;
    const bytes = this.#memory.bytes(at, length);
    bytes.fill(0);
    bytes[typeAt] = characterDevice;
    // Rights to read and to write, which some libraries check.
    if (typeAt === 0) this.#memory.put64(at + 8, fd === 0 ? 2n : 64n);
    return Errno.ok;
  }

  /**
   * Ends waits for a time at once, and moves a clock without grant to that time; there are no other events. A program
   * with streams sleeps until the first of the times.
   */
  #poll(from: number, to: number, count: number, countAt: number): number {
    if (count === 0 || count >>> 0 > maxEvents) return Errno.invalid;
    let sleep = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const [wanted, event] = [(from >>> 0) + 48 * i, (to >>> 0) + 32 * i];
      const view = this.#memory.view;
      const [user, kind] = [view.getBigUint64(wanted, true), view.getUint8(wanted + 8)];
      if (kind === 0) {
        const [timeout, isAbsolute] = [view.getBigUint64(wanted + 24, true), view.getUint16(wanted + 40, true) & 1];
        const until = isAbsolute === 1 ? timeout : this.#now + timeout;
        if (this.#streams !== undefined) {
          const left = isAbsolute === 1 ? timeout - this.#time(view.getUint32(wanted + 16, true)) : timeout;
          sleep = Math.min(sleep, Number(left) / 1e6);
        }
        if (until > this.#now) this.#now = BigInt.asUintN(63, until);
      }
      this.#memory.bytes(event, 32).fill(0);
      view.setBigUint64(event, user, true);
      view.setUint16(event + 8, kind === 0 ? Errno.ok : Errno.notSupported, true);
      view.setUint8(event + 10, kind);
    }
    if (sleep > 0 && sleep < Number.POSITIVE_INFINITY) this.#streams?.sleep(sleep);
    return this.#memory.put32(countAt, count);
  }
}

function isKnown(fd: number): boolean {
  return fd >= 0 && fd <= 2;
}

function known(fd: number): number {
  return isKnown(fd) ? Errno.ok : Errno.badFile;
}
