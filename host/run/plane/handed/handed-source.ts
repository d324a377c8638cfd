/**
 * A stream that another data plane reads, as rules here read it: its input comes in blocks, and goes through framing
 * and decoder as if it were read here. A block is given back when the kernel has had it, and one with messages that are
 * to be acknowledged when all that came of them is out.
 */
import type { Kernel, StreamHandle } from '../../../../kernels/api.js';
import { setInput } from '../../../../kernels/streams/copy.js';
import { HaumeaError } from '../../../base/errors.js';
import type { Connector, SourceForm } from '../../../connectors/define.js';
import { connectorFor } from '../../../connectors/loaded.js';
import type { Source, SourceContext } from '../../../connectors/running.js';
import { type Block, MemoryBus, type Subscriber } from '../../../connectors/topics/bus.js';
import type { HandedFrom, SourceSpec } from '../../link/protocol.js';
import { blockOf, blocksTopic, type HandedBlock, kinds, wishBytes, wishesTopic } from './blocks.js';

const sliceMs = 4;
/** An attempt waits no longer for the other data plane, ms. */
const answerMs = 2000;
/** Time until the stream is asked for again that the kernel had no memory for, ms. */
const retryMs = 100;

/** The source as the engine runs it. */
export interface HandedContext extends SourceContext {
  readonly stream: StreamHandle;
  readonly host: { readonly kernel: Kernel };
  readonly form: SourceForm;
  readonly isClosed: boolean;
  readonly connection: { readonly status: 1 | 0 | -1; hurry(ms: number): void };
}

/** A block whose messages are not all acknowledged; `upTo` is their number and that of all before them. */
interface Owed {
  readonly upTo: number;
  readonly block: Block;
}

export class HandedSource implements Source, Subscriber {
  readonly #bus: MemoryBus;
  readonly #topic: string;
  readonly #wishes: string;
  #leaveBus: (() => void) | undefined;
  #session = 0;
  #hasBegun = false;
  #status: 'unknown' | 'up' | 'down' | 'refused' = 'unknown';
  #reason = '';
  #opening: ((isDone: boolean) => void) | undefined;
  #queue: Block[] = [];
  #isRunning = false;
  #owed: Owed[] = [];
  #received = 0;
  #acknowledged = 0;

  constructor(
    private readonly context: HandedContext,
    private readonly handed: HandedFrom,
  ) {
    this.#bus = context.shared('memory.bus', () => new MemoryBus());
    this.#topic = blocksTopic(handed.key, handed.to);
    this.#wishes = wishesTopic(handed.key);
    if (context.form.acknowledges) context.onAcknowledge(({ length }) => this.#acknowledge(length));
  }

  async open(): Promise<void> {
    if (this.#leaveBus === undefined) {
      this.#bus.subscribe(this.#topic, this);
      this.#leaveBus = this.#bus.onFar(() => this.#farChanged());
    }
    if (!this.#hasBegun) this.#ask();
    if (this.#status === 'unknown') await this.#news();
    if (this.#status === 'refused') throw new HaumeaError('config', this.#reason);
    if (this.#status === 'down') throw new Error(this.#reason);
    if (this.#status === 'unknown') throw new Error(`data plane ${this.handed.from} has not connected it yet`);
  }

  /** Resolves when the other data plane has told how the source is, or after a while. */
  #news(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#opening?.(false), answerMs);
      this.#opening = () => {
        clearTimeout(timer);
        this.#opening = undefined;
        resolve();
      };
    });
  }

  #ask(): void {
    if (this.#session === 0) this.#session = 1 + Math.floor(Math.random() * (2 ** 32 - 1));
    this.#wish(true);
  }

  #wish(isWanted: boolean): void {
    const wish = { plane: this.handed.to, session: this.#session, isWanted };
    this.#bus.publish(this.#wishes, wishBytes(wish), () => {});
  }

  /**
   * The other data plane may have come or gone, or hears of wishes from now on. Called while the kernel runs; by the
   * next turn another thread may have taken the place of one that has ended.
   */
  #farChanged(): void {
    const isGone = this.#hasBegun && !this.#bus.hasFar(this.handed.from);
    setImmediate(() => {
      if (this.#leaveBus === undefined) return;
      if (isGone && this.#hasBegun) this.#lost();
      else if (!this.#hasBegun && this.#session !== 0) this.#wish(true);
    });
  }

  #lost(): void {
    this.#session = 0;
    this.#hasBegun = false;
    this.#set('unknown', `data plane ${this.handed.from} has ended`);
  }

  #set(status: 'unknown' | 'up' | 'down' | 'refused', reason = ''): void {
    const { context } = this;
    this.#status = status;
    this.#reason = reason;
    if (this.#opening !== undefined) {
      if (status !== 'unknown') this.#opening(true);
    } else if (context.connection.status === 1) {
      if (status !== 'up') context.disconnected(reason);
      if (status === 'refused' || status === 'unknown') context.connection.hurry(0);
    } else context.connection.hurry(0);
  }

  async close(): Promise<void> {
    this.#leaveBus?.();
    this.#leaveBus = undefined;
    this.#bus.unsubscribe(this);
    if (this.#session !== 0) this.#wish(false);
    // What was not acknowledged is given up by the other side, which knows whether it comes again.
    this.#owed = [];
    for (const block of this.#queue.splice(0)) if (blockOf(block.bytes).receipts === 0) block.taken();
  }

  /** Called while the kernel runs, so the block waits for its turn. */
  deliver(block: Block): void {
    this.#queue.push(block);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    const end = performance.now() + sliceMs;
    this.#isRunning = false;
    while (this.#queue.length > 0 && !this.context.isClosed) {
      if (this.context.isFull) {
        this.#isRunning = true;
        void this.context.ready().then(() => this.#run());
        return;
      }
      this.#take(this.#queue.shift()!);
      if (performance.now() > end) {
        this.#schedule();
        return;
      }
    }
  }

  #take(block: Block): void {
    const handed = blockOf(block.bytes);
    const isCurrent = handed.session === this.#session && (this.#hasBegun || handed.kind === kinds.begin);
    if (isCurrent && handed.kind === kinds.input) {
      this.#feed(block, handed);
      return;
    }
    block.taken();
    if (isCurrent) this.#event(handed);
  }

  #feed(block: Block, { receipts, body }: HandedBlock): void {
    const { context } = this;
    const isOwed = receipts > 0 && context.form.acknowledges === true;
    this.#received += isOwed ? receipts : 0;
    const upTo = this.#received;
    if (isOwed) this.#owed.push({ upTo, block });
    const given = isOwed && context.form.framing === 'frames' ? new Uint32Array(receipts) : undefined;
    context.write(body, given);
    if (isOwed) return;
    // Rules move when all was worked on, so a block counts until the last of it had its turn.
    if (context.isFull) void context.whenTaken().then(() => block.taken());
    else block.taken();
  }

  #acknowledge(messages: number): void {
    this.#acknowledged += messages;
    while (this.#owed.length > 0 && this.#owed[0]!.upTo <= this.#acknowledged) this.#owed.shift()!.block.taken();
  }

  #event({ kind, body }: HandedBlock): void {
    const { context } = this;
    switch (kind) {
      case kinds.begin:
        this.#reset();
        this.#hasBegun = setInput(context.host.kernel, context.stream, body);
        if (this.#hasBegun) return;
        // Without memory for it the stream begins later.
        this.#session = 0;
        setTimeout(() => context.isClosed || this.#ask(), retryMs);
        return;
      case kinds.reset:
        this.#reset();
        return;
      case kinds.end:
        context.end();
        return;
      case kinds.up:
        this.#set('up');
        return;
      default:
        this.#set(kind === kinds.down ? 'down' : 'refused', body.toString());
    }
  }

  /** Nobody waits for what was not acknowledged: on the next connection it comes again, or never. */
  #reset(): void {
    this.context.resetInput();
    for (const { block } of this.#owed.splice(0)) block.taken();
    this.#acknowledged = this.#received;
  }
}

/** The connector of a stream that is handed over: it looks like the one that reads the stream. */
export function handedConnector({ type, handed }: SourceSpec): Connector {
  const connector = connectorFor('source', type);
  const source = connector.source!;
  return {
    ...connector,
    source: {
      ...source,
      // Messages were decompressed and sampled.
      props: {},
      form: (props) => {
        const { session: _session, endsSoon: _endsSoon, ...form } = source.form(props);
        return form;
      },
      load: async () => {},
      create: (_props, context) => new HandedSource(context as HandedContext, handed!),
    },
  };
}
