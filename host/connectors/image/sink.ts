/** Writes the images of rows one after the other. */
import { reasonOf } from '../../base/errors.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { imageErrors } from './errors.js';
import { ImageFolder, type Keeping } from './folder.js';
import { imageReason } from './format.js';
import { type Column, imagesIn } from './message.js';

export interface ImageSinkConf extends Keeping {
  path: string;
}

/** Pause between two looks for images that are too old, ms. */
const lookMs = 180_000;

interface Waiting {
  readonly bytes: number;
  readonly images: Column[];
}

export class ImageSink implements Sink {
  readonly #folder: ImageFolder;
  readonly #cutter = new MessageCutter();
  readonly #queue: Waiting[] = [];
  #isWriting = false;
  #isOpen = false;
  #timer: NodeJS.Timeout | undefined;
  #waiters: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(
    readonly conf: ImageSinkConf,
    readonly context: SinkContext,
  ) {
    this.#folder = new ImageFolder(context.paths.check(conf.path, 'write'), conf, context.paths);
  }

  get peer(): string {
    return `images ${this.#folder.path}`;
  }

  async open(): Promise<void> {
    try {
      await this.#folder.open();
    } catch (error) {
      const isWrong = ['ENOTDIR', 'EEXIST', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '');
      throw (isWrong ? imageErrors.folder : imageErrors.fails)(reasonOf(error), { cause: error });
    }
    this.#isOpen = true;
    this.#timer ??= setInterval(() => this.#clear(), lookMs);
    this.#timer.unref();
    this.#kick();
  }

  write(chunk: SinkChunk): void {
    this.#cutter.cut(chunk, (message, place) => {
      const bytes = message.length;
      const found = chunk.errors.has(place) ? Buffer.from(message).toString() : this.#imagesOf(message);
      if (typeof found === 'string') this.context.refused(message, bytes, 1, `image sink: ${found}`);
      else this.#queue.push({ bytes, images: found });
    });
    this.#kick();
  }

  /** The images of a message, which is a row or a list of rows; or why it has something else. */
  #imagesOf(message: Uint8Array): Column[] | string {
    const found = imagesIn(Buffer.from(message));
    if (typeof found === 'string') return found;
    for (const { name, bytes } of found) {
      const reason = imageReason(bytes, this.conf.imageFormat);
      if (reason !== undefined) return `column ${name} has no ${this.conf.imageFormat} image: ${reason}`;
    }
    return found;
  }

  flush(): Promise<void> {
    if (this.#queue.length === 0 && !this.#isWriting) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#kick();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#isOpen) await this.flush().catch(() => {});
    this.#queue.length = 0;
    if (this.#isOpen) await this.#folder.clear().catch(() => {});
    this.#isOpen = false;
  }

  #kick(): void {
    if (!this.#isWriting && this.#isOpen && this.#queue.length > 0) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    let reason = '';
    try {
      for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
        // After a failure those that are written already do not come again.
        for (let image = first.images[0]; image !== undefined; image = first.images[0]) {
          await this.#folder.add(image.name, image.bytes);
          first.images.shift();
        }
        this.#queue.shift();
        this.context.accepted(first.bytes, 1);
      }
    } catch (error) {
      reason = reasonOf(error);
    }
    this.#isWriting = false;
    const waiters = this.#waiters.splice(0);
    if (reason === '') for (const { resolve } of waiters) resolve();
    else {
      this.#isOpen = false;
      for (const { reject } of waiters) reject(imageErrors.fails(reason));
      this.context.disconnected(reason, true);
    }
  }

  #clear(): void {
    if (this.#isWriting || !this.#isOpen) return;
    this.#folder.clear().catch((error: unknown) => {
      this.context.log.warn(`image sink: images can't be deleted: ${reasonOf(error)}`);
    });
  }
}
