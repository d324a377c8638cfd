/** Takes the messages of a source of a portable plugin. While the sinks are full, it does not read. */
import { type SpConnection, SpListener } from '../../clients/sp/listener.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import type { PluginPart, PortablePlugin } from '../../plugins/portable/plugin.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { envelopeOf } from './envelope.js';
import { portableErrors } from './errors.js';
import { dataPath, partMeta, pluginOf } from './part.js';

type Props = Readonly<Record<string, unknown>>;

/** What is gathered in one turn at most, bytes. */
const maxGathered = 1 << 20;
/** A sender that writes again within this time is not read for as long, so that one read takes many messages, ms. */
const pauseMs = 1;

export function makeSource(code: PortableCode, name: string, props: Props, context: SourceContext): Source {
  return new PortableSource(pluginOf(code, context), name, props, context);
}

class PortableSource implements Source {
  readonly peer: string;
  readonly #frames = new FrameBuffer();
  #part: PluginPart | undefined;
  #listener: SpListener | undefined;
  readonly #connections = new Set<SpConnection>();
  #forget = () => {};
  #isScheduled = false;
  #flushedAt = 0;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    private readonly plugin: PortablePlugin,
    private readonly name: string,
    private readonly props: Props,
    private readonly context: SourceContext,
  ) {
    this.peer = plugin.title;
    plugin.use();
    context.onFlow(
      () => this.#connections.forEach((connection) => void connection.pause()),
      () => this.#read(),
    );
  }

  async open(): Promise<void> {
    await this.#leave();
    await this.plugin.running();
    if (this.#isClosed) return;
    const part: PluginPart = {
      symbolName: this.name,
      pluginType: 'source',
      meta: partMeta(this.context.name),
      dataSource: this.context.dataSource,
      config: this.props,
    };
    this.#part = part;
    this.#listener = await SpListener.open(dataPath(part.meta), 'pull', 'push', {
      take: (connection, message) => this.#take(connection, message),
      lost: (connection) => {
        if (this.#connections.delete(connection) && this.#part === part) {
          this.#lost(`${this.plugin.title} has ended its source ${this.name}`);
        }
      },
    });
    this.#forget = this.plugin.onLost((reason) => this.#lost(reason));
    await this.plugin.command('start', part);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#leave();
    this.plugin.leave();
  }

  #lost(reason: string): void {
    this.#flush();
    this.#forget();
    if (!this.#isClosed) this.context.disconnected(reason);
  }

  /** Ends what runs in the plugin for this source. */
  async #leave(): Promise<void> {
    const part = this.#part;
    this.#part = undefined;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#forget();
    // What comes after the command would be dropped: the plugin hears first.
    if (part !== undefined) await this.plugin.stopPart(part);
    this.#listener?.close();
    this.#listener = undefined;
    this.#connections.clear();
  }

  #take(connection: SpConnection, bytes: Buffer): void {
    if (this.#isClosed) return;
    if (!this.#connections.has(connection)) {
      this.#connections.add(connection);
      if (this.context.isFull) connection.pause();
    }
    const { message, meta, error } = envelopeOf(bytes) ?? {};
    if (message !== undefined) this.#frames.add(message, meta);
    else this.#fail(error ?? portableErrors.noMessage(bytes.toString('utf8', 0, 60)).message);
    if (this.#frames.sizeBytes >= maxGathered) this.#flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#gather();
        this.#flush();
      });
    }
  }

  /** Each read costs a system call and a wake-up of both sides. */
  #gather(): void {
    const now = performance.now();
    const isFast = now - this.#flushedAt < pauseMs;
    this.#flushedAt = now;
    if (!isFast || this.#pause !== undefined) return;
    for (const connection of this.#connections) connection.pause();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      if (!this.context.isFull) this.#read();
    }, pauseMs);
  }

  #read(): void {
    if (this.#pause !== undefined) return;
    for (const connection of this.#connections) connection.resume();
  }

  #fail(reason: string): void {
    this.#flush();
    this.context.exception(reason);
    this.context.sendError(reason);
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#frames.count === 0) return;
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }
}
