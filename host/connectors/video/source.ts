/** Images that ffmpeg takes from a video: the program is watched, and ends with the source. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { maskAddresses } from '../../base/fields/secret-fields.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { argumentsOf, type VideoInput } from './arguments.js';
import { videoErrors } from './errors.js';
import { ImageSplitter } from './image-splitter.js';
import { videoFile } from './input.js';

type Program = ChildProcessByStdio<null, Readable, Readable>;

/** Longest time without an image, ms, besides the interval of images: the program hangs. */
const silentMs = 30_000;
/** A program that ends so soon after its start has a wrong input, ms. */
const soonMs = 2000;
/** Pause before the video is read again from its begin, ms. */
const againMs = 1000;
const mostLine = 500;

export class VideoSource implements Source {
  readonly #meta: Buffer;
  #program: Program | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;
  #stop: () => void = () => {};
  /** Resolves when the source is closed. */
  readonly #closed: Promise<void>;
  /** What the program has said last. */
  #said = '';

  constructor(
    readonly conf: VideoInput,
    readonly context: SourceContext,
  ) {
    this.#meta = Buffer.from(JSON.stringify({ url: maskAddresses(conf.url) }));
    this.#closed = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  /** Starts the program; resolves with its first image, or when it has run for a moment. */
  async open(): Promise<void> {
    const file = videoFile(this.conf.url);
    const path = file === undefined ? undefined : this.context.paths.check(file, 'read');
    const first = signal();
    const began = performance.now();
    const program = await this.#start(argumentsOf(this.conf, path));
    let isOpen = false;
    const running = this.#read(program, () => first.resolve()).then(
      () => this.#again(path),
      (error: unknown) => {
        if (!isOpen) throw this.#failure(error, began);
        this.#lost(error);
      },
    );
    await Promise.race([first.promise, running, pause(soonMs, this.#closed)]);
    isOpen = true;
    this.#running = running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    this.#program?.kill('SIGKILL');
    await this.#running?.catch(() => {});
  }

  async #start(args: readonly string[]): Promise<Program> {
    const { PATH = '' } = process.env;
    // Other variables have it write reports.
    const program = spawn('ffmpeg', args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH }, cwd: '/' });
    try {
      await once(program, 'spawn');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw videoErrors.noProgram();
      throw videoErrors.program(reasonOf(error), { cause: error });
    }
    this.#program = program;
    if (this.#isClosed) program.kill('SIGKILL');
    return program;
  }

  /** Takes the images of the program to its end; throws the reason when that was a failure. */
  async #read(program: Program, came: () => void): Promise<void> {
    const exit = once(program, 'close') as Promise<[code: number | null]>;
    this.#listen(program.stderr);
    let reason = '';
    const watch = new Watch(silentMs + this.conf.interval, (ms) => {
      reason = `it has brought no image for ${Math.round(ms / 1000)} s`;
      program.kill('SIGKILL');
    });
    try {
      await this.#pass(
        program.stdout,
        () => {
          watch.seen();
          came();
        },
        watch,
      );
    } catch (error) {
      reason = reasonOf(error);
    } finally {
      watch.close();
      program.kill('SIGKILL');
    }
    const [code] = await exit;
    this.#program = undefined;
    if (this.#isClosed) return;
    if (reason !== '') throw new Error(reason);
    if (code !== 0) throw new Error(this.#said === '' ? `it has ended with ${code ?? 'a signal'}` : this.#said);
  }

  async #pass(output: Readable, came: () => void, watch: Watch): Promise<void> {
    const { context } = this;
    const splitter = new ImageSplitter(this.conf.codec);
    const frames = new FrameBuffer();
    for await (const chunk of output) {
      for (const image of splitter.add(chunk as Buffer)) {
        if (this.#isClosed) return;
        frames.add(image, this.#meta);
        const isWanted = context.write(frames.bytes);
        frames.clear();
        came();
        if (isWanted) continue;
        // The program waits as well, since nobody reads what it writes.
        watch.pause();
        await Promise.race([context.ready(), this.#closed]);
        watch.seen();
      }
    }
  }

  #listen(errors: Readable): void {
    this.#said = '';
    let line = '';
    errors.setEncoding('utf8');
    errors.on('data', (text: string) => {
      const lines = (line + text).split(/[\r\n]+/);
      line = (lines.pop() ?? '').slice(0, mostLine);
      for (const one of [...lines, line]) {
        const said = maskAddresses(one.trim()).slice(0, mostLine);
        if (said === '') continue;
        this.#said = said;
        if (this.conf.debugResp && one !== line) this.context.log.info(`ffmpeg: ${said}`);
      }
    });
  }

  /** Reads the video again from its begin, as often as it ends. */
  async #again(path: string | undefined): Promise<void> {
    try {
      while (!this.#isClosed) {
        await pause(againMs, this.#closed);
        if (this.#isClosed) return;
        await this.#read(await this.#start(argumentsOf(this.conf, path)), () => {});
      }
    } catch (error) {
      this.#lost(error);
    }
  }

  #lost(error: unknown): void {
    if (!this.#isClosed) this.context.disconnected(`ffmpeg: ${reasonOf(error)}`);
  }

  /** A wrong option is not tried again, all else is. */
  #failure(error: unknown, began: number): HaumeaError {
    if (error instanceof HaumeaError) return error;
    const reason = reasonOf(error);
    const isWrong = performance.now() - began < soonMs && /Option .*not found|Invalid argument/.test(reason);
    return (isWrong ? videoErrors.input : videoErrors.ended)(reason, { cause: error });
  }
}

/** Ends a program that is silent for too long. */
class Watch {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly ms: number,
    private readonly end: (ms: number) => void,
  ) {
    this.seen();
  }

  seen(): void {
    if (this.#timer !== undefined) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.end(this.ms), this.ms);
  }

  pause(): void {
    this.close();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

async function pause(ms: number, end: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    end,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    }),
  ]);
  clearTimeout(timer);
}
