/**
 * Gives messages to a sink of a portable plugin. A message is out when the system has it, or with `requireAck` when the
 * plugin has confirmed it; what is not out when the plugin ends is sent to the next one, before all others.
 *
 * A sink that confirms nothing in time is begun again. Without confirmations nobody can tell one that hangs from a slow
 * one: the system takes more only when much of what it has is read, thousands of short messages. Begun again, a sink
 * would not get these; so it is waited for.
 */
import type { Socket } from 'node:net';
import { dialSp } from '../../clients/sp/dial.js';
import { ipcFrame } from '../../clients/sp/frames.js';
import { removeStale, SpListener } from '../../clients/sp/listener.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import type { PluginPart, PortablePlugin } from '../../plugins/portable/plugin.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { portableErrors } from './errors.js';
import { ackPath, dataPath, partMeta, pluginOf } from './part.js';

type Props = Readonly<Record<string, unknown>>;

interface Waiting {
  readonly message: Buffer;
  /** Credit that goes back when it is out. */
  readonly bytes: number;
}

/** So much may be with the socket and not with the system, bytes. */
const maxBuffered = 1 << 20;
/** Longest wait for a plugin to read what the system has, ms. */
const lastReadMs = 1000;
const noHeader = Buffer.alloc(0);
/** Messages that may wait for their confirmation. */
const maxUnconfirmed = 256;

export function makeSink(code: PortableCode, name: string, props: Props, context: SinkContext): Sink {
  return new PortableSink(pluginOf(code, context), name, props, context);
}

class PortableSink implements Sink {
  readonly peer: string;
  readonly #cutter = new MessageCutter();
  readonly #isConfirmed: boolean;
  /** Not given to the socket. */
  #queue: Waiting[] = [];
  /** Given to the socket, not out, in order. */
  #sent: Waiting[] = [];
  #part: PluginPart | undefined;
  #acks: SpListener | undefined;
  #socket: Socket | undefined;
  #forget = () => {};
  #timer: NodeJS.Timeout | undefined;
  #isScheduled = false;
  #isClosed = false;
  readonly #onIdle: (() => void)[] = [];

  constructor(
    private readonly plugin: PortablePlugin,
    private readonly name: string,
    private readonly props: Props,
    private readonly context: SinkContext,
  ) {
    this.peer = plugin.title;
    this.#isConfirmed = /^(true|1)$/i.test(String(props.requireAck));
    plugin.use();
  }

  async open(): Promise<void> {
    await this.#leave();
    await this.plugin.running();
    if (this.#isClosed) return;
    const part: PluginPart = {
      symbolName: this.name,
      pluginType: 'sink',
      meta: partMeta(this.context.ruleId),
      config: this.props,
    };
    this.#part = part;
    // The SDKs dial it whatever the properties say.
    this.#acks = await SpListener.open(ackPath(part.meta), 'pull', 'push', {
      take: (_connection, answer) => this.#confirmed(answer),
      lost: () => {},
    });
    this.#forget = this.plugin.onLost((reason) => this.#lost(reason));
    await this.plugin.command('start', part);
    const socket = await dialSp(`ipc://${dataPath(part.meta)}`, 'push', 'pull', () => {});
    if (this.#isClosed || this.#part !== part) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#socket === socket) this.#lost(`${this.plugin.title} has ended its sink ${this.name}`);
    });
    this.#send();
  }

  write(chunk: SinkChunk): void {
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (view) => {
      left -= view.length;
      this.#queue.push({ message: Buffer.from(view), bytes: view.length });
    });
    if (left > 0) this.context.accepted(left, 0);
    this.#schedule();
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#leave();
    this.plugin.leave();
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#sent.length === 0;
  }

  #lost(reason: string): void {
    this.#disconnect();
    if (!this.#isClosed) this.context.disconnected(reason, true);
  }

  #disconnect(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#forget();
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    this.#queue = [...this.#sent, ...this.#queue];
    this.#sent = [];
  }

  /** Ends what runs in the plugin for this sink. */
  async #leave(): Promise<void> {
    const part = this.#part;
    this.#part = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    // The plugin closes its end when it has read what the system has.
    if (socket !== undefined && !socket.destroyed && !(await hasReadAll(socket))) {
      this.context.log.warn(
        `${this.plugin.title} has not read all that its sink ${this.name} was sent: the rest is lost`,
      );
    }
    this.#disconnect();
    if (part !== undefined) {
      await this.plugin.stopPart(part);
      // A plugin that was killed has left its socket.
      await removeStale(dataPath(part.meta)).catch(() => {});
    }
    this.#acks?.close();
    this.#acks = undefined;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    const room = this.#isConfirmed ? maxUnconfirmed - this.#sent.length : this.#queue.length;
    let given = 0;
    socket.cork();
    while (given < room && given < this.#queue.length && socket.writableLength < maxBuffered) {
      const one = this.#queue[given++]!;
      this.#sent.push(one);
      socket.write(ipcFrame(noHeader, one.message), (error) => {
        if (!this.#isConfirmed && this.#socket === socket && (error ?? undefined) === undefined) this.#out();
      });
    }
    socket.uncork();
    if (given > 0) this.#queue.splice(0, given);
    if (this.#sent.length > 0 && this.#timer === undefined) this.#watch();
  }

  /** The plugin has `sendTimeout` for the next message; see above for what follows. */
  #watch(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    const { sendMs } = this.plugin.code.limits;
    let before = this.#unread;
    this.#timer = setTimeout(() => {
      const now = this.#unread;
      // Messages are out together with all that were written with them, and a slow plugin reads these one by one.
      if (!this.#isConfirmed && now !== before) {
        before = now;
        this.#timer?.refresh();
      } else if (this.#isConfirmed) this.#lost(portableErrors.slow(this.plugin.title, sendMs).message);
      else this.context.log.warn(waitsFor(this.plugin.title, this.name, sendMs));
    }, sendMs);
  }

  /** Bytes that the system has not taken yet; undefined where that can't be told. */
  get #unread(): number | undefined {
    return (this.#socket as { _handle?: { writeQueueSize?: number } } | undefined)?._handle?.writeQueueSize;
  }

  /** The first message is out. */
  #out(refusal?: string): void {
    const one = this.#sent.shift();
    if (one === undefined) return;
    if (refusal === undefined) this.context.accepted(one.bytes, 1);
    else this.context.refused(one.message, one.bytes, 1, refusal);
    if (this.#sent.length > 0) this.#watch();
    else {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (this.#queue.length > 0) this.#schedule();
    if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
  }

  /** The plugin answers the first message that waits; without `requireAck` it may do so as well. */
  #confirmed(answer: Buffer): void {
    if (!this.#isConfirmed) return;
    let error: unknown;
    try {
      error = (JSON.parse(answer.toString()) as { error?: unknown } | null)?.error;
    } catch {
      error = `an answer that is no JSON: ${answer.toString('utf8', 0, 60)}`;
    }
    this.#out(error === undefined || error === null || error === '' ? undefined : String(error));
  }
}

function waitsFor(title: string, name: string, ms: number): string {
  return `${title} has read too little for its sink ${name} to get more for ${ms} ms: it is slow, or hangs`;
}

/** Waits until the other side has read all; false when that takes too long. */
function hasReadAll(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      socket.destroy();
    }, lastReadMs);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(!isLate);
    });
    socket.end();
  });
}
