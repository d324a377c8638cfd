/**
 * Messages on their way to a sink, in order: those in flight, those on disk, then those in memory alone. Messages that
 * wait for more than a moment are written to disk, even when in flight: then they are safe, and their sender need not
 * wait.
 */
import { noteLatency } from '../../../../../kernels/values/histogram.js';
import { reasonOf } from '../../../../base/errors.js';
import { DiskTrouble } from '../../queue/disk-trouble.js';
import { FreeSpace } from '../../queue/free-space.js';
import { freeFile, isFullDisk } from '../../queue/full-disk.js';
import { groupsOf, type Item, messagesOf, split } from '../../queue/item.js';
import type { Store } from '../../queue/store.js';
import type { Flight } from './flight.js';
import { openStore } from './open-store.js';
import type { CacheCounts, CacheTimes, SpillOptions, SpillOwner } from './spill-options.js';
import { Unstored } from './unstored.js';

/**
 * Time after which waiting messages are written to disk, ms: the first when the sink is away or a source waits for
 * them, otherwise the second.
 */
const momentMs = 100;
const patienceMs = 1000;
/** Time of a write after which the disk counts as stuck, ms. */
const stuckMs = 3000;
const maxPageBytes = 1024 * 1024;
/** Bytes of one write, roughly. */
const maxWriteBytes = 4 * 1024 * 1024;
export class SpillQueue {
  #store: Store | undefined;
  /** Messages that are not on disk. */
  readonly #memory = new Unstored();
  /** Messages that were read from disk. */
  readonly #ready: Item[] = [];
  #readyMessages = 0;
  /** Messages in flight, in order. */
  readonly #flight: Flight[] = [];
  #flightMessages = 0;
  /** Messages that only the sink has, since the disk had no more room. */
  #releasedMessages = 0;
  readonly #space: FreeSpace | undefined;
  #loading: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  /** Another flush is to follow the one under way. */
  #isWanted = false;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  readonly #disk: DiskTrouble;
  #isAwaited = false;
  /** The queue could not be opened. */
  #isShut = false;
  /** Begin of the write under way; Infinity without one. */
  #writingSince = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(
    readonly options: SpillOptions,
    readonly owner: SpillOwner,
    readonly counts: CacheCounts,
    readonly times: CacheTimes | undefined,
  ) {
    const { folder, minFreeBytes } = options;
    this.#disk = new DiskTrouble(owner, () => {
      this.hurry();
      owner.ready();
    });
    if (folder !== undefined && minFreeBytes > 0) this.#space = new FreeSpace(folder, minFreeBytes);
  }

  /** Opens the store; returns the number of messages that an earlier run left. Rejects when the disk can't be read. */
  async open(): Promise<number> {
    let store: Store;
    try {
      store = await openStore(this.options);
    } catch (error) {
      this.#isShut = true;
      this.#doWithoutDisk();
      throw error;
    }
    this.#isShut = false;
    if (store.cutOff !== '') this.owner.warn(store.cutOff);
    this.counts.cutOff += store.cutOffMessages;
    if (store.isCutOffWhole) this.owner.damaged(store.cutOffMessages || undefined, store.cutOff);
    this.#store = store;
    return store.length;
  }

  /** Messages that the sink has not sent yet. */
  get length(): number {
    const { unread = 0 } = this.#store ?? {};
    return unread + this.#readyMessages + this.#memory.waitingMessages + this.#flightMessages;
  }

  /** Messages wait that the sink has not got. */
  get hasWaiting(): boolean {
    return this.waitingSpilled > 0 || this.#memory.waitingMessages > 0;
  }

  /** Messages that were spilled and that the sink has not got. */
  get waitingSpilled(): number {
    return (this.#store?.unread ?? 0) + this.#readyMessages;
  }

  /** Messages on disk that the sink has not sent yet. */
  get onDisk(): number {
    return this.#isVolatile ? 0 : (this.#store?.length ?? 0);
  }

  get #mayDrop(): boolean {
    return this.options.whenFull === 'drop oldest';
  }

  get #isVolatile(): boolean {
    return this.options.folder === undefined;
  }

  /** Messages that a kill of the process would lose. */
  get unsafe(): number {
    return this.#isVolatile ? this.length : this.#memory.messages + this.#releasedMessages;
  }

  get diskBytes(): number {
    return this.#store?.diskBytes ?? 0;
  }

  /** Reason why the queue takes no more; empty while it does. */
  get trouble(): string {
    if (this.#disk.text !== '') return this.#disk.text;
    if (!this.#disk.isFull) return '';
    const space = this.#space?.isShort === true ? `, less than ${this.options.minFreeBytes} bytes are free there` : '';
    return `is full, ${this.onDisk.toLocaleString('en')} messages on disk${space}`;
  }

  /**
   * To be called when somebody waits until all messages are safe: they are written at once unless they will be sent
   * soon.
   */
  awaited(): void {
    if (this.#memory.messages === 0) return;
    if (this.owner.isAway || this.hasOlder) this.hurry();
    else this.#isAwaited = true;
  }

  /** Messages wait that are older than those that just came. */
  get hasOlder(): boolean {
    if (this.#store === undefined || this.#store.length > 0) return true;
    const { first } = this.#memory;
    return first !== undefined && performance.now() - first.since >= momentMs;
  }

  add(item: Item): void {
    this.#memory.add(item);
    this.#timer ??= setTimeout(() => this.#look(), momentMs).unref();
  }

  /** Begins to write when more waits in memory than may. */
  settleMemory(): void {
    const { memoryMessages, memoryBytes } = this.options;
    if (this.#memory.waitingMessages > memoryMessages || this.#memory.waitingBytes > memoryBytes) this.hurry();
    if (this.#takesNothing) this.#doWithoutDisk();
  }

  /** Writes what is in memory as soon as this turn of the event loop ends. */
  hurry(): void {
    if (this.#isClosed) return;
    if (this.#flushing !== undefined) this.#isWanted = true;
    else this.#soon ??= setImmediate(() => void this.#flush());
  }

  /** Writes messages that have waited long enough. */
  #look(): void {
    this.#timer = undefined;
    const { first } = this.#memory;
    if (first === undefined) this.#isAwaited = false;
    if (first === undefined || this.#isClosed) return;
    if (performance.now() - this.#writingSince >= stuckMs) this.#noteStuck();
    const longest = this.owner.isAway || this.#isAwaited ? momentMs : patienceMs;
    if (performance.now() - first.since >= longest - 1) this.hurry();
    this.#timer = setTimeout(() => this.#look(), momentMs).unref();
  }

  /** The next message; undefined without one, or while it has to be read or written first. */
  peek(): Item | undefined {
    if (this.#store === undefined) return undefined;
    if (this.#ready.length > 0) return this.#ready[0];
    if (this.#store.unread > 0) {
      this.#load();
      return undefined;
    }
    return this.#memory.next;
  }

  /** Takes what `peek` showed, or its first messages: the sink gets it now. */
  take(most = Number.POSITIVE_INFINITY): Item {
    const next = this.#ready[0] ?? this.#memory.next;
    if (next === undefined) throw new Error('there is nothing to take');
    if (next.messages > most) this.#part(next, most);
    const item = this.#takeReady();
    if (item !== undefined) {
      this.#fly({ left: item.messages, item: undefined, isStored: true, isDropped: false });
      return item;
    }
    const flight = this.#memory.hand();
    const taken = flight.item!;
    this.#fly(flight);
    return taken;
  }

  #takeReady(): Item | undefined {
    const item = this.#ready.shift();
    if (item === undefined) return undefined;
    this.#readyMessages -= item.messages;
    // The next messages are read before these are sent.
    if (this.#ready.length === 0 && this.#store!.unread > 0) this.#load();
    return item;
  }

  /** Splits the first item in two. */
  #part(item: Item, messages: number): void {
    if (this.#ready.length > 0) this.#ready.splice(0, 1, ...split(item, messages));
    else this.#memory.part(this.#memory.inFlight, item, messages);
  }

  #fly(flight: Flight): void {
    this.#flight.push(flight);
    this.#flightMessages += flight.left;
    this.#settle();
  }

  /** Counts messages that were sent, the oldest ones in flight. */
  out(messages: number): void {
    for (let left = messages; left > 0 && this.#flight.length > 0; ) {
      const first = this.#flight[0]!;
      const part = Math.min(left, first.left);
      left -= part;
      this.#leave(first, part);
      this.#settle();
    }
    if (this.#disk.isFull) this.hurry();
  }

  #leave(flight: Flight, messages: number): void {
    flight.left -= messages;
    this.#flightMessages -= messages;
    if (flight.isStored) {
      if (!flight.isDropped) this.counts.popped += messages;
      if (flight.isReleased === true) this.#releasedMessages -= messages;
      else this.#store?.free(messages);
    } else this.#memory.leave(messages);
  }

  /** Forgets messages that were sent. */
  #settle(): void {
    for (let first = this.#flight[0]; first !== undefined; first = this.#flight[0]) {
      if (first.isDropped) this.#leave(first, first.left);
      if (first.left > 0) return;
      this.#flight.shift();
      if (first.isStored || first.item === undefined) continue;
      this.#memory.shift(first.item);
      this.#tellSafe(first.item);
    }
  }

  #tellSafe({ ticket }: Item): void {
    if (ticket !== undefined && --ticket.parts === 0) this.owner.safe();
  }

  // Disk

  async #flush(): Promise<void> {
    this.#soon = undefined;
    if (this.#flushing !== undefined) {
      this.#isWanted = true;
      return this.#flushing;
    }
    const isEmpty = this.#memory.flights.length === 0;
    if (isEmpty) this.#disk.noteFull(false, this);
    if (this.#store === undefined || isEmpty || this.#disk.isResting) return undefined;
    this.#isWanted = false;
    this.#flushing = this.#write(this.#store).finally(() => {
      this.#flushing = undefined;
      if (this.#isWanted) this.hurry();
      this.owner.ready();
    });
    return this.#flushing;
  }

  async #write(store: Store): Promise<void> {
    try {
      await this.#space?.look();
      if (this.#mayDrop) await this.#makeRoom();
      const memory = this.#memory;
      const room = this.options.maxMessages - store.unread - this.#readyMessages;
      const flights = memory.fitting(room, Math.min(maxWriteBytes, this.#room));
      this.#disk.noteFull(flights.length === 0 && memory.flights.length > 0, this);
      if (flights.length === 0) return this.#doWithoutDisk();
      // Between here and the call of append nothing else runs.
      const items = flights.map(({ item }) => item!);
      const inFlight = flights.slice(0, memory.inFlight);
      const given = messagesOf(inFlight.map(({ item }) => item!));
      const out = given - inFlight.reduce((total, { left }) => total + left, 0);
      memory.frozen = flights.length;
      memory.outWhileFrozen = 0;
      const began = performance.now();
      this.#writingSince = began;
      await store.append(groupsOf(items, this.options.pageMessages, maxPageBytes));
      if (this.times !== undefined) noteLatency(this.times.flush, (performance.now() - began) * 1000);
      this.counts.flushes++;
      this.counts.added += messagesOf(items);
      store.skip(given);
      store.free(out + memory.outWhileFrozen);
      memory.stored((item) => this.#tellSafe(item));
      this.#disk.noteWriting('');
      this.owner.spilled();
      if (memory.flights.length > 0 && this.hasOlder) this.#isWanted = true;
    } catch (error) {
      this.#memory.frozen = 0;
      if (this.#mayDrop && isFullDisk(error) && (await freeFile(store, () => this.#dropNext()))) {
        this.#isWanted = true;
        return;
      }
      this.#disk.noteWriting(reasonOf(error));
      this.#doWithoutDisk();
    } finally {
      this.#memory.frozen = 0;
      this.#writingSince = Number.POSITIVE_INFINITY;
    }
  }

  /** Drops the oldest pages until there is room for what is in memory. */
  async #makeRoom(): Promise<void> {
    const { maxMessages, pageMessages } = this.options;
    const wanted = Math.min(maxMessages, Math.max(pageMessages, this.#memory.messages));
    while (this.waitingSpilled > 0 && (maxMessages - this.waitingSpilled < wanted || this.#isTooLarge)) {
      if (!(await this.#dropNext())) throw new Error(this.#disk.reading);
    }
  }

  /** Drops the oldest page on disk; false when there is none. */
  async #dropNext(): Promise<boolean> {
    const before = this.waitingSpilled;
    if (this.#ready.length === 0) this.#load();
    await this.#loading;
    this.#dropPage();
    return this.waitingSpilled < before;
  }

  get #isTooLarge(): boolean {
    if (this.#room < Math.min(this.#memory.bytes, maxWriteBytes, this.options.maxDiskBytes / 4)) return true;
    const ready = this.#ready.reduce((total, { bytes }) => total + bytes.length, 0);
    return (this.#store?.unreadBytes ?? 0) + ready + this.#memory.bytes > this.options.maxBytes;
  }

  /** Bytes that may be written. */
  get #room(): number {
    return Math.min(this.options.maxDiskBytes - this.diskBytes, this.#space?.bytes ?? Number.POSITIVE_INFINITY);
  }

  #dropPage(): void {
    let dropped = 0;
    while (dropped < this.options.pageMessages) {
      const item = this.#takeReady();
      if (item === undefined) break;
      dropped += item.messages;
    }
    if (dropped === 0) return;
    this.#release();
    this.#store?.free(dropped);
    this.counts.dropped += dropped;
    const what = this.#isVolatile ? 'bufferLength is reached: the' : 'the cache is full: its';
    this.owner.lost(dropped, `${what} oldest messages were dropped`);
  }

  #noteStuck(): void {
    this.#disk.noteWriting(`the disk has not answered for ${stuckMs / 1000} s`);
    this.#doWithoutDisk();
  }

  /** The disk has refused the last write. */
  get #takesNothing(): boolean {
    return this.#isShut || this.#disk.writing !== '' || this.#disk.isFull;
  }

  /**
   * Counts messages in memory as safe while the disk takes nothing, where the oldest may be dropped. Those beyond the
   * bound are dropped, so that nobody waits for the disk.
   */
  #doWithoutDisk(): void {
    if (!this.#mayDrop || this.#isVolatile) return;
    this.#memory.release((item) => this.#tellSafe(item));
    const dropped = this.#memory.drop(this.options.keptBytes);
    if (dropped === 0) return;
    this.counts.dropped += dropped;
    this.owner.lost(dropped, `${this.owner.trouble}: the oldest messages in memory were dropped`);
  }

  /** Releases files of messages in flight, which may be stuck in the sink, when no other messages need those files. */
  #release(): void {
    for (const flight of this.#flight) {
      if (!flight.isStored || flight.isReleased === true || flight.isDropped) continue;
      flight.isReleased = true;
      this.#releasedMessages += flight.left;
      this.#store?.free(flight.left);
    }
  }

  #load(): void {
    const store = this.#store;
    if (store === undefined || this.#isClosed || this.#disk.isResting) return;
    this.#loading ??= this.#read(store).finally(() => {
      this.#loading = undefined;
      this.owner.ready();
    });
  }

  async #read(store: Store): Promise<void> {
    try {
      const began = performance.now();
      const batch = await store.next();
      if (this.times !== undefined) noteLatency(this.times.load, (performance.now() - began) * 1000);
      this.counts.loads++;
      this.#disk.noteReading('');
      if (batch === undefined) return;
      if (batch.lost > 0) {
        this.counts.damaged += batch.lost;
        this.owner.warn(`${batch.reason}: ${batch.lost.toLocaleString('en')} messages in it are lost`);
        this.owner.lost(batch.lost, batch.reason);
        this.owner.damaged(batch.lost, batch.reason);
        this.#fly({ left: batch.lost, item: undefined, isStored: true, isDropped: true });
      }
      this.#ready.push(...batch.items);
      this.#readyMessages += messagesOf(batch.items);
    } catch (error) {
      this.#disk.noteReading(reasonOf(error));
    }
  }

  /** Writes all that is in memory; rejects with the reason when that can't be. */
  async keep(): Promise<void> {
    while (this.#memory.flights.length > 0) {
      if (this.#store === undefined) throw new Error('the cache could not be opened');
      this.#disk.hurry();
      await this.#flush();
      if (this.#disk.writing !== '' || this.#disk.isFull) throw new Error(`the cache ${this.trouble}`);
    }
  }

  /** Closes the files; messages in memory alone are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#disk.close();
    clearImmediate(this.#soon);
    await this.#flushing;
    await this.#loading;
    await this.#store?.close();
  }

  /** Closes the queue and deletes its files. */
  async remove(): Promise<void> {
    await this.close();
    await this.#store?.remove();
  }
}
