/**
 * Input log: messages of a source that are not safe with all rules yet, on disk. When the sender waits for
 * acknowledgements they are written here, synced together, and acknowledged. They are removed as soon as each rule has
 * them safe; after a kill the others are replayed before any new input.
 */
import { reasonOf } from '../../../../base/errors.js';
import { Barrier } from '../../acknowledge/barrier.js';
import { sizeText } from '../../observe/size-text.js';
import { groupsOf, type Item, split } from '../../queue/item.js';
import type { PageStore } from '../../queue/page-store.js';
import type { Batch } from '../../queue/store.js';
import { numberIn } from '../places/log-places.js';
import { EarlierInLog, heldFrom, messagesOf } from './earlier.js';
import { FreedIds } from './freed-ids.js';
import { inputCutter } from './input-cutter.js';
import { packetsIn } from './known-messages.js';
import { addPiece, type Entry, type InputLogHost, inputItem, isOver } from './log-host.js';
import { openLog } from './open-log.js';
import { OutMark } from './out-mark.js';
import { LogPace } from './pace.js';
import { ReplayPace } from './replay-pace.js';

/** Bytes in memory beyond which messages are written although nobody waits for them. */
const maxMemoryBytes = 4 * 1024 * 1024;
const pageMessages = 4096;
const pageBytes = 1024 * 1024;
/** Bytes at which the log asks for a checkpoint, and bytes at which it takes no more. */
const largeBytes = 64 * 1024 * 1024;
const maxBytes = 1024 * 1024 * 1024;
const retryMs = 1000;

export class InputLog {
  #store: PageStore | undefined;
  readonly #cutter: ReturnType<typeof inputCutter>;
  /** Entries in the order of arrival; stored ones are first. */
  readonly #entries: Entry[] = [];
  #pendingMessages = 0;
  #pendingBytes = 0;
  readonly #opened: Promise<void>;
  #released: () => void = () => {};
  /** Number behind the last entry. */
  #last = 0;
  readonly #out: OutMark;
  /** Number behind the last message that was replayed. */
  #replayed = 0;
  isReplaying = true;
  readonly #replays = new ReplayPace();
  /** The cutter knows where packets begin. */
  isAligned = false;
  readonly #pace: LogPace;
  readonly #freed = new FreedIds();
  /** Number of messages in the latest input. */
  #came = 0;
  #flushing: Promise<void> | undefined;
  #isAgain = false;
  #hasAsked = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Fault of the log; empty without one. */
  trouble = '';

  constructor(
    readonly folder: string,
    maxMessageBytes: number,
    private readonly host: InputLogHost,
  ) {
    this.#cutter = inputCutter(host.framing, maxMessageBytes);
    this.#out = new OutMark(folder);
    this.#opened = this.#open();
    this.#pace = new LogPace(
      () => host.waiting(),
      () => this.flush(),
    );
  }

  async #open(): Promise<void> {
    const { folder, host } = this;
    const { store, release } = await openLog({
      ...{ folder, host, out: this.#out },
      isClosed: () => this.#isClosed,
      note: (reason) => this.#note(reason),
    });
    this.#store = store;
    this.#released = release;
  }

  #note(reason: string): void {
    const trouble = reason === '' ? '' : `the input log of stream ${this.host.name} ${reason}`;
    if (trouble !== '' && trouble !== this.trouble) this.host.log.warn(trouble);
    this.trouble = trouble;
  }

  /** New input is logged. */
  get isReady(): boolean {
    return !this.isReplaying && this.isAligned;
  }

  /** Number behind all messages so far; undefined while it is not known. */
  get position(): unknown {
    if (this.#store === undefined) return undefined;
    return { log: this.isReplaying ? this.#replayed : this.#store.stored + this.#pendingMessages };
  }

  /**
   * Input that a rule is missing that goes on from the position, while the source runs; undefined when it misses
   * nothing. `missing` is the number of messages that nobody keeps any more, NaN when it is not known.
   */
  earlierFrom(
    position: unknown,
    lost: (messages: number, reason: string) => void,
  ): { earlier: EarlierInLog | undefined; missing: number } {
    const store = this.#store;
    const number = numberIn(position);
    const { log: here } = (this.position ?? {}) as { log?: number };
    if (store === undefined || here === undefined || number === undefined || number > here)
      return { earlier: undefined, missing: Number.NaN };
    const from = Math.min(here, Math.max(number, this.#last - messagesOf(this.#entries)));
    return {
      earlier: from < here ? new EarlierInLog(store, from, this.#entries, lost) : undefined,
      missing: from - number,
    };
  }

  /** Barriers of the input behind the position that must not be forgotten yet. */
  heldFrom(position: unknown): Barrier[] {
    return heldFrom(this.#entries, position);
  }

  /** The log is open, and its content known. */
  get isOpen(): boolean {
    return this.#store !== undefined;
  }

  /** Throws when the position is no place in a log, or none that a rule could go on from. */
  seek(position: unknown): void {
    if (numberIn(position) === undefined || !this.isReplaying) throw new Error('it keeps no place that could be reset');
  }

  /** Replays the messages that an earlier run left; resolves when new input may come. */
  async replay(): Promise<void> {
    await this.#opened;
    const store = this.#store;
    if (store === undefined) return;
    const end = store.stored;
    const { places } = this.host;
    const out = Math.max(store.freed, Math.min(this.#out.number, end));
    const first = places.begin({ freed: store.freed, out, end });
    const from = Math.min(end, first);
    if (from > store.freed) {
      store.skip(from - store.freed);
      store.free(from - store.freed);
    }
    this.#replayed = store.read;
    this.#last = store.read;
    // The cut-off messages are lost unless checkpoints have them.
    const cutOffEnd = end + Math.max(1, store.cutOffMessages);
    if (store.isCutOffWhole && first < cutOffEnd)
      this.host.lost(store.cutOffMessages || undefined, store.cutOff, cutOffEnd);
    if (store.read < end) {
      const count = (end - store.read).toLocaleString('en');
      this.host.log.info(`stream ${this.host.name} takes ${count} messages of its input log again`);
    }
    while (store.read < end && !this.#isClosed) await this.#replayNext(store);
    if (this.#isClosed) return;
    // Messages of a checkpoint that were never stored have numbers, too.
    const gap = Math.max(store.stored, places.last) - store.stored;
    if (gap > 0 && this.#entries.length === 0) {
      store.pass(gap);
      this.#last += gap;
    } else if (gap > 0) await this.#fill(store, gap);
    if (this.#isClosed) return;
    places.reached(Number.POSITIVE_INFINITY);
    this.isReplaying = false;
    this.advance();
  }

  /** Uses up numbers by messages of no bytes, before new messages could get them. */
  async #fill(store: PageStore, messages: number): Promise<void> {
    const item = inputItem(Buffer.alloc(0), new Uint32Array(messages));
    while (!this.#isClosed) {
      try {
        await store.append([[item]]);
        this.#note('');
        store.skip(messages);
        this.#push(this.#entries.at(-1)!.barrier, messages, undefined);
        return;
      } catch (error) {
        this.#note(`can't be written: ${reasonOf(error)}`);
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  async #replayNext(store: PageStore): Promise<void> {
    const before = store.read;
    let batch: Batch | undefined;
    try {
      batch = await store.next();
      this.#note('');
    } catch (error) {
      // The disk may be readable later; new messages must not come before these.
      this.#note(`can't be read: ${reasonOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    if (batch === undefined) return;
    if (batch.lost > 0) {
      this.host.lost(batch.lost, batch.reason, before + batch.lost);
      this.#replayed = before + batch.lost;
      this.#passOver(store, batch.lost);
    }
    for (const item of batch.items) {
      // An item is split, since a rule may go on from its middle, and it may be long.
      for (let rest: Item | undefined = item; rest !== undefined; ) {
        const left = Math.min(this.host.places.next - this.#replayed, this.#replays.most);
        const [piece, lag]: [Item, Item?] = left < rest.messages ? split(rest, left) : [rest];
        await this.#replayPiece(store, piece);
        if (this.#isClosed) return;
        rest = lag;
      }
    }
  }

  /** Passes over messages that make no input: they go with those before. */
  #passOver(store: PageStore, messages: number): void {
    const passed = this.#entries.at(-1)?.barrier;
    if (passed === undefined) {
      store.free(messages);
      this.#last += messages;
    } else this.#push(passed, messages, undefined);
    this.host.places.reached(this.#replayed);
  }

  async #replayPiece(store: PageStore, item: Item): Promise<void> {
    await this.#replays.takeBreak();
    await this.host.ready();
    if (this.#isClosed) return;
    const packets = packetsIn(item);
    this.#replayed += item.messages;
    // Records alone are no input.
    if (packets.length === 0) {
      this.#passOver(store, item.messages);
      return;
    }
    this.#underWay = item.messages;
    this.#replays.work(item.messages, () => this.host.replay(packets));
    await this.host.whenTaken();
    if (!this.#isClosed) this.host.places.reached(this.#replayed);
  }

  #push(barrier: Barrier, messages: number, item: Item | undefined): void {
    this.#last += messages;
    this.#entries.push({ barrier, messages, end: this.#last, item, isWriting: false });
  }

  /** Number of replayed messages that the kernel works on. */
  #underWay = 0;

  /**
   * Takes bytes of the connection; to be called before the kernel gets them. The kernel may hold a part of a packet
   * already.
   */
  cut(bytes: Uint8Array, isUnread: () => boolean): void {
    if (!this.isAligned && !this.isReplaying && !isUnread()) this.align();
    if (this.isAligned) this.#cutter.add(bytes);
  }

  /** Packets begin with the next bytes. */
  align(): void {
    this.#cutter.reset();
    this.isAligned = true;
  }

  /** Takes input that the kernel has processed. */
  add(barrier: Barrier): void {
    if (this.isReplaying) {
      const messages = this.#underWay;
      this.#underWay = 0;
      const last = this.#entries.at(-1);
      if (messages > 0) this.#push(barrier, messages, undefined);
      else if (last !== undefined) addPiece(last, barrier);
      return;
    }
    const { messages } = barrier;
    this.#came = messages;
    if (messages === 0 || !this.isReady) return;
    const cut = this.#cutter.take(messages);
    if (cut === undefined) {
      // The input then waits for a checkpoint.
      this.isAligned = false;
      return;
    }
    this.#add(barrier, messages, cut);
    if (this.#pendingBytes > maxMemoryBytes) this.flush();
  }

  #add(barrier: Barrier, messages: number, cut: { readonly bytes: Buffer; readonly ends: Uint32Array }): void {
    const { known } = this.host;
    const item = inputItem(cut.bytes, cut.ends, known?.remark);
    barrier.needsLog = known !== undefined && barrier.goesToLog;
    this.#push(barrier, messages, item);
    this.#pendingMessages += messages;
    this.#pendingBytes += cut.bytes.length;
    if (this.#store !== undefined) known?.at(this.#store.stored + this.#pendingMessages);
  }

  /**
   * Writes a message of no bytes when the broker has begun a new session, which says that stored ids mean nothing any
   * more.
   */
  forgotten(): void {
    const { known } = this.host;
    if (known === undefined || !this.isReady || this.#store === undefined || this.#store.diskBytes === 0) return;
    this.#addMark(Buffer.alloc(0));
    this.flush();
  }

  /** Adds an entry with a number of its own that is no message. */
  #addMark(bytes: Buffer): Entry {
    const done = new Barrier({ keepsLost: false, advance: () => {} }, Date.now(), true);
    done.left = 0;
    this.host.known?.numbered();
    this.#add(done, 1, { bytes, ends: Uint32Array.of(bytes.length) });
    return this.#entries.at(-1)!;
  }

  /**
   * Notes that the broker has freed a packet id; calls back when that is on disk, if the disk has anything of the id.
   */
  freed(id: number, kept: () => void): void {
    if (this.isReplaying || this.#store === undefined) {
      kept();
      return;
    }
    const isFirst = this.#freed.isEmpty;
    this.#freed.add(id, kept);
    // Many ids come together, and need one write.
    if (isFirst) queueMicrotask(() => !this.#isClosed && this.flush());
  }

  #addFreed(): void {
    if (this.#freed.isEmpty) return;
    const { bytes, kept } = this.#freed.take();
    Object.assign(this.#addMark(bytes), { kept, isRecord: true });
  }

  /** To be called when added messages count among those that wait. */
  worked(): void {
    this.#pace.worked(this.#came);
  }

  /** Writes messages in memory to disk, since the sender waits. */
  flush(): void {
    if (this.#flushing !== undefined) {
      this.#isAgain = true;
      return;
    }
    this.#addFreed();
    const store = this.#store;
    const isFull = store !== undefined && store.diskBytes > maxBytes;
    const entries = this.#next(isFull);
    if (isFull) this.#note(`is full, ${sizeText(store.diskBytes)}: no checkpoint makes it shorter`);
    if (store === undefined || entries.length === 0 || this.#isClosed) {
      this.host.requestCheckpoint();
      return;
    }
    this.#flushing = this.#write(store, entries).finally(() => {
      this.#flushing = undefined;
      this.advance();
      if (!this.#isAgain) return;
      this.#isAgain = false;
      if (!this.#freed.isEmpty || this.#entries.some(({ item }) => item !== undefined)) this.flush();
    });
  }

  /** @param isFull records alone */
  #next(isFull: boolean): Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    for (const entry of this.#entries) {
      if (entry.item === undefined) continue;
      if (isFull && entry.isRecord !== true) break;
      if (bytes > maxMemoryBytes) {
        this.#isAgain = true;
        break;
      }
      entries.push(entry);
      bytes += entry.item.bytes.length;
    }
    return entries;
  }

  async #write(store: PageStore, entries: readonly Entry[]): Promise<void> {
    const items = entries.map(({ item }) => item!);
    for (const entry of entries) entry.isWriting = true;
    try {
      await store.append(groupsOf(items, pageMessages, pageBytes));
      for (const entry of entries) {
        this.#stored(entry);
        store.skip(entry.messages);
        entry.barrier.isLogged = true;
        entry.kept?.();
      }
      if (store.diskBytes <= maxBytes) this.#note('');
      this.#pace.written();
      this.host.logged();
      this.#askForCheckpoint(store);
    } catch (error) {
      this.#note(`can't be written: ${reasonOf(error)}`);
      this.host.requestCheckpoint();
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        if (!this.#isClosed) this.flush();
      }, retryMs).unref();
    } finally {
      for (const entry of entries) entry.isWriting = false;
    }
  }

  #stored(entry: Entry): void {
    this.#pendingMessages -= entry.messages;
    this.#pendingBytes -= entry.item?.bytes.length ?? 0;
    entry.item = undefined;
  }

  /** The checkpoint that makes a large log shorter need not wait for its time. */
  #askForCheckpoint({ diskBytes }: PageStore): void {
    if (diskBytes > largeBytes && !this.#hasAsked) this.host.requestCheckpoint();
    this.#hasAsked = diskBytes > largeBytes;
  }

  /** Removes messages that are safe elsewhere. */
  advance(): void {
    const store = this.#store;
    if (store === undefined || this.isReplaying) return;
    for (let first = this.#entries[0]; first && isOver(first) && !first.isWriting; first = this.#entries[0]) {
      if (first.item !== undefined && first.barrier.needsLog) {
        this.#record();
        break;
      }
      this.#out.note(this.#entries);
      this.#entries.shift();
      this.#out.shifted();
      if (first.item === undefined) store.free(first.messages);
      else {
        this.#stored(first);
        store.pass(first.messages);
      }
    }
    this.#out.note(this.#entries);
    this.host.known?.settle(store);
  }

  /** Stores records of messages that are safe and were never stored, before they are acknowledged. */
  #record(): void {
    const { known } = this.host;
    for (const entry of this.#entries) {
      if (entry.barrier.left > 0 || entry.isWriting) break;
      if (entry.item === undefined || entry.isRecord === true || known === undefined) continue;
      this.#pendingBytes -= entry.item.bytes.length;
      entry.item = known.recordsOf(entry.item);
      this.#pendingBytes += entry.item.bytes.length;
      entry.isRecord = true;
    }
    if (this.#flushing === undefined && this.#retry === undefined) this.flush();
    else if (this.#flushing !== undefined) this.#isAgain = true;
  }

  /**
   * Resolves when messages up to the position of a checkpoint are in the log, or safe for all rules: otherwise its rule
   * would get those again that the sender brings after a kill. Does not wait for a disk that takes nothing.
   */
  async storedUpTo(position: unknown): Promise<void> {
    const store = this.#store;
    const number = numberIn(position) ?? 0;
    while (
      store !== undefined &&
      !this.isReplaying &&
      !this.#isClosed &&
      store.stored < number &&
      this.trouble === ''
    ) {
      this.flush();
      if (this.#flushing === undefined) return;
      await this.#flushing;
    }
  }

  /** Closes the log; messages that are not safe elsewhere stay on disk. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#pace.close();
    await this.#opened;
    await this.#flushing;
    await this.#store?.close();
    await this.#out.close();
    this.#released();
  }
}
