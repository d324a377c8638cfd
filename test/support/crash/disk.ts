/**
 * A disk that forgets: notes what is written below a folder and what of it was forced to the disk, and makes folders as
 * a loss of power at any moment could leave them. What was not forced is there, or not, or in part, each for itself:
 * writes (whole, torn or left out, whatever came later), and names of files and folders. It stands in the place of the
 * functions of `node:fs`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { random } from '../../../bench/workloads/workload.js';

/** A file or folder without its name. */
interface Content {
  readonly isFolder: boolean;
}

type Step =
  | { readonly kind: 'write'; readonly file: Content; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: Content; readonly size: number }
  /** A name in the folder was given or, with null, taken; `from` is one in the same folder that is taken. */
  | {
      readonly kind: 'name';
      readonly folder: Content;
      readonly name: string;
      readonly file: Content | null;
      readonly from?: string;
    }
  /** What was done before the step `until` is on disk. */
  | { readonly kind: 'sync'; readonly file: Content; readonly until: number };

interface Opened {
  readonly file: Content;
  /** Where the next write goes that names no place. */
  at: number;
  readonly isAppending: boolean;
  /** A write returns when it is on disk. */
  readonly isForced: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: functions of all forms are replaced
type Functions = Record<string, (...args: any[]) => any>;

type Written = (error: Error | null, count: number) => void;

const sector = 512;

export class ForgetfulDisk {
  readonly #steps: Step[] = [];
  readonly #root: Content = { isFolder: true };
  readonly #names = new Map<string, Content>();
  readonly #handles = new Map<number, Opened>();
  readonly #undo: (() => void)[] = [];

  /** From now on notes what happens below the folder; what is there is on disk. */
  constructor(readonly root: string) {
    for (const name of fs.readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
      const path = join(root, name);
      const isFolder = fs.statSync(path).isDirectory();
      const file = { isFolder };
      this.#name(path, file);
      if (!isFolder) this.#steps.push({ kind: 'write', file, at: 0, bytes: fs.readFileSync(path) });
    }
    for (const file of [this.#root, ...this.#names.values()]) this.#sync(file, this.now);
    this.#replace(fs as unknown as Functions, this.#plain());
    this.#replace(fs.promises as unknown as Functions, this.#promised());
    syncBuiltinESMExports();
  }

  /** Number of steps so far: a moment at which the power may go. */
  get now(): number {
    return this.#steps.length;
  }

  /** The functions of `node:fs` are what they were. */
  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
    syncBuiltinESMExports();
  }

  /** Makes the folder `to` as the disk may be when the power goes at the moment. */
  crash(moment: number, seed: number, to: string): void {
    const next = random(seed);
    // Hardly anything, about half, nearly all of what was not forced.
    const share = [0, 0.1, 0.5, 0.9, 1][Math.floor(next() * 5)]!;
    const steps = this.#steps.slice(0, moment);
    const contents = new Map<Content, Buffer>();
    const entries = new Map<Content, Map<string, Content>>();
    // What becomes of one name comes to the disk in order.
    const left = new Map<Content, Set<string>>();
    steps.forEach((step, i) => {
      if (step.kind === 'sync') return;
      const isSafe = this.#isSafe(step, i, moment);
      let isDone = isSafe || next() < share;
      if (step.kind === 'name') {
        const names = entries.get(step.folder) ?? new Map<string, Content>();
        entries.set(step.folder, names);
        const behind = left.get(step.folder) ?? new Set<string>();
        left.set(step.folder, behind);
        const both = [step.name, ...(step.from === undefined ? [] : [step.from])];
        isDone &&= isSafe || !both.some((name) => behind.has(name));
        if (!isDone) for (const name of both) behind.add(name);
      }
      if (!isDone) return;
      if (step.kind === 'name') {
        const names = entries.get(step.folder)!;
        if (step.from !== undefined) names.delete(step.from);
        if (step.file === null) names.delete(step.name);
        else names.set(step.name, step.file);
        return;
      }
      const before = contents.get(step.file) ?? Buffer.alloc(0);
      if (step.kind === 'truncate') contents.set(step.file, resized(before, step.size));
      else contents.set(step.file, written(before, step, isSafe ? undefined : next));
    });
    const make = (folder: Content, path: string) => {
      fs.mkdirSync(path, { recursive: true });
      for (const [name, file] of entries.get(folder) ?? []) {
        if (file.isFolder) make(file, join(path, name));
        else fs.writeFileSync(join(path, name), contents.get(file) ?? Buffer.alloc(0));
      }
    };
    make(this.#root, to);
  }

  /** It was forced to the disk before the moment. */
  #isSafe(step: Exclude<Step, { kind: 'sync' }>, i: number, moment: number): boolean {
    for (let at = i + 1; at < moment; at++) {
      const sync = this.#steps[at]!;
      if (sync.kind !== 'sync' || sync.until <= i) continue;
      if ((step.kind === 'name' ? step.folder : step.file) === sync.file) return true;
    }
    return false;
  }

  #isBelow(path: unknown): path is string {
    return typeof path === 'string' && path !== this.root && !relative(this.root, path).startsWith('..');
  }

  #name(path: string, file: Content | null, from?: string): void {
    const above = dirname(path);
    const folder = above === this.root ? this.#root : this.#names.get(above)!;
    if (file === null) this.#names.delete(path);
    else this.#names.set(path, file);
    if (from !== undefined) this.#names.delete(from);
    const source = from === undefined ? {} : { from: basename(from) };
    this.#steps.push({ kind: 'name', folder, name: basename(path), file, ...source });
  }

  #sync(file: Content, until: number): void {
    this.#steps.push({ kind: 'sync', file, until });
  }

  /** The file of that name after it was opened; flags as `open` takes them. */
  #opened(path: string, flags: string | number = 'r'): Opened {
    const { O_CREAT, O_TRUNC, O_APPEND, O_DSYNC } = fs.constants;
    const isOf = (letters: RegExp, bit: number) =>
      typeof flags === 'number' ? (flags & bit) !== 0 : letters.test(flags);
    let file = path === this.root ? this.#root : this.#names.get(path);
    if (file === undefined) {
      file = { isFolder: false };
      if (!isOf(/[wa]/, O_CREAT)) throw new Error(`${path} is not known to the disk`);
      this.#name(path, file);
    } else if (isOf(/w/, O_TRUNC)) this.#steps.push({ kind: 'truncate', file, size: 0 });
    return { file, at: 0, isAppending: isOf(/a/, O_APPEND), isForced: isOf(/s/, O_DSYNC) };
  }

  #write(file: Content, at: number, bytes: Uint8Array): void {
    this.#steps.push({ kind: 'write', file, at, bytes: Buffer.from(bytes) });
  }

  #removed(path: string): void {
    for (const name of [...this.#names.keys()].sort().reverse()) {
      if (name === path || name.startsWith(`${path}/`)) this.#name(name, null);
    }
  }

  #renamed(from: string, to: string): void {
    const file = this.#names.get(from);
    if (file === undefined || file.isFolder || dirname(from) !== dirname(to))
      throw new Error(`the renaming of ${basename(from)} is not foreseen`);
    this.#name(to, file, from);
  }

  #whole(path: string, data: string | Uint8Array): void {
    this.#write(this.#opened(path, 'w').file, 0, typeof data === 'string' ? Buffer.from(data) : data);
  }

  #replace(of: Functions, by: Functions): void {
    for (const [name, call] of Object.entries(by)) {
      const real = of[name]!;
      of[name] = call;
      this.#undo.push(() => {
        of[name] = real;
      });
    }
  }

  /** Those that do their work at once. */
  #plain(): Functions {
    const real = { ...fs };
    const note = (path: unknown, noted: () => void) => {
      if (this.#isBelow(path)) noted();
    };
    return {
      write: (fd: number, bytes: Buffer, from: number, length: number, at: number | null, done: Written) => {
        const handle = this.#handles.get(fd);
        if (handle !== undefined)
          this.#write(handle.file, at ?? real.fstatSync(fd).size, bytes.subarray(from, from + length));
        const until = this.now;
        real.write(fd, bytes, from, length, at, (error, count) => {
          if (handle?.isForced === true && error === null) this.#sync(handle.file, until);
          done(error, count);
        });
      },
      openSync: (path: string, flags?: string, mode?: number) => {
        const fd = real.openSync(path, flags ?? 'r', mode);
        if (this.#isBelow(path) || path === this.root) this.#handles.set(fd, this.#opened(path, flags));
        return fd;
      },
      closeSync: (fd: number) => {
        this.#handles.delete(fd);
        real.closeSync(fd);
      },
      fsyncSync: (fd: number) => {
        const handle = this.#handles.get(fd);
        real.fsyncSync(fd);
        if (handle !== undefined) this.#sync(handle.file, this.now);
      },
      writeFileSync: (path: string | number, data: string | Uint8Array, options?: fs.WriteFileOptions) => {
        const handle = typeof path === 'number' ? this.#handles.get(path) : undefined;
        if (handle !== undefined) this.#write(handle.file, 0, Buffer.from(data as Uint8Array));
        note(path, () => this.#whole(path as string, data));
        real.writeFileSync(path, data, options);
      },
      renameSync: (from: string, to: string) => {
        real.renameSync(from, to);
        note(to, () => this.#renamed(from, to));
      },
      copyFileSync: (from: string, to: string) => {
        real.copyFileSync(from, to);
        note(to, () => this.#whole(to, real.readFileSync(to)));
      },
      rmSync: (path: string, options?: fs.RmOptions) => {
        real.rmSync(path, options);
        note(path, () => this.#removed(path));
      },
      mkdirSync: (path: string, options?: fs.MakeDirectoryOptions) => {
        const made = real.mkdirSync(path, options);
        note(path, () => this.#name(path, { isFolder: true }));
        return made;
      },
    };
  }

  #promised(): Functions {
    const real = { ...fs.promises };
    const note = (path: unknown, noted: () => void) => {
      if (this.#isBelow(path)) noted();
    };
    const removed =
      (call: (path: string, options?: object) => Promise<void>) => async (path: string, options?: object) => {
        await call(path, options);
        note(path, () => this.#removed(path));
      };
    return {
      open: async (path: string, flags?: string | number, mode?: number) => {
        const handle = await real.open(path, flags, mode);
        if (!this.#isBelow(path) && path !== this.root) return handle;
        return this.#watched(handle, this.#opened(path, flags));
      },
      writeFile: async (path: string, data: string | Uint8Array, options?: object) => {
        note(path, () => this.#whole(path, data));
        await real.writeFile(path, data, options);
      },
      rename: async (from: string, to: string) => {
        await real.rename(from, to);
        note(to, () => this.#renamed(from, to));
      },
      rm: removed(real.rm),
      unlink: removed(real.unlink),
      rmdir: removed(real.rmdir),
      mkdir: async (path: string, options?: object) => {
        const made = await real.mkdir(path, options);
        note(path, () => this.#name(path, { isFolder: true }));
        return made;
      },
    };
  }

  #watched(handle: fs.promises.FileHandle, of: Opened) {
    const { file } = of;
    const synced = (call: () => Promise<void>) => async () => {
      const until = this.now;
      await call();
      this.#sync(file, until);
    };
    this.#handles.set(handle.fd, of);
    const own: Functions = {
      close: async () => {
        this.#handles.delete(handle.fd);
        await handle.close();
      },
      write: async (bytes: Buffer, from = 0, length = bytes.length - from, at: number | null = null) => {
        const place = of.isAppending ? (await handle.stat()).size : (at ?? of.at);
        if (at === null) of.at = place + length;
        this.#write(file, place, bytes.subarray(from, from + length));
        const until = this.now;
        const done = await handle.write(bytes, from, length, at);
        if (of.isForced) this.#sync(file, until);
        return done;
      },
      writeFile: async (bytes: Buffer) => {
        this.#write(file, 0, bytes);
        await handle.writeFile(bytes);
      },
      truncate: async (size = 0) => {
        this.#steps.push({ kind: 'truncate', file, size });
        await handle.truncate(size);
      },
      sync: synced(() => handle.sync()),
      datasync: synced(() => handle.datasync()),
    };
    return new Proxy(handle, {
      get: (target, name) => {
        const value = own[name as string] ?? Reflect.get(target, name, target);
        return typeof value === 'function' && own[name as string] === undefined ? value.bind(target) : value;
      },
    });
  }
}

function resized(bytes: Buffer, size: number): Buffer {
  return size <= bytes.length ? bytes.subarray(0, size) : Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
}

/** The file after the write; with `next` only a part of it was done. */
function written(
  before: Buffer,
  { at, bytes }: { at: number; bytes: Buffer },
  next: (() => number) | undefined,
): Buffer {
  const all = resized(before, Math.max(before.length, at + bytes.length));
  const after = Buffer.from(all);
  const how = next === undefined ? 0 : next();
  if (next === undefined || how < 0.5) bytes.copy(after, at);
  else if (how < 0.75) {
    const length = Math.floor(next() * bytes.length);
    bytes.copy(after, at, 0, length);
    return resized(after, Math.max(before.length, at + length));
  } else {
    // Sectors come to the disk in any order.
    for (let from = 0; from < bytes.length; from += sector) {
      if (next() < 0.5) bytes.copy(after, at + from, from, Math.min(bytes.length, from + sector));
    }
  }
  return after;
}
