/** A consumer that begins where the source stands: nothing is acknowledged. */
import { AckPolicy, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream';
import type { Msg } from '@nats-io/transport-node';
import { FrameBuffer } from '../messages/frames.js';
import type { SourceContext } from '../running.js';
import { consumerStart } from './consumer-conf.js';
import { deliveredIn } from './delivered.js';
import { natsErrors } from './errors.js';
import { frameOf, metasOf } from './message-frame.js';
import { type ConsumerKind, type Look, type NatsStreamConf, StreamReader, streamOf } from './stream-source.js';

/** Place in a stream: behind the message with the number. */
interface Position {
  readonly sequence: number;
  /** When the stream was made, as the server writes it: numbers of another stream mean nothing. */
  readonly created: string;
}

/** Time without requests after which the server forgets the consumer. */
const forgottenAfterNanos = 600_000_000_000;

export class PositionedSource extends StreamReader {
  readonly #reader: PositionedConsumer;

  constructor(conf: NatsStreamConf, context: SourceContext) {
    const reader = new PositionedConsumer(conf, context, () => this.ask());
    super(conf, context, reader);
    this.#reader = reader;
  }

  position(): Position | undefined {
    return this.#reader.position;
  }

  seek(given: unknown): void {
    const isOpen = this.#reader.isBegun;
    this.#reader.seek(readPosition(given), isOpen);
    if (isOpen) this.restart();
  }

  seekAll(given: readonly unknown[], reached: (index: number) => void): void {
    const positions = given.map((one) => (one === undefined ? undefined : readPosition(one)));
    this.#reader.seekAll(positions, reached);
  }

  isAt(given: unknown): boolean {
    const { sequence, created } = readPosition(given);
    const { position } = this.#reader;
    return position?.sequence === sequence && position.created === created;
  }
}

class PositionedConsumer implements ConsumerKind {
  readonly #frames = new FrameBuffer();
  readonly #metas;
  position: Position | undefined;
  /** When the stream at work was made. */
  #created = '';
  /** Number of the last message that came. */
  #last = 0;
  #isScheduled = false;
  #isClosed = false;
  isBegun = false;
  #name = '';
  /** Places where rules begin, in order, and what to call there. */
  #stops: { readonly sequence: number; readonly index: number }[] = [];
  #reached: (index: number) => void = () => {};

  constructor(
    private readonly conf: NatsStreamConf,
    private readonly context: SourceContext,
    private readonly wanted: () => void,
  ) {
    this.#metas = metasOf(conf);
  }

  get isWanted(): boolean {
    return !this.#isScheduled;
  }

  seek(position: Position, isOpen: boolean): void {
    const { position: here } = this;
    if (isOpen || here === undefined || position.sequence < here.sequence) this.position = position;
    this.#frames.clear();
  }

  seekAll(positions: readonly (Position | undefined)[], reached: (index: number) => void): void {
    const places = positions.map((position, index) => ({ sequence: position?.sequence ?? 0, index, position }));
    this.#stops = [...places].sort((a, b) => a.sequence - b.sequence);
    this.#reached = reached;
    const [first] = this.#stops;
    this.position = positions[first?.index ?? 0];
  }

  async begin(manager: JetStreamManager, look: Look): Promise<string> {
    const { conf, context } = this;
    const stream = streamOf(conf);
    const { created, state } = await look(({ streams }) => streams.info(stream));
    const before = this.position;
    this.#created = String(created);
    this.#frames.clear();
    if (before !== undefined && before.created !== this.#created) {
      context.exception(`stream ${stream} was made anew: it is read from its begin`);
      this.position = { sequence: 0, created: this.#created };
    } else if (before !== undefined && state.first_seq > before.sequence + 1 && conf.bucket === '') {
      const gone = state.first_seq - before.sequence - 1;
      context.exception(`up to ${gone} messages of stream ${stream} are gone, since it keeps no more`);
    }
    const from = this.position;
    const start = {
      ...consumerStart(conf, context.dataSource),
      ...(from && { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from.sequence + 1 }),
    };
    const { name, delivered } = await manager.consumers.add(stream, {
      deliver_policy: DeliverPolicy.All,
      ...start,
      ack_policy: AckPolicy.None,
      inactive_threshold: forgottenAfterNanos,
      mem_storage: true,
      num_replicas: 1,
    });
    // A lost connection must not make it begin later.
    if (start.deliver_policy === DeliverPolicy.New) {
      this.position = { sequence: delivered.stream_seq, created: this.#created };
    }
    this.#name = name;
    this.isBegun = true;
    this.#stop(this.position?.sequence ?? 0);
    return name;
  }

  async end(manager: JetStreamManager): Promise<void> {
    if (this.#name !== '') await manager.consumers.delete(streamOf(this.conf), this.#name);
  }

  close(): void {
    this.#isClosed = true;
  }

  take(message: Msg): void {
    const delivered = deliveredIn(message.reply ?? '');
    // What came on an earlier connection comes again only if it was not written.
    if (delivered.sequence <= (this.position?.sequence ?? 0)) return;
    this.#stop(delivered.sequence - 1);
    const { payload, meta } = frameOf(message, delivered, this.#metas);
    this.#frames.add(payload, meta);
    this.#last = delivered.sequence;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#write());
  }

  /** Tells of the places up to the number, with all input before them written. */
  #stop(sequence: number): void {
    for (let [first] = this.#stops; first !== undefined && first.sequence <= sequence; [first] = this.#stops) {
      this.#flush();
      this.#stops.shift();
      this.#reached(first.index);
    }
  }

  async #write(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    this.#isScheduled = false;
    if (this.#isClosed) return;
    this.#flush();
    this.wanted();
  }

  #flush(): void {
    if (this.#frames.count === 0) return;
    // Before the engine asks for the position behind it.
    this.position = { sequence: this.#last, created: this.#created };
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }
}

function readPosition(given: unknown): Position {
  const { sequence, created } = (given ?? {}) as Partial<Position>;
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 0) throw natsErrors.position();
  return { sequence, created: typeof created === 'string' ? created : '' };
}
